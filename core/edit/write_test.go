package edit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"handrail/core/hint"
)

func TestWrite(t *testing.T) {
	const bom = "\ufeff"
	for _, c := range []struct {
		name     string
		old      string // content of f before; "-" for none
		content  string
		o        Options
		want     string
		code     string
		says     string // in the error, or in a note
		encoding Encoding
	}{
		{"new", "-", "x", Options{}, "x", "", "", UTF8},
		{"new, empty", "-", "", Options{}, "", "", "", UTF8},
		{"new, crlf kept", "-", "one\r\ntwo\r\n", Options{}, "one\r\ntwo\r\n", "", "", UTF8},
		{"new, byte order mark kept", "-", bom + "x\n", Options{}, bom + "x\n", "", "", UTF8BOM},
		{"exists", "old", "new", Options{}, "old", "exists", "overwrite=true", ""},
		{"overwritten", "old", "new", Options{Overwrite: true}, "new", "", "", UTF8},
		{"emptied", "old\n", "", Options{Overwrite: true}, "", "", "", UTF8},
		{"lf into a crlf file", "a\r\nb\r\n", "a\nc\n", Options{Overwrite: true}, "a\r\nc\r\n", "", "crlf", UTF8},
		{"lf into a cr file", "a\rb\r", "a\nc\n", Options{Overwrite: true}, "a\rc\r", "", "cr", UTF8},
		{"lf into mixed ends", "a\r\nb\n", "a\nc\n", Options{Overwrite: true}, "a\nc\n", "", "", UTF8},
		{"crlf on purpose", "a\nb\n", "a\r\nb\r\n", Options{Overwrite: true}, "a\r\nb\r\n", "", "", UTF8},
		{"byte order mark kept", bom + "a\n", "b\n", Options{Overwrite: true}, bom + "b\n", "", "byte order mark", UTF8BOM},
		{"one byte order mark", bom + "a\n", bom + "b\n", Options{Overwrite: true}, bom + "b\n", "", "", UTF8BOM},
		{"utf-16 kept", "\xff\xfea\x00\r\x00\n\x00", "b\n", Options{Overwrite: true}, "\xff\xfeb\x00\r\x00\n\x00", "", "utf-16le", UTF16LE},
		{"over latin-1", "caf\xe9", "café", Options{Overwrite: true}, "café", "", "", UTF8},
		{"over binary", "a\x00b", "x", Options{Overwrite: true}, "x", "", "", UTF8},
		{"NUL", "-", "a\x00b", Options{}, "-", "invalid_text", "NUL", ""},
		{"not UTF-8", "-", "a\xff", Options{}, "-", "invalid_text", "UTF-8", ""},
		{"placeholder", "a\nb\n", "a\n// ... existing code ...\n", Options{Overwrite: true}, "a\nb\n", "omission_placeholder", "line 2", ""},
		{"placeholder in a new file", "-", "def f():\n    # ... rest of the code ...\n", Options{}, "-", "omission_placeholder", "line 2", ""},
		{"placeholder that is meant", "-", "# ... rest of the code ...\n", Options{AllowPlaceholder: true}, "# ... rest of the code ...\n", "", "", UTF8},
		{"placeholder that was there", "# ... existing code ...\n", "# ... existing code ...\nx\n", Options{Overwrite: true}, "# ... existing code ...\nx\n", "", "", UTF8},
		{"too large", "-", strings.Repeat("x", MaxBytes+1), Options{}, "-", "too_large", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{}
			if c.old != "-" {
				files["f"] = c.old
			}
			root, dir := scratch(t, files)
			r, err := Write(root, "f", c.content, c.o)
			if c.code != "" {
				wantError(t, err, c.code, []string{c.says})
			} else if err != nil {
				t.Fatal(err)
			} else if r.Encoding != c.encoding || r.Created != (c.old == "-") || !strings.Contains(strings.Join(r.Notes, "\n"), c.says) || c.says == "" && len(r.Notes) > 0 {
				t.Errorf("result %+v", r)
			} else if string(r.Text) != c.want || r.Hash != hashOf([]byte(c.want)) {
				t.Errorf("said %q, %s", r.Text, r.Hash)
			}
			want := map[string]string{}
			if c.want != "-" {
				want["f"] = c.want
			}
			wantTree(t, dir, want)
		})
	}
}

