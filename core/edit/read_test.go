package edit

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"handrail/core/hint"
)

var tm time.Time

func TestRead(t *testing.T) {
	ten := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	for _, c := range []struct {
		name string
		file string
		o    ReadOptions
		want Content // Text, First, Last, Lines, Next, LongLines, Encoding, LineEnds
		code string
		says string
	}{
		{"all", "a\nb\n", ReadOptions{}, Content{"", "a\nb\n", 1, 2, 2, 0, false, UTF8, LF, "", 0, tm, nil}, "", ""},
		{"no final line end", "a\nb", ReadOptions{}, Content{"", "a\nb", 1, 2, 2, 0, false, UTF8, LF, "", 0, tm, nil}, "", ""},
		{"one line", "a", ReadOptions{}, Content{"", "a", 1, 1, 1, 0, false, UTF8, NoLineEnds, "", 0, tm, nil}, "", ""},
		{"empty", "", ReadOptions{}, Content{"", "", 0, 0, 0, 0, false, UTF8, NoLineEnds, "", 0, tm, nil}, "", ""},
		{"empty lines", "\n\n", ReadOptions{}, Content{"", "\n\n", 1, 2, 2, 0, false, UTF8, LF, "", 0, tm, nil}, "", ""},
		{"part", ten, ReadOptions{Offset: 3, Limit: 2}, Content{"", "3\n4\n", 3, 4, 10, 5, false, UTF8, LF, "", 0, tm, nil}, "", ""},
		{"last part", ten, ReadOptions{Offset: 9, Limit: 2}, Content{"", "9\n10\n", 9, 10, 10, 0, false, UTF8, LF, "", 0, tm, nil}, "", ""},
		{"from the end", ten, ReadOptions{Offset: -2}, Content{"", "9\n10\n", 9, 10, 10, 0, false, UTF8, LF, "", 0, tm, nil}, "", ""},
		{"further than the end", ten, ReadOptions{Offset: -99, Limit: 1}, Content{"", "1\n", 1, 1, 10, 2, false, UTF8, LF, "", 0, tm, nil}, "", ""},
		{"from the end of nothing", "", ReadOptions{Offset: -2}, Content{"", "", 0, 0, 0, 0, false, UTF8, NoLineEnds, "", 0, tm, nil}, "", ""},
		{"beyond", ten, ReadOptions{Offset: 11}, Content{}, "out_of_range", "10 lines"},
		{"beyond nothing", "", ReadOptions{Offset: 2}, Content{}, "out_of_range", "0 lines"},
		{"crlf", "a\r\nb\r\n", ReadOptions{}, Content{"", "a\nb\n", 1, 2, 2, 0, false, UTF8, CRLF, "", 0, tm, nil}, "", ""},
		{"cr", "a\rb\r", ReadOptions{}, Content{"", "a\nb\n", 1, 2, 2, 0, false, UTF8, CR, "", 0, tm, nil}, "", ""},
		{"mixed", "a\r\nb\nc\r\rd", ReadOptions{}, Content{"", "a\nb\nc\n\nd", 1, 5, 5, 0, false, UTF8, Mixed, "", 0, tm, nil}, "", ""},
		{"form feed and separators", "a\fb\u2028c\u0085d\n", ReadOptions{}, Content{"", "a\fb\u2028c\u0085d\n", 1, 1, 1, 0, false, UTF8, LF, "", 0, tm, nil}, "", ""},
		{"byte order mark", "\ufeffa\n", ReadOptions{}, Content{"", "a\n", 1, 1, 1, 0, false, UTF8BOM, LF, "", 0, tm, nil}, "", ""},
		{"utf-16le", "\xff\xfea\x00\r\x00\n\x00b\x00", ReadOptions{}, Content{"", "a\nb", 1, 2, 2, 0, false, UTF16LE, CRLF, "", 0, tm, nil}, "", ""},
		{"utf-16be", "\xfe\xff\x00a\x00\n", ReadOptions{}, Content{"", "a\n", 1, 1, 1, 0, false, UTF16BE, LF, "", 0, tm, nil}, "", ""},
		{"latin-1", "caf\xe9\n", ReadOptions{}, Content{"", "caf\ufffd\n", 1, 1, 1, 0, false, Legacy, LF, "", 0, tm, nil}, "", ""},
		{"mostly utf-8", "é\xe9\n", ReadOptions{}, Content{"", "é\ufffd\n", 1, 1, 1, 0, false, NotUTF8, LF, "", 0, tm, nil}, "", ""},
		{"half a character at the end", "a\xe0\xb8", ReadOptions{}, Content{"", "a\ufffd", 1, 1, 1, 0, false, Legacy, NoLineEnds, "", 0, tm, nil}, "", ""},
		{"utf-32", "\xff\xfe\x00\x00a\x00\x00\x00", ReadOptions{}, Content{}, "unsupported_encoding", "utf-32le"},
		{"binary", "a\x00b", ReadOptions{}, Content{}, "binary", "NUL"},
		{"binary far in", strings.Repeat("text\n", 100000) + "\x00", ReadOptions{Limit: 1}, Content{}, "binary", "NUL"},
		{"long line", strings.Repeat("é", 5000) + "\nb\n", ReadOptions{}, Content{"", strings.Repeat("é", MaxLineBytes/2) + "…\nb\n", 1, 2, 2, 0, true, UTF8, LF, "", 0, tm, nil}, "", ""},
		{"characters across buffers", strings.Repeat("ก", 100000), ReadOptions{}, Content{"", strings.Repeat("ก", MaxLineBytes/3) + "…", 1, 1, 1, 0, true, UTF8, NoLineEnds, "", 0, tm, nil}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root, _ := scratch(t, map[string]string{"f": c.file})
			got, err := Read(root, "f", c.o)
			if c.code != "" {
				wantError(t, err, c.code, []string{c.says})
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Hash != hashOf([]byte(c.file)) || got.Size != int64(len(c.file)) || got.Name != "f" || got.Modified.IsZero() {
				t.Errorf("%s, %d bytes, hash %s", got.Name, got.Size, got.Hash)
			}
			got.Hash, got.Size, got.Name, got.Modified = "", 0, "", tm
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got  %.300q\nwant %.300q", fmt.Sprint(got), fmt.Sprint(c.want))
			}
			// The reader and the editor see the same lines, ends and encoding.
			if text, _, enc, err := decode([]byte(c.file)); err == nil {
				b := newBody(text, enc)
				if b.height(0, len(text)) != got.Lines || b.lineEnds() != got.LineEnds || enc != got.Encoding {
					t.Errorf("the editor sees %d lines, %s, %s", b.height(0, len(text)), b.lineEnds(), enc)
				}
			}
		})
	}
}

