package edit

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"

	"handrail/core/hint"
)

// What Read and List give at most, and by default.
const (
	DefaultLines = 2000
	MaxReadBytes = 256 << 10
	MaxLineBytes = 4 << 10
	DefaultNames = 1000
)

// ReadOptions say which lines to read.
type ReadOptions struct {
	// Offset is the first line, from 1; 0 is 1. A negative one counts from the end: -1 is the last line.
	Offset int
	// Limit is the most lines; 0 is DefaultLines.
	Limit int
	// NoLinks is as in Options.
	NoLinks bool
}

// Content is a part of a text file.
type Content struct {
	// Name is the file, in the root and with links resolved.
	Name string
	// Text is lines First to Last, each with \n after it but the last of a file that ends without. It is valid UTF-8:
	// bytes that aren't became U+FFFD. Both are 0 where there is no line.
	Text        string
	First, Last int
	// Lines is how many lines the file has, -1 if it is larger than MaxBytes and wasn't read to its end.
	Lines int
	// Next is the line to go on from, 0 at the end of the file.
	Next int
	// LongLines says that lines were cut to MaxLineBytes; where they were stands "…".
	LongLines bool
	// Encoding and LineEnds are those of the whole file, as far as it was read.
	Encoding Encoding
	LineEnds LineEnds
	// Hash is the SHA-256 of the file in hex, for Options.BaseHash; empty if the file wasn't read to its end.
	Hash     string
	Size     int64
	Modified time.Time
	Notes    []string
}

// Read reads lines of a text file. However large the file and its lines are, it takes little memory, and it never waits
// for a FIFO or a device. Errors are hints: those of names, not_regular, binary, unsupported_encoding, denied,
// out_of_range.
func Read(root *os.Root, name string, o ReadOptions) (Content, error) {
	p, err := find(root, name, Options{NoLinks: o.NoLinks}, false)
	if err != nil {
		return Content{}, err
	}
	defer p.close()
	if p.base == "" {
		return Content{}, notRegular(".", directory)
	}
	f, st, err := p.dir.openRegular(p.base, p.name, p.info)
	if err != nil {
		return Content{}, err
	}
	defer f.Close()
	c := Content{Name: p.name, Size: st.size, Modified: time.Unix(0, st.mtime), Notes: p.notes}
	if err := c.read(f, o); err != nil {
		return Content{}, problem("reading", p.name, err)
	}
	return c, nil
}

func (c *Content) read(f *os.File, o ReadOptions) error {
	limit := o.Limit
	if limit <= 0 {
		limit = DefaultLines
	}
	first := max(o.Offset, 1)
	if o.Offset < 0 { // one pass to count the lines, one to read them
		var all lineReader
		if err := all.run(f, 1, 0, false); err != nil {
			return err
		}
		if all.line == 0 {
			first = 1
		} else {
			first = max(all.line+o.Offset+1, 1)
		}
	}
	r := lineReader{}
	if err := r.run(f, first, limit, o.Offset >= 0); err != nil {
		return err
	}
	c.Text, c.LongLines, c.Encoding = r.out.String(), r.cut, r.encoding()
	c.LineEnds = r.lineEnds()
	c.Lines = r.line
	if r.taken > 0 {
		c.First, c.Last = first, first+r.taken-1
	}
	if r.whole {
		c.Hash = hex.EncodeToString(r.sum.Sum(nil))
	} else {
		c.Lines = -1
	}
	if c.Last > 0 && (c.Last < r.line || !r.whole) {
		c.Next = c.Last + 1
	}
	if first > max(r.line, 1) && r.whole {
		return outOfRange("there is no line %d: the file has %s", first, plural(r.line, "line"))
	}
	return nil
}

// lineReader takes some lines of a stream and learns about all of it.
type lineReader struct {
	enc           Encoding
	sum           hash.Hash
	out           strings.Builder
	first, limit  int
	line, taken   int  // lines seen; lines put into out
	full          bool // no more lines fit
	cut           bool
	whole         bool // read to the end
	valid, misfit bool // characters beyond ASCII that are, and aren't, UTF-8
	ends          map[string]bool
}

// errEnough ends the reading of a large file.
var errEnough = errors.New("enough was read")

func (r *lineReader) run(f *os.File, first, limit int, stop bool) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	r.first, r.limit, r.sum, r.ends = first, limit, sha256.New(), map[string]bool{}
	raw := &counted{r: io.TeeReader(f, r.sum)}
	in := bufio.NewReaderSize(raw, 64<<10)
	head, err := in.Peek(4)
	if err != nil && err != io.EOF {
		return err
	}
	var n int
	r.enc, n = marked(head)
	switch r.enc {
	case UTF16LE, UTF16BE:
		e := unicode.LittleEndian
		if r.enc == UTF16BE {
			e = unicode.BigEndian
		}
		in = bufio.NewReaderSize(unicode.UTF16(e, unicode.ExpectBOM).NewDecoder().Reader(in), 64<<10)
	case UTF8, UTF8BOM:
		in.Discard(n)
	default:
		return unsupported(string(r.enc), "")
	}
	err = r.scan(in, func() bool { return stop && raw.n > MaxBytes && (r.full || r.taken == r.limit) })
	if err == errEnough {
		return nil
	}
	r.whole = err == nil
	return err
}

