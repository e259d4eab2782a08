package search

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/wlynxg/chardet"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/unicode/utf32"
	"golang.org/x/text/unicode/norm"
)

// words is text made ready for the index, or a question for it: words in lower case without accents, separated by spaces, and
// pairs, as the package's comment says. A run of one character that stands alone is a pair of itself.
type words struct {
	words, pairs []byte
	run          []rune // of writing without spaces
	split        bool   // names of several words give each word too, but not of a question
	whole        func(run string)
}

// together are the scripts that are written without spaces between words.
var together = []*unicode.RangeTable{unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Han, unicode.Hiragana, unicode.Katakana}

func (w *words) reset() { w.words, w.pairs, w.run = w.words[:0], w.pairs[:0], w.run[:0] }

// add reads text.
func (w *words) add(text []byte) {
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if !alphanumeric(c) {
				i++
				continue
			}
			j := i + 1
			for j < len(text) && text[j] < utf8.RuneSelf && alphanumeric(text[j]) {
				j++
			}
			if j == len(text) || text[j] < utf8.RuneSelf || !inWord(text[j:]) {
				w.endRun()
				w.ascii(text[i:j])
				i = j
				continue
			}
		}
		j := i
		for j < len(text) && inWord(text[j:]) {
			_, n := utf8.DecodeRune(text[j:])
			j += n
		}
		if j == i {
			_, n := utf8.DecodeRune(text[i:])
			i += n
			w.endRun()
			continue
		}
		w.other(text[i:j])
		w.endRun()
		i = j
	}
	w.endRun()
}

func alphanumeric(c byte) bool { return c-'0' < 10 || c|0x20-'a' < 26 && c >= 'A' }

func inWord(text []byte) bool {
	r, n := utf8.DecodeRune(text)
	return n > 1 && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)) || n == 1 && r < utf8.RuneSelf && alphanumeric(byte(r))
}

// longest is the longest word that is looked up; what is longer is data, not a word.
const longest = 48

// ascii adds a word, and the words it is made of: readAll is also read and all.
func (w *words) ascii(word []byte) {
	if len(word) > longest {
		return
	}
	w.words = append(append(w.words, word...), ' ')
	if !w.split {
		return
	}
	start := 0
	for i := 1; i < len(word); i++ {
		lower := func(c byte) bool { return c-'a' < 26 }
		upper := func(c byte) bool { return c-'A' < 26 }
		if upper(word[i]) && (lower(word[i-1]) || i+1 < len(word) && lower(word[i+1]) && upper(word[i-1])) {
			w.words = append(append(w.words, word[start:i]...), ' ')
			start = i
		}
	}
	if start > 0 {
		w.words = append(append(w.words, word[start:]...), ' ')
	}
}

// other adds what isn't ASCII alone.
func (w *words) other(text []byte) {
	start := len(w.words)
	flush := func() {
		if n := len(w.words) - start; n > 4*longest {
			w.words = w.words[:start]
		} else if n > 0 {
			w.words = append(w.words, ' ')
		}
		start = len(w.words)
	}
	text = norm.NFKD.Bytes(text)
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		i += n
		switch {
		case r >= 0x300 && r < 0x370: // accents
		case r >= 0x0E00 && unicode.In(r, together...), r == 'ー', r == '々':
			flush()
			w.run = append(w.run, r)
			continue
		default:
			w.endRun()
			w.words = utf8.AppendRune(w.words, unicode.ToLower(r))
		}
	}
	flush()
}

func (w *words) endRun() {
	if len(w.run) > 0 && w.whole != nil {
		w.whole(string(w.run))
	}
	if len(w.run) == 1 {
		w.pairs = append(utf8.AppendRune(w.pairs, w.run[0]), ' ')
	}
	for i := 1; i < len(w.run); i++ {
		w.pairs = append(utf8.AppendRune(utf8.AppendRune(w.pairs, w.run[i-1]), w.run[i]), ' ')
	}
	w.run = w.run[:0]
}

// decode gives the text of a file as UTF-8 with lines as they were; ok is false for what is no text. Where the encoding isn't
// marked it is guessed from the first bytes.
func decode(raw []byte) (text []byte, ok bool) {
	name := ""
	switch {
	case bytes.HasPrefix(raw, []byte{0xFF, 0xFE, 0, 0}):
		text, err := utf32.UTF32(utf32.LittleEndian, utf32.ExpectBOM).NewDecoder().Bytes(raw)
		return text, err == nil
	case bytes.HasPrefix(raw, []byte{0xFF, 0xFE}):
		name = "utf-16le"
	case bytes.HasPrefix(raw, []byte{0xFE, 0xFF}):
		name = "utf-16be"
	case bytes.HasPrefix(raw, []byte{0xEF, 0xBB, 0xBF}):
		raw = raw[3:]
	}
	head := raw[:min(len(raw), 64<<10)]
	if name == "" {
		if bytes.IndexByte(head, 0) >= 0 {
			return nil, false
		}
		// A character that the cut divides doesn't make it another encoding.
		if utf8.Valid(raw) || len(head) < len(raw) && utf8.Valid(head[:lastStart(head)]) {
			return raw, true
		}
		guess := chardet.Detect(head)
		if guess.Confidence < 0.2 {
			return bytes.ToValidUTF8(raw, []byte(" ")), printable(head)
		}
		name = guess.Encoding
	}
	enc, _ := charset.Lookup(name)
	if enc == nil {
		return bytes.ToValidUTF8(raw, []byte(" ")), printable(head)
	}
	text, err := enc.NewDecoder().Bytes(raw)
	return text, err == nil && printable(text[:min(len(text), 64<<10)])
}

func lastStart(b []byte) int {
	i := len(b)
	for i > 0 && len(b)-i < utf8.UTFMax {
		i--
		if utf8.RuneStart(b[i]) {
			break
		}
	}
	return i
}

// printable reports whether next to no control characters are in the text.
func printable(text []byte) bool {
	n := 0
	for _, c := range text {
		if c < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != 0x1B {
			n++
		}
	}
	return n*200 <= len(text)
}

// passage is a part of a file's text.
type passage struct {
	at   int // where it begins, in bytes of the text
	line int // its first line or its page, from 1
	text []byte
}

// The size of a passage, in bytes. It ends with a line, unless the line is longer than most.
const (
	usual = 8 << 10
	most  = 16 << 10
)

// passages cuts a text into passages at line ends.
func passages(text []byte) []passage {
	var list []passage
	at, line := 0, 1
	for at < len(text) {
		end := len(text)
		if end-at > usual {
			end = at + usual
			if i := bytes.IndexByte(text[end:min(len(text), at+most)], '\n'); i >= 0 {
				end += i + 1
			} else if end = min(len(text), at+most); end < len(text) {
				end = at + lastStart(text[at:end])
			}
		}
		list = append(list, passage{at, line, text[at:end]})
		line += bytes.Count(text[at:end], []byte("\n"))
		at = end
	}
	return list
}

// ofPages does the same for pages, of which each begins a passage.
func ofPages(pages []Page) []passage {
	var list []passage
	at := 0
	for _, p := range pages {
		for _, part := range passages([]byte(p.Text)) {
			list = append(list, passage{at + part.at, p.Number, part.text})
		}
		at += len(p.Text)
	}
	return slices.Clip(list)
}