// A file is read in parts that fit, each going on where the last ended.
func TestReadParts(t *testing.T) {
	var whole strings.Builder
	for i := range 50000 {
		fmt.Fprintf(&whole, "line %d ก\n", i)
	}
	root, _ := scratch(t, map[string]string{"f": whole.String()})
	var got strings.Builder
	parts := 0
	for next := 1; next > 0; parts++ {
		c, err := Read(root, "f", ReadOptions{Offset: next, Limit: 30000})
		if err != nil || len(c.Text) > MaxReadBytes || c.Lines != 50000 || !utf8.ValidString(c.Text) {
			t.Fatalf("part from %d: %d bytes, %d lines, %v", next, len(c.Text), c.Lines, err)
		}
		got.WriteString(c.Text)
		next = c.Next
	}
	if got.String() != whole.String() || parts < 3 {
		t.Errorf("%d bytes in %d parts, want %d", got.Len(), parts, whole.Len())
	}
}

// A huge file, even of one line, takes little memory.
func TestReadHuge(t *testing.T) {
	root, dir := scratch(t, nil)
	for name, lineEnd := range map[string]string{"lines": "\n", "line": "x"} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			if _, err := f.WriteString(strings.Repeat(strings.Repeat("y", 1023)+lineEnd, 1024)); err != nil {
				t.Fatal(err)
			}
		}
		f.Close()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c, err := Read(root, name, ReadOptions{Limit: 3})
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 2<<20 {
			t.Errorf("%s: %d KB were allocated", name, used>>10)
		}
		switch {
		case name == "lines" && (c.Lines != -1 || c.Hash != "" || c.Next != 4 || c.Last != 3):
			t.Errorf("lines: %d to %d of %d, next %d", c.First, c.Last, c.Lines, c.Next)
		case name == "line" && (c.Lines != 1 || !c.LongLines || c.Hash == "" || len(c.Text) > MaxLineBytes+4):
			t.Errorf("line: %d lines, %d bytes", c.Lines, len(c.Text))
		}
	}
}

