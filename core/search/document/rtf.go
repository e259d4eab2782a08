package document

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// skipped are destinations of an RTF file that hold no text of the document (RTF 1.9.1).
var skipped = set("fonttbl", "colortbl", "stylesheet", "info", "pict", "object", "themedata", "colorschememapping", "datastore", "latentstyles", "generator", "listtable",
	"listoverridetable", "rsidtbl", "xmlnstbl", "fldinst", "filetbl", "revtbl")

// fromRTF reads the Rich Text Format: groups in braces, words that begin with a backslash, and text in the code page that \ansicpg
// names, or in \u.
func fromRTF(in *bytes.Reader) ([]Page, error) {
	raw, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(raw, []byte(`{\rtf`)) {
		return nil, errors.New("it doesn't begin as one")
	}
	type group struct {
		skip  bool
		after int // characters that follow \u for readers that don't know it
	}
	var b strings.Builder
	var bytesOf []byte // in the code page
	page, _ := charset.Lookup("windows-1252")
	flush := func() {
		text, err := page.NewDecoder().Bytes(bytesOf)
		if err == nil {
			b.Write(text)
		}
		bytesOf = bytesOf[:0]
	}
	stack := []group{{after: 1}}
	leave := 0
	high := rune(0)
	put := func(c byte) {
		if leave > 0 {
			leave--
		} else if !stack[len(stack)-1].skip {
			bytesOf = append(bytesOf, c)
		}
	}
	for i := 0; i < len(raw) && b.Len() < MaxText; {
		c := raw[i]
		i++
		switch c {
		case '{':
			if len(stack) > 1000 {
				return nil, errors.New("its groups are nested too deeply")
			}
			stack = append(stack, stack[len(stack)-1])
			leave = 0
		case '}':
			if len(stack) > 1 {
				stack = stack[:len(stack)-1]
			}
			leave = 0
		case '\r', '\n':
		case '\\':
			if i == len(raw) {
				break
			}
			top := &stack[len(stack)-1]
			if !isLetter(raw[i]) {
				c = raw[i]
				i++
				switch c {
				case '\'':
					if n, err := strconv.ParseUint(string(raw[i:min(i+2, len(raw))]), 16, 8); err == nil {
						put(byte(n))
						i += 2
					}
				case '*':
					top.skip = true
				case '\\', '{', '}':
					put(c)
				case '~', '\n', '\r':
					put(' ')
				}
				break
			}
			start := i
			for i < len(raw) && isLetter(raw[i]) {
				i++
			}
			word, start := string(raw[start:i]), i
			if i < len(raw) && raw[i] == '-' {
				i++
			}
			for i < len(raw) && raw[i]-'0' < 10 {
				i++
			}
			n, numErr := strconv.Atoi(string(raw[start:i]))
			if i < len(raw) && raw[i] == ' ' {
				i++
			}
			switch {
			case skipped[word]:
				top.skip = true
			case word == "par", word == "line", word == "row", word == "sect", word == "page":
				put('\n')
			case word == "tab", word == "cell":
				put('\t')
			case word == "uc" && numErr == nil:
				top.after = max(0, min(n, 100))
			case word == "bin" && numErr == nil:
				i = min(len(raw), i+max(0, n))
			case word == "ansicpg" && numErr == nil:
				if e := codePage(n); e != nil {
					flush()
					page = e
				}
			case word == "u" && numErr == nil:
				if !top.skip {
					flush()
					r := rune(uint16(n))
					switch {
					case utf16.IsSurrogate(r) && r < 0xDC00:
						high = r
					case utf16.IsSurrogate(r):
						b.WriteRune(utf16.DecodeRune(high, r))
					default:
						b.WriteRune(r)
					}
				}
				leave = top.after
			}
		default:
			put(c)
		}
	}
	flush()
	return []Page{{1, b.String()}}, nil
}

func isLetter(c byte) bool { return c|0x20-'a' < 26 }

func codePage(n int) encoding.Encoding {
	name := "windows-" + strconv.Itoa(n)
	switch n {
	case 932:
		name = "shift_jis"
	case 936:
		name = "gbk"
	case 949:
		name = "euc-kr"
	case 950:
		name = "big5"
	case 65001:
		name = "utf-8"
	case 10000:
		name = "macintosh"
	}
	e, _ := charset.Lookup(name)
	return e
}
