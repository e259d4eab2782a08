package edit

import (
	"os"
	"path/filepath"
	"testing"

	"handrail/core/hint"
)

func TestReplaceWhole(t *testing.T) {
	for _, c := range []struct {
		name         string
		on           string // what is on the disk; "" is no file
		was, content []byte
		code         string
		want         string // afterwards
	}{
		{"replaced", "\xef\xbb\xbfa\r\n\x00\xff", []byte("\xef\xbb\xbfa\r\n\x00\xff"), []byte("b\nc\xfe"), "", "b\nc\xfe"},
		{"made empty", "a", []byte("a"), []byte{}, "", ""},
		{"another by now", "b", []byte("a"), []byte("c"), "stale", "b"},
		{"gone by now", "", []byte("a"), []byte("c"), "not_found", ""},
		{"made", "", nil, []byte("a"), "", "a"},
		{"made by another", "b", nil, []byte("a"), "stale", "b"},
		{"taken away", "a", []byte("a"), nil, "", ""},
		{"taken away, another by now", "b", []byte("a"), nil, "stale", "b"},
		{"nothing to take away", "", nil, nil, "not_found", ""},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "settings")
		if c.on != "" {
			if err := os.WriteFile(file, []byte(c.on), 0o640); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(file, 0o640); err != nil {
				t.Fatal(err)
			}
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		if err := ReplaceWhole(root, "settings", c.was, c.content); hint.Code(err) != c.code {
			t.Errorf("%s: %v", c.name, err)
		}
		got, err := os.ReadFile(file)
		if string(got) != c.want || os.IsNotExist(err) != (c.want == "" && c.content == nil || c.name == "gone by now") {
			t.Errorf("%s: now %q, %v", c.name, got, err)
		}
		mode := os.FileMode(0o640)
		if c.on == "" {
			mode = 0o600
		}
		if st, err := os.Stat(file); err == nil && st.Mode().Perm() != mode {
			t.Errorf("%s: mode %v", c.name, st.Mode())
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 1 {
			t.Errorf("%s: left behind: %v %v", c.name, left, err)
		}
	}
}

func TestReplaceWholeNot(t *testing.T) {
	dir := t.TempDir()
	for name, err := range map[string]error{
		"link":   os.Symlink("file", filepath.Join(dir, "link")),
		"file":   os.WriteFile(filepath.Join(dir, "file"), []byte("a"), 0o600),
		"folder": os.Mkdir(filepath.Join(dir, "folder"), 0o700),
		"locked": os.WriteFile(filepath.Join(dir, "locked"), []byte("a"), 0o400),
		"named":  os.WriteFile(filepath.Join(dir, "named"), []byte("a"), 0o600),
		"twice":  os.Link(filepath.Join(dir, "named"), filepath.Join(dir, "twice")),
	} {
		if err != nil {
			t.Fatal(name, err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, code := range map[string]string{"link": "is_link", "folder": "not_regular", "locked": "read_only", "named": "hard_link", "none": "not_found", "no/ne": "not_found"} {
		text, err := ReadWhole(root, name)
		if name == "locked" || name == "named" {
			if err != nil || string(text) != "a" {
				t.Errorf("reading %s: %q %v", name, text, err)
			}
		} else if hint.Code(err) != code {
			t.Errorf("reading %s: %v", name, err)
		}
		if err := ReplaceWhole(root, name, []byte("a"), []byte("b")); hint.Code(err) != code {
			t.Errorf("replacing %s: %v", name, err)
		}
	}
	if err := ReplaceWhole(root, "no/ne", nil, []byte("b")); hint.Code(err) != "not_found" {
		t.Errorf("making a folder: %v", err)
	}
}