func TestList(t *testing.T) {
	root, dir := scratch(t, map[string]string{"b.txt": "12345", "a/": "", "a/x": "", "l": "-> b.txt", "out": "-> /etc", "lf": "-> a"})
	_, _, err := List(root, "", 0, 0, false)
	wantError(t, err, "bad_path", nil)
	list, total, err := List(root, ".", 0, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, l := range list {
		got += fmt.Sprint(l.Name, " ", l.Kind, " ", l.Size, " ", l.Target, "\n")
	}
	want := "a folder 0 \nb.txt file 5 \nl link 5 b.txt\nlf link 1 a\nout link 4 /etc\n"
	if got != want || total != 5 {
		t.Errorf("%d entries:\n%s", total, got)
	}
	for _, c := range []struct {
		name          string
		offset, limit int
		want          []string
		code          string
	}{
		{".", 1, 2, []string{"b.txt", "l"}, ""},
		{".", 4, 9, []string{"out"}, ""},
		{".", 9, 9, nil, ""},
		{"a", 0, 0, []string{"x"}, ""},
		{"a/", 0, 0, []string{"x"}, ""},
		{"lf", 0, 0, []string{"x"}, ""},
		{"a/..", 1, 1, []string{"b.txt"}, ""},
		{"b.txt", 0, 0, nil, "not_a_folder"},
		{"out", 0, 0, nil, "is_link_outside"},
		{"..", 0, 0, nil, "outside"},
		{"none", 0, 0, nil, "not_found"},
	} {
		list, _, err := List(root, c.name, c.offset, c.limit, false)
		var names []string
		for _, l := range list {
			names = append(names, l.Name)
		}
		if hint.Code(err) != c.code || fmt.Sprint(names) != fmt.Sprint(c.want) {
			t.Errorf("%s from %d, %d: %v, %v", c.name, c.offset, c.limit, names, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "a", "caf\xe9"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if list, _, err := List(root, "a", 0, 0, false); err != nil || list[0].Name != "caf\ufffd" {
		t.Errorf("%v, %v", list, err)
	}
}

// FuzzRead holds the reader against the editor's view of the whole file.
func FuzzRead(f *testing.F) {
	seeds(f, func(file []byte, _ []Hunk) { f.Add(file, uint16(1)) })
	f.Fuzz(func(t *testing.T, file []byte, offset uint16) {
		name := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(name, file, 0o600); err != nil {
			t.Fatal(err)
		}
		in, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		var c Content
		err = c.read(in, ReadOptions{Offset: int(offset), Limit: 1 << 20})
		text, _, enc, derr := decode(file)
		if err != nil || derr != nil {
			return
		}
		b := newBody(text, enc)
		if c.Lines != b.height(0, len(text)) || c.LineEnds != b.lineEnds() || c.Encoding != enc || c.Hash != hashOf(file) {
			t.Fatalf("%d lines, %s, %s; the editor sees %d, %s, %s", c.Lines, c.LineEnds, c.Encoding, b.height(0, len(text)), b.lineEnds(), enc)
		}
		from, _, _ := b.span(max(int(offset), 1), max(int(offset), 1))
		if want := strings.ToValidUTF8(lf(string(text[from:])), "\uFFFD"); !c.LongLines && c.Next == 0 && c.Text != want && utf8.Valid(text) {
			t.Fatalf("read %q, want %q", c.Text, want)
		}
	})
}