func TestWritePlaces(t *testing.T) {
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	put(t, secret, "old", false)
	all := Options{Overwrite: true}
	root, dir := scratch(t, map[string]string{
		"f": "old", "out": "-> " + secret, "away": "-> " + outside, "dangling": "-> x/new", "far": "-> " + outside + "/new", "cafe\u0301/": "",
	})
	for _, c := range []struct{ path, real, code string }{
		{"a/b/c.txt", "a/b/c.txt", ""},
		{"x/../y/f", "y/f", ""},
		{"dangling", "x/new", ""},
		{"caf\u00e9/f", "cafe\u0301/f", ""},
		{"out", "", "is_link_outside"},
		{"far", "", "is_link_outside"},
		{"away/secret", "", "is_link_outside"},
		{"away/new", "", "is_link_outside"},
		{"../f", "", "outside"},
		{"a/../../f", "", "outside"},
		{"f/g", "", "not_found"},
		{"a", "", "not_regular"},
		{"newdir/", "", "bad_path"},
		{".", "", "not_regular"},
		{"", "", "bad_path"},
		{outside + "/new", "", "bad_path"},
		{strings.Repeat("long", 100), "", "bad_path"},
	} {
		before := tree(t, dir)
		r, err := Write(root, c.path, "new", all)
		if c.code != "" {
			wantError(t, err, c.code, nil)
			wantTree(t, dir, before)
			continue
		}
		if err != nil || r.Name != c.real && !(folds(t) && foldName(r.Name) == foldName(c.real)) {
			t.Errorf("%s: %q, %v", c.path, r.Name, err)
			continue
		}
		before[c.real] = "new"
		wantTree(t, dir, before)
	}
	wantTree(t, outside, map[string]string{"secret": "old"})
	if l, err := os.Readlink(filepath.Join(dir, "dangling")); err != nil || l != "x/new" {
		t.Error("the link was replaced")
	}
}

// A new file has the mode 0644 and a new folder 0755, less the umask.
func TestWriteMode(t *testing.T) {
	for _, mask := range []int{0o022, 0o077, 0} {
		root, dir := scratch(t, nil)
		was := syscall.Umask(mask)
		_, err := Write(root, "d/f", "x", Options{})
		syscall.Umask(was)
		if err != nil {
			t.Fatal(err)
		}
		for name, mode := range map[string]int{"d/f": 0o644, "d": 0o755} {
			if st, err := os.Stat(filepath.Join(dir, name)); err != nil || int(st.Mode().Perm()) != mode&^mask {
				t.Errorf("umask %03o: %s has the mode %v, %v", mask, name, st.Mode(), err)
			}
		}
	}
}

func TestProblem(t *testing.T) {
	for _, c := range []struct {
		system string
		err    error
		code   string
		says   string
	}{
		{"linux", syscall.EPERM, "denied", "doesn't permit"},
		{"darwin", syscall.EACCES, "denied", "doesn't permit"},
		{"darwin", syscall.EPERM, "denied", "Privacy & Security"},
		{"linux", &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, "no_space", "full"},
		{"linux", fmt.Errorf("x: %w", hint.New("stale", "y")), "stale", "y"},
		{"linux", syscall.EMFILE, "failed", "too many"},
		{"linux", fmt.Errorf("odd"), "failed", `writing "f"`},
	} {
		err := problemOn(c.system, "writing", "f", c.err)
		wantError(t, err, c.code, []string{c.says, "!/secret/"})
	}
	if problem("x", "y", nil) != nil {
		t.Error("no error is no problem")
	}
}
