package edit

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"handrail/core/hint"
)

// Encoding is how a file's bytes stand for text.
type Encoding string

const (
	UTF8    Encoding = "utf-8"
	UTF8BOM Encoding = "utf-8 with byte order mark"
	UTF16LE Encoding = "utf-16le with byte order mark"
	UTF16BE Encoding = "utf-16be with byte order mark"
	// NotUTF8 is a file with bytes that aren't UTF-8 in some places, such as Latin-1. Those stay as they are, and lines
	// that hold them can't be changed as lines.
	NotUTF8 Encoding = "not utf-8 in places"
	// Legacy is a file in which no character beyond ASCII is UTF-8: it's in another encoding, and only ASCII goes in.
	Legacy Encoding = "not utf-8"
)

// boms are the byte order marks, the longer first: that of UTF-32LE begins as that of UTF-16LE.
var boms = []struct {
	mark []byte
	enc  Encoding
}{
	{[]byte{0xFF, 0xFE, 0, 0}, "utf-32le"},
	{[]byte{0, 0, 0xFE, 0xFF}, "utf-32be"},
	{[]byte{0xEF, 0xBB, 0xBF}, UTF8BOM},
	{[]byte{0xFF, 0xFE}, UTF16LE},
	{[]byte{0xFE, 0xFF}, UTF16BE},
}

// marked tells the encoding by the byte order mark, UTF8 where there is none, and the length of the mark.
func marked(b []byte) (Encoding, int) {
	for _, m := range boms {
		if bytes.HasPrefix(b, m.mark) {
			return m.enc, len(m.mark)
		}
	}
	return UTF8, 0
}

// decode gives the text as UTF-8 and the byte order mark before it. Bytes that aren't UTF-8 stay in the text.
func decode(raw []byte) (text, mark []byte, enc Encoding, err error) {
	enc, n := marked(raw)
	text, mark = raw[n:], raw[:n]
	switch enc {
	case UTF16LE, UTF16BE:
		text = fromUTF16(text, enc)
		if !bytes.Equal(encode(text, mark, enc), raw) {
			return nil, nil, enc, unsupported(string(enc)+" with broken characters", "")
		}
	case UTF8, UTF8BOM:
		if !utf8.Valid(text) {
			enc = misfit(text)
		}
	default:
		return nil, nil, enc, unsupported(string(enc), "")
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, nil, enc, binaryFile(raw)
	}
	return text, mark, enc, nil
}

// misfit tells whether any character beyond ASCII is UTF-8.
func misfit(b []byte) Encoding {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r >= utf8.RuneSelf && n > 1 {
			return NotUTF8
		}
		b = b[n:]
	}
	return Legacy
}

func unsupported(name, why string) error {
	return hint.New("unsupported_encoding", "the file is "+name+", which can't be edited as text").Because(why).
		Then("convert it to UTF-8 first, if the programs that read it allow that")
}

// notUTF8 refuses to replace bytes that nobody could read.
func notUTF8(line int) error {
	return hint.New("unsupported_encoding", fmt.Sprintf("line %d is not UTF-8", line)).
		Because("it holds bytes of another encoding, which would be lost").
		Then("change other lines, give an old_string without those characters, or convert the file first")
}

func binaryFile(raw []byte) error {
	h := hint.New("binary", "the file is binary: it holds NUL bytes")
	if enc := unmarked16(raw); enc != "" {
		h = h.Because("it may be " + enc + " without a byte order mark")
	}
	return h.Then("text tools can't change it")
}

// unmarked16 guesses UTF-16 by where the zero bytes are: mostly at odd or mostly at even places.
func unmarked16(raw []byte) string {
	raw = raw[:min(len(raw), 4096)]
	var zeros [2]int
	for i, c := range raw {
		if c == 0 {
			zeros[i%2]++
		}
	}
	switch {
	case zeros[1] > len(raw)/4 && zeros[0] == 0:
		return "utf-16le"
	case zeros[0] > len(raw)/4 && zeros[1] == 0:
		return "utf-16be"
	}
	return ""
}

type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

func order(enc Encoding) byteOrder {
	if enc == UTF16BE {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// fromUTF16 decodes; a half character becomes U+FFFD, and an odd last byte is left out.
func fromUTF16(b []byte, enc Encoding) []byte {
	o := order(enc)
	out := make([]byte, 0, len(b))
	for ; len(b) >= 2; b = b[2:] {
		r := rune(o.Uint16(b))
		if utf16.IsSurrogate(r) {
			if len(b) >= 4 {
				if both := utf16.DecodeRune(r, rune(o.Uint16(b[2:]))); both != utf8.RuneError {
					r = both
					b = b[2:]
				}
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

// encode gives the file's bytes for text.
func encode(text, mark []byte, enc Encoding) []byte {
	if enc != UTF16LE && enc != UTF16BE {
		if len(mark) == 0 {
			return text
		}
		return slices.Concat(mark, text)
	}
	o := order(enc)
	out := append(make([]byte, 0, 2*len(text)+2), mark...)
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if r1, r2 := utf16.EncodeRune(r); r1 != utf8.RuneError {
			out = o.AppendUint16(o.AppendUint16(out, uint16(r1)), uint16(r2))
		} else {
			out = o.AppendUint16(out, uint16(r))
		}
		text = text[n:]
	}
	return out
}

// admits refuses new text that the file's encoding has no place for.
func (t body) admits(text string) error {
	if t.enc != Legacy {
		return nil
	}
	for _, r := range text {
		if r >= utf8.RuneSelf {
			return hint.New("unsupported_encoding", fmt.Sprintf("the file is not UTF-8, and the new text holds %s", show(r))).
				Because("it would be written as UTF-8 among bytes of another encoding").
				Then("use ASCII characters, or convert the file first")
		}
	}
	return nil
}

// CheckArguments reports text in the raw JSON of a call that no decoder could pass on as it was meant: an unpaired
// surrogate such as "\ud800", or bytes that aren't UTF-8. encoding/json turns both into U+FFFD without a word. The error
// is a hint with the code invalid_text, or bad_arguments for what isn't JSON.
func CheckArguments(raw []byte) error {
	v := jsontext.Value(raw)
	dup := jsontext.AllowDuplicateNames(true)
	switch {
	case v.IsValid(dup):
		return nil
	case v.IsValid(dup, jsontext.AllowInvalidUTF8(true)):
		return hint.New("invalid_text", "the arguments hold an unpaired surrogate or bytes that are not UTF-8").
			Then("send whole characters")
	}
	return hint.New("bad_arguments", "the arguments are not valid JSON")
}
