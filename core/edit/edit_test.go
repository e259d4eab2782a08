package edit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"handrail/core/hint"
)

func str(old, new string) []Hunk { return []Hunk{{OldString: &old, NewString: &new}} }

func line(start int, new string) Hunk { return Hunk{LineStart: &start, NewString: &new} }

// scratch makes a folder with files in it: a name that ends with / is a folder, "-> x" as content makes a link.
func scratch(t testing.TB, files map[string]string) (*os.Root, string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		put(t, filepath.Join(dir, name), files[name], strings.HasSuffix(name, "/"))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root, dir
}

func put(t testing.TB, path, content string, folder bool) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	switch target, link := strings.CutPrefix(content, "-> "); {
	case err != nil:
	case folder:
		err = os.MkdirAll(path, 0o755)
	case link:
		err = os.Symlink(target, path)
	default:
		err = os.WriteFile(path, []byte(content), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// tree gives every file below dir with its content, links as "-> x".
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if d.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			found[rel] = "-> " + target
			return err
		}
		if !d.Type().IsRegular() {
			found[rel] = d.Type().String()
			return nil
		}
		b, err := os.ReadFile(path)
		found[rel] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func wantTree(t testing.TB, dir string, want map[string]string) {
	t.Helper()
	if got := tree(t, dir); !maps.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
}

func TestEditNames(t *testing.T) {
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	put(t, secret, "old\n", false)
	for _, c := range []struct {
		name  string
		files map[string]string
		path  string
		real  string // where it leads; "" if it is refused
		code  string
		says  string // in the error, or in a note
		// folded is where it leads, without a note, on a file system that takes names for equal that differ in case or
		// normalisation, as that of macOS does; "" if that makes no difference.
		folded string
	}{
		{"plain", map[string]string{"a": "old\n"}, "a", "a", "", "", ""},
		{"below", map[string]string{"x/y/a": "old\n"}, "x/y/a", "x/y/a", "", "", ""},
		{"dots and slashes", map[string]string{"x/a": "old\n", "y/": ""}, "./x//./../y/../x/a", "x/a", "", "", ""},
		{"two dots begin a name", map[string]string{"..test": "old\n"}, "..test", "..test", "", "", ""},
		{"percent signs are not decoded", map[string]string{"%2e%2e": "old\n"}, "%2e%2e", "%2e%2e", "", "", ""},
		{"a tilde inside", map[string]string{"a/~": "old\n", "com~apple~CloudDocs/b": ""}, "a/~", "a/~", "", "", ""},
		{"a tilde in front", map[string]string{"~bob": "old\n"}, "~bob", "~bob", "", "", ""},
		{"brackets and blanks", map[string]string{"my-project (v2)/a": "old\n"}, "my-project (v2)/a", "my-project (v2)/a", "", "", ""},
		{"the folder beside", nil, "../project2", "", "outside", "", ""},
		{"out and in again", map[string]string{"a": "old\n"}, "../x/a", "", "outside", "", ""},
		{"far out", nil, "x/../../../etc/passwd", "", "not_found", "", ""},
		{"far out by existing folders", map[string]string{"x/": ""}, "x/../../../etc/passwd", "", "outside", "", ""},
		{"absolute", nil, "/etc/passwd", "", "bad_path", "relative", ""},
		{"empty", nil, "", "", "bad_path", "empty", ""},
		{"NUL", nil, "a\x00b", "", "bad_path", "NUL", ""},
		{"not UTF-8", nil, "a\xff", "", "bad_path", "UTF-8", ""},
		{"too long", nil, strings.Repeat("x", 300), "", "bad_path", "", ""},
		{"the root", nil, ".", "", "not_regular", "folder", ""},
		{"a folder", map[string]string{"x/": ""}, "x", "", "not_regular", "folder", ""},
		{"a folder with a slash", map[string]string{"x/": ""}, "x/", "", "not_regular", "folder", ""},
		{"through a file", map[string]string{"a": "old\n"}, "a/b", "", "not_found", "not a folder", ""},
		{"missing", map[string]string{"notes.txt": ""}, "note.txt", "", "not_found", "notes.txt", ""},
		{"missing, other case", map[string]string{"README.md": "old\n"}, "readme.md", "", "not_found", "README.md", "README.md"},
		{"missing, three near ones", map[string]string{"abcd1": "", "abcd2": "", "abcd3": "", "abcd4": "", "zzzzz": ""}, "abcd", "", "not_found", `"abcd1" and "abcd2" and "abcd3"`, ""},
		{"missing, nothing near", map[string]string{"zebra": ""}, "abcdef", "", "not_found", "list_files", ""},
		{"missing folder", nil, "no/such/file", "", "not_found", `"no" doesn't exist`, ""},

		{"link", map[string]string{"a": "old\n", "l": "-> a"}, "l", "a", "", "", ""},
		{"link to a link", map[string]string{"x/a": "old\n", "l": "-> m", "m": "-> x/a"}, "l", "x/a", "", "", ""},
		{"link up and down", map[string]string{"x/a": "old\n", "y/l": "-> ../x/a"}, "y/l", "x/a", "", "", ""},
		{"linked folder", map[string]string{"x/a": "old\n", "l": "-> x"}, "l/a", "x/a", "", "", ""},
		{"linked folder and up", map[string]string{"x/y/": "", "x/a": "old\n", "l": "-> x/y"}, "l/../a", "x/a", "", "", ""},
		{"absolute link inside", map[string]string{"x/a": "old\n", "l": "-> ROOT/x/a"}, "l", "x/a", "", "", ""},
		{"link outside", map[string]string{"l": "-> " + secret}, "l", "", "is_link_outside", "link", ""},
		{"relative link outside", map[string]string{"x/l": "-> ../../secret"}, "x/l", "", "is_link_outside", "", ""},
		{"folder linked outside", map[string]string{"l": "-> " + outside}, "l/secret", "", "is_link_outside", "", ""},
		{"link to a device", map[string]string{"l": "-> /dev/zero"}, "l", "", "is_link_outside", "", ""},
		{"dangling link", map[string]string{"l": "-> nowhere"}, "l", "", "not_found", "nowhere", ""},
		{"links in a circle", map[string]string{"l": "-> m", "m": "-> l"}, "l", "", "link_loop", "", ""},
		{"link to itself", map[string]string{"l": "-> l/x"}, "l", "", "link_loop", "", ""},

		{"narrow space in the name", map[string]string{"at 9.41\u202fAM.txt": "old\n"}, "at 9.41 AM.txt", "at 9.41\u202fAM.txt", "", "kind of spaces", ""},
		{"decomposed name", map[string]string{"cafe\u0301/a": "old\n"}, "caf\u00e9/a", "cafe\u0301/a", "", "normalisation", "caf\u00e9/a"},
		{"composed name", map[string]string{"caf\u00e9": "old\n"}, "cafe\u0301", "caf\u00e9", "", "normalisation", "caf\u00e9"},
		{"two such names", map[string]string{"a\u202fb": "old\n", "a\u00a0b": "old\n"}, "a b", "", "not_found", "", ""},
		{"the exact name first", map[string]string{"a\u202fb": "no\n", "a b": "old\n"}, "a b", "a b", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root, dir := scratch(t, nil)
			want := map[string]string{}
			for _, name := range slices.Sorted(maps.Keys(c.files)) {
				content := strings.Replace(c.files[name], "ROOT", dir, 1)
				put(t, filepath.Join(dir, name), content, strings.HasSuffix(name, "/"))
				if !strings.HasSuffix(name, "/") {
					want[name] = content
				}
			}
			onDisk := c.real
			if c.folded != "" && folds(t) {
				c.real, c.code, c.says = c.folded, "", ""
				for onDisk = range c.files { // it is the only one
				}
			}
			r, err := Edit(root, c.path, str("old", "new"), Options{})
			if c.code != "" {
				wantError(t, err, c.code, []string{c.says})
			} else {
				if err != nil {
					t.Fatal(err)
				}
				if r.Name != c.real || c.says != "" && !strings.Contains(strings.Join(r.Notes, "\n"), c.says) || c.says == "" && len(r.Notes) > 0 {
					t.Errorf("edited %q with notes %q, want %q and %q", r.Name, r.Notes, c.real, c.says)
				}
				want[onDisk] = "new\n"
			}
			wantTree(t, dir, want)
			if b, _ := os.ReadFile(secret); string(b) != "old\n" {
				t.Fatal("a file outside was changed")
			}
		})
	}
}