type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// scan goes through the lines. A line is kept up to MaxLineBytes.
func (r *lineReader) scan(in *bufio.Reader, enough func() bool) error {
	var line []byte
	open, cr := false, false // a line has begun; its last byte was a \r, which may be half of an end
	end := func(kind string) {
		r.ends[kind] = true
		r.take(line, true)
		line, open, cr = line[:0], false, false
	}
	for {
		chunk, err := in.Peek(utf8.UTFMax)
		if len(chunk) == 0 {
			if cr {
				end("\r")
			}
			if open {
				r.take(line, false)
			}
			if err == io.EOF {
				return nil
			}
			return err
		}
		chunk, _ = in.Peek(in.Buffered())
		if bytes.IndexByte(chunk, 0) >= 0 {
			return binaryFile(chunk)
		}
		if t := tail(chunk); t < len(chunk) {
			chunk = chunk[:len(chunk)-t] // no character is cut in two
		}
		n := len(chunk)
		for len(chunk) > 0 {
			if cr {
				if chunk[0] == '\n' {
					end("\r\n")
					chunk = chunk[1:]
					continue
				}
				end("\r")
			}
			i := bytes.IndexAny(chunk, "\r\n")
			part := chunk
			if i >= 0 {
				part = chunk[:i]
			}
			if len(line) <= MaxLineBytes {
				line = append(line, part[:min(len(part), MaxLineBytes+utf8.UTFMax-len(line))]...)
			}
			open = true
			r.learn(part)
			switch {
			case i < 0:
				chunk = nil
			case chunk[i] == '\r':
				cr, chunk = true, chunk[i+1:]
			default:
				end("\n")
				chunk = chunk[i+1:]
			}
		}
		in.Discard(n)
		if enough() {
			return errEnough
		}
	}
}

// tail is the length of a character at the end of b that isn't whole.
func tail(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if last := b[len(b)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}

// learn looks at bytes for what isn't UTF-8.
func (r *lineReader) learn(b []byte) {
	if r.misfit && r.valid || utf8.Valid(b) && r.valid {
		return
	}
	for len(b) > 0 {
		c, n := utf8.DecodeRune(b)
		switch {
		case c == utf8.RuneError && n == 1:
			r.misfit = true
		case n > 1:
			r.valid = true
		}
		b = b[n:]
	}
}

// take counts a line and keeps it if it is wanted and fits.
func (r *lineReader) take(line []byte, ended bool) {
	r.line++
	if r.line < r.first || r.taken >= r.limit || r.full {
		return
	}
	long := len(line) > MaxLineBytes
	if long {
		line = line[:MaxLineBytes]
		line = line[:len(line)-tail(line)]
	}
	if r.taken > 0 && r.out.Len()+len(line)+4 > MaxReadBytes {
		r.full = true
		return
	}
	r.out.WriteString(strings.ToValidUTF8(string(line), "\uFFFD"))
	if long {
		r.out.WriteString("…")
		r.cut = true
	}
	if ended {
		r.out.WriteByte('\n')
	}
	r.taken++
}

func (r *lineReader) encoding() Encoding {
	switch {
	case r.misfit && r.valid:
		return NotUTF8
	case r.misfit:
		return Legacy
	}
	return r.enc
}

func (r *lineReader) lineEnds() LineEnds {
	kinds := map[string]LineEnds{"\n": LF, "\r\n": CRLF, "\r": CR}
	if len(r.ends) > 1 {
		return Mixed
	}
	for e := range r.ends {
		return kinds[e]
	}
	return NoLineEnds
}

// Listed is an entry of a folder. Kind is "file", "folder", "link" or "other"; Target is where a link points, as it is
// written. A name that isn't valid UTF-8 is shown with U+FFFD and can't be used.
type Listed struct {
	Name     string
	Kind     string
	Size     int64
	Modified time.Time
	Target   string
}

// List gives the entries of a folder in the order of their names, from the offset-th (from 0), at most limit (0 is
// DefaultNames), and how many there are in all. Our own temporary files are left out.
func List(root *os.Root, name string, offset, limit int, noLinks bool) (list []Listed, total int, err error) {
	p, err := find(root, name, Options{NoLinks: noLinks}, false)
	if err != nil {
		return nil, 0, err
	}
	defer p.close()
	if p.info.kind != directory {
		return nil, 0, hint.New("not_a_folder", shown(p.name)+" is "+p.info.kind.String()).Then("call read_file to read it")
	}
	d := p.dir
	if p.base != "" {
		if d, err = p.dir.openFolder(p.base); err != nil {
			return nil, 0, problem("listing", p.name, err)
		}
		defer d.Close()
	}
	names, err := d.names(-1)
	if err != nil {
		return nil, 0, problem("listing", p.name, err)
	}
	names = slices.DeleteFunc(names, ours)
	slices.Sort(names)
	total = len(names)
	if limit <= 0 {
		limit = DefaultNames
	}
	names = names[min(max(offset, 0), total):]
	for _, n := range names[:min(limit, len(names))] {
		st, err := d.stat(n)
		if err != nil {
			continue // gone since
		}
		l := Listed{Name: strings.ToValidUTF8(n, "\uFFFD"), Kind: "other", Size: st.size, Modified: time.Unix(0, st.mtime)}
		switch st.kind {
		case regular:
			l.Kind = "file"
		case directory:
			l.Kind, l.Size = "folder", 0
		case symlink:
			l.Kind = "link"
			l.Target, _ = d.readlink(n)
			l.Target = strings.ToValidUTF8(l.Target, "\uFFFD")
		}
		list = append(list, l)
	}
	return list, total, nil
}
