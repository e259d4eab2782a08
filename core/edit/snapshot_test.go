package edit

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"handrail/core/hint"
)

// kept is a scratch state folder with its Snapshots, and a folder that commands change.
type kept struct {
	t     testing.TB
	state string
	dir   string
	place Place
	*Snapshots
}

func placeOf(t testing.TB, path string, file bool) Place {
	t.Helper()
	holder := path
	if file {
		holder = filepath.Dir(path)
	}
	st, err := statPath(holder)
	if err != nil {
		t.Fatal(err)
	}
	return Place{Path: path, Device: st.id.device, Inode: st.id.inode, File: file}
}

// keeping makes a folder with files in it and a Snapshots with limits that change may alter.
func keeping(t testing.TB, files map[string]string, change func(*limits)) *kept {
	t.Helper()
	_, dir := scratch(t, files)
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	k := &kept{t: t, state: filepath.Join(t.TempDir(), "state"), dir: dir, place: placeOf(t, dir, false)}
	k.open(change)
	t.Cleanup(func() {
		k.Close()
		filepath.WalkDir(k.dir, func(path string, d fs.DirEntry, err error) error { // so that an ordinary user can remove it
			if d != nil && d.IsDir() {
				os.Chmod(path, 0o700)
			}
			return nil
		})
	})
	return k
}

func (k *kept) open(change func(*limits)) {
	k.t.Helper()
	l := usual
	l.reserve, l.time, l.startTime, l.endTime = 0, time.Hour, time.Hour, time.Hour
	if change != nil {
		change(&l)
	}
	undo := openUndo(k.t, filepath.Join(k.state, "undo"), 1<<20)
	s, err := openSnapshots(SnapshotOptions{Dir: filepath.Join(k.state, "snapshots"), Undo: undo}, l, nil)
	if err != nil {
		k.t.Fatal(err)
	}
	k.Snapshots = s
}

// reopen is what happens when the app is started again.
func (k *kept) reopen() {
	k.t.Helper()
	if err := k.Close(); err != nil {
		k.t.Fatal(err)
	}
	k.open(nil)
}

// command lets f change the folder as a command of a session does.
func (k *kept) command(f func()) Report {
	k.t.Helper()
	w := k.Begin(context.Background(), By{Session: "s", Tool: "bash", Text: "command"}, k.place)
	f()
	return w.End()
}

// sh changes the folder by lines of "put name text", "append name text", "rm name", "mkdir name", "mv from to", "chmod name mode",
// "link name target", "hard name other", "touch name".
func (k *kept) sh(script string) func() {
	return func() {
		k.t.Helper()
		for line := range strings.SplitSeq(script, ";") {
			if w := strings.Fields(line); len(w) > 0 {
				if err := act(k.dir, w); err != nil {
					k.t.Fatalf("%s: %v", line, err)
				}
			}
		}
	}
}

func act(dir string, w []string) error {
	at := func(i int) string { return filepath.Join(dir, w[i]) }
	switch w[0] {
	case "put":
		return os.WriteFile(at(1), []byte(strings.Join(w[2:], " ")+"\n"), 0o644)
	case "replace":
		if err := os.WriteFile(at(1)+".new", []byte(strings.Join(w[2:], " ")+"\n"), 0o600); err != nil {
			return err
		}
		return os.Rename(at(1)+".new", at(1))
	case "append":
		f, err := os.OpenFile(at(1), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteString(strings.Join(w[2:], " ") + "\n")
		return err
	case "rm":
		return os.RemoveAll(at(1))
	case "mkdir":
		return os.MkdirAll(at(1), 0o755)
	case "mv":
		return os.Rename(at(1), at(2))
	case "chmod":
		var mode os.FileMode
		fmt.Sscanf(w[2], "%o", &mode)
		return os.Chmod(at(1), mode)
	case "link":
		return os.Symlink(w[2], at(1))
	case "hard":
		return os.Link(at(2), at(1))
	case "touch":
		return os.Chtimes(at(1), time.Time{}, time.Unix(1, 5))
	}
	return fmt.Errorf("can't do %q", w)
}

// picture is everything that an undo puts back: kinds, modes, times, contents and targets.
func picture(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		text := fmt.Sprintf("%v %s", info.Mode(), info.ModTime().Format("05.000000000"))
		switch {
		case info.Mode().IsRegular():
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += " " + string(b)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			text += " -> " + target
		}
		found[rel] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func wantPicture(t testing.TB, dir string, want map[string]string) {
	t.Helper()
	got := picture(t, dir)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			t.Errorf("%s is %q, want %q", name, got[name], want[name])
		}
	}
	for name := range got {
		if want[name] == "" {
			t.Errorf("%s is there: %q", name, got[name])
		}
	}
}

func brief(files []ChangedFile) string {
	var list []string
	for _, f := range files {
		text := string(f.How) + " " + f.Name
		if f.From != "" {
			text += " from " + f.From
		}
		if f.Executable {
			text += " x"
		}
		if f.Lost != "" {
			text += " (" + f.Lost + ")"
		}
		list = append(list, text)
	}
	return strings.Join(list, "; ")
}

var site = map[string]string{
	"a.txt": "alpha\n", "b.txt": "beta\n", "empty": "", "d/x": "x\n", "d/y": "y\n", "d/e/z": "z\n", "d/link": "-> x", "d.txt": "dot\n", "bare/": "",
	"naïve/ไทย.txt": "ไทย\n", ".git/HEAD": "ref\n", ".git/objects/aa": "blob\n",
}