// folds reports whether the file system takes names for equal that differ in case.
func folds(t *testing.T) bool {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a"), "", false)
	_, err := os.Stat(filepath.Join(dir, "A"))
	return err == nil
}

// A name that was decided on has no links; one that got a link since is refused.
func TestResolve(t *testing.T) {
	root, dir := scratch(t, map[string]string{"x/a": "old\n", "y/a": "old\n", "l": "-> x"})
	for name, want := range map[string]string{"l/a": "x/a", "x/../l/new/b": "x/new/b", ".": ".", "x": "x", "l": "x", "l/": "x"} {
		f, err := Resolve(root, name)
		if err != nil || f.Name != want || f.Exists != (name != "x/../l/new/b") || f.Folder != (f.Exists && name != "l/a") {
			t.Errorf("Resolve(%q) = %+v, %v, want %q", name, f, err, want)
		}
	}
	if _, err := Resolve(root, "../a"); hint.Code(err) != "outside" {
		t.Errorf("a name outside: %v", err)
	}
	o := Options{NoLinks: true, Overwrite: true}
	if _, err := Edit(root, "x/a", str("old", "new"), o); err != nil {
		t.Fatal(err)
	}
	for _, f := range []func() error{
		func() error { return os.Rename(filepath.Join(dir, "x"), filepath.Join(dir, "z")) },
		func() error { return os.Symlink("y", filepath.Join(dir, "x")) },
	} {
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Edit(root, "x/a", str("old", "new"), o)
	wantError(t, err, "is_link", nil)
	_, err = Write(root, "x/a", "new", o)
	wantError(t, err, "is_link", nil)
	_, err = Read(root, "x/a", ReadOptions{NoLinks: true})
	wantError(t, err, "is_link", nil)
	_, _, err = List(root, "x", 0, 0, true)
	wantError(t, err, "is_link", nil)
	wantTree(t, dir, map[string]string{"z/a": "new\n", "y/a": "old\n", "x": "-> y", "l": "-> x"})
}

// Nothing waits for what isn't a file, and nothing replaces it.
func TestNotRegular(t *testing.T) {
	root, dir := scratch(t, map[string]string{"folder/": ""})
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o666); err != nil {
		t.Fatal(err)
	}
	// A socket's path must be short.
	short, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	l, err := net.Listen("unix", filepath.Join(short, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Rename(filepath.Join(short, "s"), filepath.Join(dir, "socket")); err != nil {
		t.Fatal(err)
	}
	dev, err := os.OpenRoot("/dev")
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	before := tree(t, dir)
	for _, name := range []string{"fifo", "socket", "folder"} {
		for what, f := range map[string]func() error{
			"edit":  func() error { _, err := Edit(root, name, str("a", "b"), Options{}); return err },
			"write": func() error { _, err := Write(root, name, "x", Options{Overwrite: true}); return err },
			"read":  func() error { _, err := Read(root, name, ReadOptions{}); return err },
			"copy":  func() error { _, err := EditCopy(root, name, str("a", "b"), Options{}); return err },
			"write copy": func() error {
				_, err := WriteCopy(root, name, "x", Options{Overwrite: true})
				return err
			},
			"read /dev": func() error { _, err := Read(dev, "zero", ReadOptions{}); return err },
		} {
			within(t, 5*time.Second, func() {
				if err := f(); hint.Code(err) != "not_regular" {
					t.Errorf("%s %s: %v", what, name, err)
				}
			})
		}
	}
	if after := tree(t, dir); !maps.Equal(before, after) {
		t.Errorf("files %v, before %v", after, before)
	}
}

// within fails when f takes longer than d.
func within(t testing.TB, d time.Duration, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(d):
		t.Fatalf("it takes longer than %v", d)
	}
}

func TestHardLink(t *testing.T) {
	root, dir := scratch(t, map[string]string{"a": "old\n"})
	if err := os.Link(filepath.Join(dir, "a"), filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	_, err := Edit(root, "a", str("old", "new"), Options{})
	wantError(t, err, "hard_link", []string{"other names"})
	_, err = Write(root, "b", "new", Options{Overwrite: true})
	wantError(t, err, "hard_link", nil)
	wantTree(t, dir, map[string]string{"a": "old\n", "b": "old\n"})
	// The original of a working copy isn't replaced.
	if _, err := EditCopy(root, "a", str("old", "new"), Options{}); err != nil {
		t.Error(err)
	}
}

func TestModeKept(t *testing.T) {
	for _, mode := range []fs.FileMode{0o755, 0o600, 0o640, 0o777} {
		root, dir := scratch(t, map[string]string{"f": "#!/bin/sh\necho old\n"})
		path := filepath.Join(dir, "f")
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := Edit(root, "f", str("old", "new"), Options{}); err != nil {
			t.Fatal(err)
		}
		if st, err := os.Stat(path); err != nil || st.Mode() != mode {
			t.Errorf("mode %v, %v, want %v", st.Mode(), err, mode)
		}
	}
	root, dir := scratch(t, map[string]string{"f": "old\n"})
	if err := os.Chmod(filepath.Join(dir, "f"), 0o755|fs.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	if _, err := Edit(root, "f", str("old", "new"), Options{}); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(filepath.Join(dir, "f")); err != nil || st.Mode() != 0o755 {
		t.Errorf("set-id bits: mode %v, %v", st.Mode(), err)
	}
}

func TestWriteProtected(t *testing.T) {
	root, dir := scratch(t, map[string]string{"f": "old\n"})
	if err := os.Chmod(filepath.Join(dir, "f"), 0o444); err != nil {
		t.Fatal(err)
	}
	_, err := Edit(root, "f", str("old", "new"), Options{})
	wantError(t, err, "read_only", []string{"write-protected"})
	wantTree(t, dir, map[string]string{"f": "old\n"})
}

// As an ordinary user: no way round a file or a folder that is closed.
func TestNoPermission(t *testing.T) {
	dir := t.TempDir()
	asOrdinary(t, dir, func(dir string) {
		put(t, filepath.Join(dir, "closed", "f"), "old\n", false)
		put(t, filepath.Join(dir, "unreadable"), "old\n", false)
		put(t, filepath.Join(dir, "hidden", "f"), "old\n", false)
		for name, mode := range map[string]fs.FileMode{"closed": 0o555, "unreadable": 0o200, "hidden": 0} {
			if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
				t.Fatal(err)
			}
		}
		defer os.Chmod(filepath.Join(dir, "closed"), 0o755)
		defer os.Chmod(filepath.Join(dir, "hidden"), 0o755)
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		for _, name := range []string{"closed/f", "unreadable", "hidden/f"} {
			_, err := Edit(root, name, str("old", "new"), Options{})
			wantError(t, err, "denied", nil)
			_, err = Write(root, name, "new", Options{Overwrite: true})
			wantError(t, err, "denied", nil)
			_, err = EditCopy(root, name, str("old", "new"), Options{})
			wantError(t, err, "denied", nil)
		}
		_, err = Write(root, "closed/a/b", "new", Options{})
		wantError(t, err, "denied", nil)
		_, err = Read(root, "unreadable", ReadOptions{})
		wantError(t, err, "denied", nil)
		_, _, err = List(root, "hidden", 0, 0, false)
		wantError(t, err, "denied", nil)
		if _, err := Read(root, "closed/f", ReadOptions{}); err != nil {
			t.Error(err)
		}
		// A folder that turns read-only in the middle: the file stays. The temporary file can't be removed then.
		put(t, filepath.Join(dir, "turns", "f"), "old\n", false)
		_, err = Edit(root, "turns/f", str("old", "new"), Options{testOnlyStep: func(s string) error {
			if s == "compare" {
				return os.Chmod(filepath.Join(dir, "turns"), 0o555)
			}
			return nil
		}})
		wantError(t, err, "denied", nil)
		if b, err := os.ReadFile(filepath.Join(dir, "turns", "f")); string(b) != "old\n" {
			t.Errorf("it holds %q, %v", b, err)
		}
		if err := os.Chmod(filepath.Join(dir, "turns"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(dir, "turns")); err != nil {
			t.Fatal(err)
		}
	})
	for _, name := range []string{"unreadable", "hidden"} {
		if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	wantTree(t, dir, map[string]string{"closed/f": "old\n", "unreadable": "old\n", "hidden/f": "old\n"})
}

// A failure at any point leaves the file as it was, and nothing beside it.
func TestFailure(t *testing.T) {
	codes := map[error]string{
		syscall.ENOSPC: "no_space", syscall.EDQUOT: "no_space", syscall.EROFS: "read_only",
		syscall.EACCES: "denied", syscall.EPERM: "denied", syscall.EFBIG: "too_large", syscall.EIO: "failed",
	}
	for _, step := range []string{"create", "write", "sync", "compare", "replace"} {
		for cause, code := range codes {
			root, dir := scratch(t, map[string]string{"f": "old\n", "f2": "2\n", "state/": ""})
			undo := openUndo(t, filepath.Join(dir, "state", "undo"), 1<<20)
			o := Options{Undo: undo, Overwrite: true, testOnlyStep: func(s string) error {
				if s == step {
					return cause
				}
				return nil
			}}
			for what, f := range map[string]func() error{
				"edit":      func() error { _, err := Edit(root, "f", str("old", "new"), o); return err },
				"overwrite": func() error { _, err := Write(root, "f", "new", o); return err },
				"create":    func() error { _, err := Write(root, "a/b/new", "new", o); return err },
				"copy":      func() error { _, err := EditCopy(root, "f", str("old", "new"), o); return err },
				"all": func() error {
					_, err := patch(root, "*** Add File: new\n+x\n*** Update File: f\n-old\n+new\n*** Delete File: f2\n", o)
					return err
				},
			} {
				err := f()
				if hint.Code(err) != code || !errors.Is(err, cause) {
					t.Errorf("%s, %v at %s: %v", what, cause, step, err)
				}
				wantTree(t, dir, map[string]string{"f": "old\n", "f2": "2\n"})
				if _, err := os.Stat(filepath.Join(dir, "a")); err == nil {
					t.Errorf("%s, %v at %s left a folder", what, cause, step)
				}
				if n := len(undo.List()); n > 0 {
					t.Errorf("%s, %v at %s left %d undo entries", what, cause, step, n)
				}
			}
		}
	}
}

// Whatever another program does to the file between the reading and the replacement, it wins and the edit is refused.
func TestStale(t *testing.T) {
	for _, c := range []struct {
		name  string
		other func(t *testing.T, path string)
		want  map[string]string
	}{
		{"written to", func(t *testing.T, p string) { put(t, p, "theirs\n", false) }, map[string]string{"d/f": "theirs\n"}},
		{"written to, same size", func(t *testing.T, p string) { put(t, p, "oLd\n", false) }, map[string]string{"d/f": "oLd\n"}},
		{"written to, same size and time", func(t *testing.T, p string) {
			st, err := os.Stat(p)
			if err != nil {
				t.Fatal(err)
			}
			put(t, p, "oLd\n", false)
			if err := os.Chtimes(p, st.ModTime(), st.ModTime()); err != nil {
				t.Fatal(err)
			}
		}, map[string]string{"d/f": "oLd\n"}},
		{"replaced", func(t *testing.T, p string) {
			put(t, p+".other", "old\n", false)
			if err := os.Rename(p+".other", p); err != nil {
				t.Fatal(err)
			}
		}, map[string]string{"d/f": "old\n"}},
		{"removed", func(t *testing.T, p string) {
			if err := os.Remove(p); err != nil {
				t.Fatal(err)
			}
		}, map[string]string{}},
		{"linked", func(t *testing.T, p string) {
			if err := os.Link(p, p+"2"); err != nil {
				t.Fatal(err)
			}
		}, map[string]string{"d/f": "old\n", "d/f2": "old\n"}},
		{"turned into a link", func(t *testing.T, p string) {
			if err := os.Rename(p, p+"2"); err != nil {
				t.Fatal(err)
			}
			put(t, p, "-> f2", false)
		}, map[string]string{"d/f": "-> f2", "d/f2": "old\n"}},
		{"turned into a folder", func(t *testing.T, p string) {
			if err := os.Remove(p); err != nil {
				t.Fatal(err)
			}
			put(t, p+"/x", "x", false)
		}, map[string]string{"d/f/x": "x"}},
	} {
		for _, step := range []string{"create", "compare", "replace"} {
			for _, noExchange := range []bool{false, true} {
				if noExchange && step == "replace" {
					continue // what happens between the last look and a plain rename can't be seen
				}
				t.Run(fmt.Sprint(c.name, " at ", step, ", plain rename ", noExchange), func(t *testing.T) {
					root, dir := scratch(t, map[string]string{"d/f": "old\n"})
					o := Options{testOnlyNoExchange: noExchange, testOnlyStep: func(s string) error {
						if s == step {
							c.other(t, filepath.Join(dir, "d", "f"))
						}
						return nil
					}}
					_, err := Edit(root, "d/f", str("old", "new"), o)
					wantError(t, err, "stale", nil)
					wantTree(t, dir, c.want)
				})
			}
		}
	}
}

// A folder that is moved away, or swapped for a link to another, is not followed.
func TestFolderSwapped(t *testing.T) {
	outside := t.TempDir()
	put(t, filepath.Join(outside, "f"), "old\n", false)
	for _, step := range []string{"create", "write", "compare"} {
		for _, target := range []string{"", outside} {
			root, dir := scratch(t, map[string]string{"d/f": "old\n"})
			o := Options{Overwrite: true, testOnlyStep: func(s string) error {
				if s != step {
					return nil
				}
				if err := os.Rename(filepath.Join(dir, "d"), filepath.Join(dir, "moved")); err != nil {
					return err
				}
				if target != "" {
					return os.Symlink(target, filepath.Join(dir, "d"))
				}
				return nil
			}}
			want := map[string]string{"moved/f": "old\n"}
			if target != "" {
				want["d"] = "-> " + target
			}
			for _, f := range []func() error{
				func() error { _, err := Edit(root, "d/f", str("old", "new"), o); return err },
				func() error { _, err := Write(root, "d/new", "new", o); return err },
				func() error { _, err := EditCopy(root, "d/f", str("old", "new"), o); return err },
			} {
				wantError(t, f(), "stale", []string{"folder"})
				wantTree(t, dir, want)
				os.Remove(filepath.Join(dir, "d"))
				if err := os.Rename(filepath.Join(dir, "moved"), filepath.Join(dir, "d")); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	wantTree(t, outside, map[string]string{"f": "old\n"})
}

// While a folder is swapped for a link to the outside and back, as fast as can be, nothing outside is ever changed.
func TestSwapRace(t *testing.T) {
	outside := t.TempDir()
	put(t, filepath.Join(outside, "f"), "0\n", false)
	root, dir := scratch(t, map[string]string{"d/f": "0\n"})
	d, away := filepath.Join(dir, "d"), filepath.Join(dir, "away")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			for _, f := range []func() error{
				func() error { return os.Rename(d, away) },
				func() error { return os.Symlink(outside, d) },
				func() error { return os.Remove(d) },
				func() error { return os.Rename(away, d) },
			} {
				if err := f(); err != nil {
					t.Error(err)
					return
				}
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	edited, refused := 0, 0
	for i := 0; i < 3000 || (edited == 0 || refused == 0) && i < 1000000; i++ {
		h := Hunk{LineStart: new(0), NewString: new("x")}
		if _, err := Edit(root, "d/f", []Hunk{h}, Options{}); err == nil {
			edited++
		} else {
			refused++
		}
		if i > 3000 {
			runtime.Gosched()
		}
	}
	close(stop)
	<-done
	t.Logf("%d edited, %d refused", edited, refused)
	if edited == 0 || refused == 0 {
		t.Error("the race was not run")
	}
	if b, _ := os.ReadFile(filepath.Join(d, "f")); bytes.Count(b, []byte("x\n")) != edited {
		t.Errorf("%d edits are in the file, %d succeeded", bytes.Count(b, []byte("x\n")), edited)
	}
	wantTree(t, outside, map[string]string{"f": "0\n"})
}

// Fifty edits at once of one file, through different names: all are in it, once each.
func TestParallel(t *testing.T) {
	const n = 50
	root, dir := scratch(t, map[string]string{"d/f": "end\n", "l": "-> d/f", "m": "-> d"})
	undo := openUndo(t, filepath.Join(t.TempDir(), "undo"), 1<<20)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			name := []string{"d/f", "l", "m/f"}[i%3]
			h := line(0, fmt.Sprintf("edit %d", i))
			if _, err := Edit(root, name, []Hunk{h}, Options{Undo: undo}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	b, err := os.ReadFile(filepath.Join(dir, "d", "f"))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	slices.Sort(got)
	want := []string{"end"}
	for i := range n {
		want = append(want, fmt.Sprintf("edit %d", i))
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("lines %q", got)
	}
	if len(tree(t, dir)) != 3 {
		t.Errorf("left behind: %v", tree(t, dir))
	}
	if len(undo.List()) != n || len(locks) != 0 {
		t.Errorf("%d undo entries, %d locks", len(undo.List()), len(locks))
	}
}

// Of fifty that make one file, one does; the others are told that it exists.
func TestParallelCreate(t *testing.T) {
	root, dir := scratch(t, nil)
	var wg sync.WaitGroup
	var mu sync.Mutex
	made := 0
	for i := range 50 {
		wg.Go(func() {
			_, err := Write(root, "a/b/f", fmt.Sprint(i), Options{testOnlyNoExchange: i%2 == 0})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				made++
			} else if hint.Code(err) != "exists" {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if made != 1 || len(tree(t, dir)) != 1 {
		t.Errorf("made %d times: %v", made, tree(t, dir))
	}
}

func TestCreatedInBetween(t *testing.T) {
	for _, noExchange := range []bool{false, true} {
		root, dir := scratch(t, nil)
		o := Options{Overwrite: true, testOnlyNoExchange: noExchange, testOnlyStep: func(s string) error {
			if s == "replace" {
				put(t, filepath.Join(dir, "f"), "theirs", false)
			}
			return nil
		}}
		_, err := Write(root, "f", "mine", o)
		wantError(t, err, "exists", nil)
		wantTree(t, dir, map[string]string{"f": "theirs"})
	}
}

func TestBaseHashAndDryRun(t *testing.T) {
	root, dir := scratch(t, map[string]string{"f": "one\r\ntwo\r\n"})
	c, err := Read(root, "f", ReadOptions{})
	if err != nil || c.Text != "one\ntwo\n" || c.LineEnds != CRLF {
		t.Fatalf("%+v, %v", c, err)
	}
	r, err := Edit(root, "f", str("two", "TWO"), Options{BaseHash: c.Hash, DryRun: true})
	if err != nil || !strings.Contains(r.Diff, "+TWO") || !r.DryRun {
		t.Fatalf("%+v, %v", r, err)
	}
	wantTree(t, dir, map[string]string{"f": "one\r\ntwo\r\n"})
	if _, err := Write(root, "a/b", "x", Options{DryRun: true}); err != nil {
		t.Fatal(err)
	}
	wantTree(t, dir, map[string]string{"f": "one\r\ntwo\r\n"})
	if r, err = Edit(root, "f", str("two", "TWO"), Options{BaseHash: "sha256:" + strings.ToUpper(c.Hash)}); err != nil {
		t.Fatal(err)
	}
	if r.OldHash != c.Hash || r.Hash != hashOf([]byte("one\r\nTWO\r\n")) {
		t.Errorf("hashes %s, %s", r.OldHash, r.Hash)
	}
	_, err = Edit(root, "f", str("one", "ONE"), Options{BaseHash: c.Hash})
	wantError(t, err, "stale", []string{"base_hash", "read_file"})
	_, err = Write(root, "new", "x", Options{BaseHash: c.Hash})
	wantError(t, err, "stale", nil)
	wantTree(t, dir, map[string]string{"f": "one\r\nTWO\r\n"})
}

// Nothing to do is not a write: the file and its times stay.
func TestNoChange(t *testing.T) {
	root, dir := scratch(t, map[string]string{"f": "abc\n"})
	path := filepath.Join(dir, "f")
	then := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Edit(root, "f", str("abc", "abc"), Options{})
	wantError(t, err, "no_change", nil)
	if r, err := Write(root, "f", "abc\n", Options{Overwrite: true}); err != nil || !r.Unchanged {
		t.Errorf("%+v, %v", r, err)
	}
	after, err := os.Stat(path)
	if err != nil || !os.SameFile(before, after) || !after.ModTime().Equal(before.ModTime()) {
		t.Error("the file was written")
	}
}

// An edit that grows a file keeps its end; one of a very long line gives a short answer.
func TestLarge(t *testing.T) {
	root, dir := scratch(t, map[string]string{
		"grows": strings.Repeat("x", 148994) + "OLD\nEND\n",
		"long":  strings.Repeat("x", 200000) + "NEEDLE" + strings.Repeat("y", 200000) + "\n",
	})
	if _, err := Edit(root, "grows", str("OLD", strings.Repeat("n", 5000)), Options{}); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "grows")); err != nil || len(b) != 153999 || !bytes.HasSuffix(b, []byte("END\n")) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	r, err := Edit(root, "long", str("NEEDLE", "N2"), Options{})
	if err != nil || len(r.Diff) > MaxDiff || !strings.Contains(r.Diff, "N2") || !strings.Contains(r.Diff, "NEEDLE") {
		t.Errorf("diff of %d bytes, %v: %s", len(r.Diff), err, r.Diff)
	}
	huge, err := os.Create(filepath.Join(dir, "huge"))
	if err != nil {
		t.Fatal(err)
	}
	defer huge.Close()
	if err := huge.Truncate(100 << 20); err != nil {
		t.Fatal(err)
	}
	_, err = Edit(root, "huge", str("a", "b"), Options{})
	wantError(t, err, "too_large", []string{"100 MB"})
	_, err = Write(root, "huge", "x", Options{Overwrite: true})
	wantError(t, err, "too_large", nil)
	_, err = EditCopy(root, "huge", str("a", "b"), Options{})
	wantError(t, err, "too_large", nil)
	if st, err := huge.Stat(); err != nil || st.Size() != 100<<20 {
		t.Error("the huge file changed")
	}
}

// What a killed process left behind goes at the next write, unless somebody still writes it.
func TestSweep(t *testing.T) {
	root, dir := scratch(t, map[string]string{"f": "old\n", tempPrefix + "LEFT.tmp": "x", tempPrefix + "HELD.tmp": "x", tempPrefix + "notes": "mine", ".handrail": "mine"})
	held, err := os.Open(filepath.Join(dir, tempPrefix+"HELD.tmp"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := lockFile(held); err != nil {
		t.Fatal(err)
	}
	d, err := rootFolder(root)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	sweepAt(d, time.Now()) // all are too young
	if n := len(tree(t, dir)); n != 5 {
		t.Fatalf("%d files", n)
	}
	sweepAt(d, time.Now().Add(2*leftAlone))
	wantTree(t, dir, map[string]string{"f": "old\n", tempPrefix + "HELD.tmp": "x", tempPrefix + "notes": "mine", ".handrail": "mine"})
	list, total, err := List(root, ".", 0, 0, false)
	if err != nil || total != 3 {
		t.Errorf("%v, %d, %v", list, total, err)
	}
}

// sweepAt looks through a folder as if it were a certain time, whatever was looked through before.
func sweepAt(d folder, now time.Time) {
	sweptMu.Lock()
	clear(swept)
	sweptMu.Unlock()
	d.sweep(now)
	sweptMu.Lock()
	clear(swept)
	sweptMu.Unlock()
}