// Each row is one command. What it changed is told, undone to the last byte, mode and time, and the undo undone.
func TestSnapshotUndo(t *testing.T) {
	for _, c := range []struct {
		name, script, told string
	}{
		{"change", "append a.txt more", "changed a.txt"},
		{"change to the same size and time of day", "put a.txt ALPHA", "changed a.txt"},
		{"replace", "replace a.txt other", "changed a.txt"},
		{"empty and fill", "put empty full", "changed empty"},
		{"delete", "rm a.txt", "deleted a.txt"},
		{"delete an empty file", "rm empty", "deleted empty"},
		{"delete all", "rm a.txt;rm b.txt;rm empty;rm d;rm d.txt;rm bare;rm naïve;rm .git", "deleted .git; deleted .git/HEAD; deleted .git/objects; deleted .git/objects/aa; " +
			"deleted a.txt; deleted b.txt; deleted bare; deleted d; deleted d/e; deleted d/e/z; deleted d/link; deleted d/x; deleted d/y; deleted d.txt; deleted empty; deleted naïve; deleted naïve/ไทย.txt"},
		{"create", "put new text", "created new"},
		{"create deep", "mkdir n/o/p;put n/o/p/q text;link n/l q", "created n; created n/l; created n/o; created n/o/p; created n/o/p/q"},
		{"rename", "mv a.txt c.txt", "renamed c.txt from a.txt"},
		{"rename onto another", "mv a.txt b.txt", "deleted a.txt; changed b.txt"},
		{"rename a folder", "mv d moved", "renamed moved from d"},
		{"rename a folder and change in it", "mv d moved;append moved/x more;put moved/new text", "deleted d/x; renamed moved from d; created moved/new; created moved/x"},
		{"mode", "chmod a.txt 755", "changed a.txt x"},
		{"mode of a folder", "chmod d 500", "changed d"},
		{"closed folder", "mkdir n;put n/f text;chmod n 500", "created n; created n/f"},
		{"times", "touch a.txt", "changed a.txt"},
		{"another name", "hard other a.txt", "created other"},
		{"link changed", "rm d/link;link d/link y", "changed d/link"},
		{"link made a file", "rm d/link;put d/link text", "changed d/link"},
		{"file made a folder", "rm a.txt;mkdir a.txt;put a.txt/in text", "changed a.txt; created a.txt/in"},
		{"folder made a file", "rm d;put d text", "changed d; deleted d/e; deleted d/e/z; deleted d/link; deleted d/x; deleted d/y"},
		{"folder made a link", "rm d;link d /etc", "changed d; deleted d/e; deleted d/e/z; deleted d/link; deleted d/x; deleted d/y"},
		{"everything at once", "rm d/x;put new text;append b.txt more;mv a.txt d/a.txt;chmod empty 711",
			"changed b.txt; renamed d/a.txt from a.txt; deleted d/x; changed empty x; created new"},
		{"there and back", "mv a.txt c.txt;mv c.txt a.txt", ""},
		{"made and removed", "put new text;rm new", ""},
		{"nothing", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := keeping(t, site, nil)
			if err := os.Chtimes(filepath.Join(k.dir, "d"), time.Time{}, time.Unix(1000, 77)); err != nil {
				t.Fatal(err)
			}
			before := picture(t, k.dir)
			r := k.command(k.sh(c.script))
			if got := brief(r.Files); got != c.told {
				t.Errorf("told %q, want %q", got, c.told)
			}
			if len(r.Notes) > 0 || r.Shared || r.Partly {
				t.Errorf("report %+v", r)
			}
			if c.told == "" {
				if len(r.Changes) > 0 {
					t.Errorf("changes %v", k.Changes())
				}
				return
			}
			after := picture(t, k.dir)
			id := r.Changes[0]
			for range 2 {
				u, err := k.Undo(id, false)
				if err != nil || len(u.Left)+len(u.Notes) > 0 {
					t.Fatalf("undo: %v, %+v", err, u)
				}
				wantPicture(t, k.dir, before)
				u, err = k.Undo(u.ID, false)
				if err != nil || len(u.Left)+len(u.Notes) > 0 {
					t.Fatalf("undo of the undo: %v, %+v", err, u)
				}
				wantPicture(t, k.dir, after)
				id = u.ID // undoing this one is the same again
				u, err = k.Undo(id, false)
				if err != nil {
					t.Fatalf("undo of that: %v, %+v", err, u)
				}
				wantPicture(t, k.dir, before)
				if _, err := k.Undo(id, false); hint.Code(err) != "nothing_to_undo" {
					t.Fatalf("undone twice: %v", err)
				}
				if u, err = k.Undo(u.ID, false); err != nil {
					t.Fatal(err)
				}
				wantPicture(t, k.dir, after)
				k.reopen() // and all of it once more, with what is on the disk
				id = r.Changes[0]
			}
		})
	}
}

// The value that keeps a folder out of Time Machine is what `tmutil addexclusion` writes: a binary property list of one
// string, byte for byte as plutil makes it.
func TestExcluded(t *testing.T) {
	want := "bplist00_\x10\x11com.apple.backupd\x08" + "\x00\x00\x00\x00\x00\x00\x01\x01" + "\x00\x00\x00\x00\x00\x00\x00\x01" + "\x00\x00\x00\x00\x00\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x1c"
	if got := string(excluded()); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
