//go:build unix

package edit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"handrail/core/hint"
)

// childCommands changes the folder work in dir as one command after another does, for ever, and says each step. Its store is dir/state.
func childCommands(dir string) {
	l := usual
	l.reserve, l.time, l.startTime, l.endTime = 0, time.Hour, time.Hour, time.Hour
	s, err := openSnapshots(SnapshotOptions{Dir: filepath.Join(dir, "state")}, l, func(step string) { fmt.Println(step) })
	if err != nil {
		panic(err)
	}
	work := filepath.Join(dir, "work")
	st, err := statPath(work)
	if err != nil {
		panic(err)
	}
	place := Place{Path: work, Device: st.id.device, Inode: st.id.inode}
	for i := 0; ; i++ {
		w := s.Begin(context.Background(), By{Session: "s", Tool: "bash", Text: "command"}, place)
		fmt.Println("running")
		for range 4 {
			name := fmt.Sprintf("f%d", rand.IntN(6))
			for _, script := range [][]string{
				{"put " + name + " " + strings.Repeat("x", rand.IntN(4000))}, {"rm " + name}, {"mkdir d/" + name}, {"rm d/" + name}, {"mv " + name + " d/moved"}, {"chmod " + name + " 600"},
			}[rand.IntN(6)] {
				_ = act(work, strings.Fields(script)) // some can't be done, as for commands
			}
			fmt.Println("acted")
		}
		w.End()
	}
}

// A process that is killed while commands change a folder, at any point, leaves all that the next one needs: what every command
// changed, the one that ran included, is put back to the last byte.
func TestSnapshotKilled(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(filepath.Join(work, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		if err := os.WriteFile(filepath.Join(work, fmt.Sprintf("f%d", i)), fmt.Appendf(nil, "file %d\n", i), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	first := withoutFolderTimes(picture(t, work))
	for i := range 20 {
		killAfter(t, i+1, "commands", dir) // each time one step further
	}
	s, err := OpenSnapshots(SnapshotOptions{Dir: filepath.Join(dir, "state")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	changes := s.Changes()
	if len(changes) < 3 {
		t.Fatalf("only %d changes are known", len(changes))
	}
	for _, c := range changes { // the newest first
		if u, err := s.Undo(c.ID, false); err != nil || len(u.Left) > 0 {
			t.Fatalf("undoing %+v: %v, %+v", c, err, u.Left)
		}
	}
	compare(t, withoutFolderTimes(picture(t, work)), first) // what changed a folder between two commands is nobody's change
	// Nothing is in the store on which nothing counts.
	for name, c := range s.own.kept {
		if c.bases <= 0 && c.changes <= 0 {
			t.Errorf("%s is left", name)
		}
	}
}

// While something else changes the folder and swaps folders for links, no look and no undo leaves it, and what only the command
// changed is put back.
func TestSnapshotRaces(t *testing.T) {
	files := map[string]string{"stable": "stable\n", "noise": "noise\n", "d/x": "x\n"}
	k := keeping(t, files, nil)
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.MkdirAll(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	const secret = "what nobody granted"
	if err := os.WriteFile(filepath.Join(outside, "x"), []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	before := picture(t, outside)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		d, aside := filepath.Join(k.dir, "d"), filepath.Join(k.dir, "aside")
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			os.WriteFile(filepath.Join(k.dir, "noise"), fmt.Appendf(nil, "%d", i), 0o644)
			if os.Rename(d, aside) == nil {
				os.Symlink(outside, d)
				os.Remove(d)
				os.Rename(aside, d)
			}
			os.Mkdir(filepath.Join(k.dir, "flicker"), 0o755)
			os.Remove(filepath.Join(k.dir, "flicker"))
		}
	}()
	for i := range 25 {
		k.sh("put stable stable")()
		r := k.command(k.sh(fmt.Sprintf("put stable %d", i)))
		if len(r.Changes) == 0 {
			t.Fatalf("nothing is known of command %d: %+v", i, r)
		}
		u, err := k.Undo(r.Changes[len(r.Changes)-1], true)
		if err != nil {
			t.Fatalf("undo of command %d: %v, %+v", i, err, u)
		}
		if b, err := os.ReadFile(filepath.Join(k.dir, "stable")); err != nil || string(b) != "stable\n" {
			t.Fatalf("after undo %d: %q, %v; left %+v", i, b, err, u.Left)
		}
	}
	close(stop)
	<-stopped
	wantPicture(t, outside, before)
	for name := range k.own.kept {
		if b, err := os.ReadFile(filepath.Join(k.state, "snapshots", "kept", name)); err == nil && strings.Contains(string(b), secret) {
			t.Errorf("%s holds what lies outside", name)
		}
	}
	if list, err := filepath.Glob(filepath.Join(k.state, "snapshots", "*", "*")); err != nil || len(list) == 0 {
		t.Errorf("nothing was looked at: %v", err)
	} else {
		for _, path := range list {
			if b, err := os.ReadFile(path); err == nil && strings.Contains(string(b), secret) {
				t.Errorf("%s holds what lies outside", path)
			}
		}
	}
}

// A folder that was swapped for another, or for a link, is not touched by an undo.
func TestSnapshotSwapped(t *testing.T) {
	for _, with := range []string{"folder", "link", "nothing"} {
		t.Run(with, func(t *testing.T) {
			k := keeping(t, site, nil)
			r := k.command(k.sh("rm a.txt;append b.txt more"))
			if err := os.Rename(k.dir, k.dir+"-moved"); err != nil {
				t.Fatal(err)
			}
			moved := picture(t, k.dir+"-moved")
			switch with {
			case "folder":
				if err := os.Mkdir(k.dir, 0o755); err != nil {
					t.Fatal(err)
				}
			case "link":
				if err := os.Symlink(k.dir+"-moved", k.dir); err != nil {
					t.Fatal(err)
				}
			}
			if u, err := k.Undo(r.Changes[0], true); err == nil || len(u.Files) > 0 {
				t.Errorf("undone: %+v, %v", u, err)
			}
			wantPicture(t, k.dir+"-moved", moved)
			if with == "folder" {
				if names, err := os.ReadDir(k.dir); err != nil || len(names) > 0 {
					t.Errorf("the other folder holds %v, %v", names, err)
				}
			}
			// A command there is told that it can't be undone.
			if r := k.command(func() {}); len(r.Notes) == 0 {
				t.Errorf("a command in another folder: %+v", r)
			}
		})
	}
}

// Where there is no room, nothing is lost of what was kept, and what can't be put back is named.
func TestSnapshotNoRoom(t *testing.T) {
	large := strings.Repeat("x", 100<<10)
	for _, c := range []struct {
		name   string
		change func(*limits)
	}{
		{"a small store", func(l *limits) { l.bytes = 64 << 10 }},
		{"a full disk", func(l *limits) { l.reserve = 1 << 62 }},
		{"a large file", func(l *limits) { l.file = 32 << 10 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := keeping(t, map[string]string{"large": large, "small": "small\n"}, c.change)
			if k.own.clones {
				t.Logf("this file system shares blocks, so that a large file takes no room") // and is kept
			}
			r := k.command(k.sh("put large gone;put new text"))
			if k.own.clones && c.name == "a large file" {
				return
			}
			told := brief(r.Files)
			if !strings.Contains(told, "changed large (") || !strings.Contains(told, "created new") {
				t.Fatalf("told %q, notes %q", told, r.Notes)
			}
			u, err := k.Undo(r.Changes[0], false)
			if err == nil || len(u.Files) > 0 {
				t.Errorf("undone without a word: %+v", u)
			}
			u, err = k.Undo(r.Changes[0], true)
			if err != nil || len(u.Left) != 1 || u.Left[0].Why == "" {
				t.Errorf("the rest: %+v, %v", u, err)
			}
			if _, err := os.Stat(filepath.Join(k.dir, "new")); err == nil {
				t.Error("the new file is still there")
			}
			if b, err := os.ReadFile(filepath.Join(k.dir, "large")); err != nil || string(b) != "gone\n" {
				t.Errorf("large is %.20q, %v", b, err)
			}
		})
	}
}

// The oldest changes go first when the store is full, and then aren't offered any more.
func TestSnapshotOldestGo(t *testing.T) {
	k := keeping(t, map[string]string{"f": "begin\n"}, func(l *limits) { l.bytes = 64 << 10; l.file = 32 << 10 })
	if k.own.clones {
		t.Log("this file system shares blocks")
	}
	var ids []string
	for i := range 20 {
		text := strings.Repeat(string(rune('a'+i)), 8<<10)
		r := k.command(k.sh("put f " + text))
		ids = append(ids, r.Changes...)
	}
	if k.own.used > 64<<10 {
		t.Errorf("%d bytes are kept", k.own.used)
	}
	changes := k.Changes()
	if len(changes) == 0 || len(changes) >= len(ids) || changes[0].ID != ids[len(ids)-1] {
		t.Fatalf("%d changes of %d", len(changes), len(ids))
	}
	if _, err := k.Undo(ids[0], true); err == nil {
		t.Error("what went is undone")
	}
	if u, err := k.Undo(changes[0].ID, false); err != nil || len(u.Left) > 0 {
		t.Errorf("the newest: %v, %+v", err, u)
	}
}

// A folder with too many files is kept once a session, and put back as a whole; the report says so.
func TestSnapshotTooMany(t *testing.T) {
	files := map[string]string{}
	for i := range 60 {
		files[fmt.Sprintf("d%d/f%d", i%7, i)] = fmt.Sprintf("file %d\n", i)
	}
	k := keeping(t, files, func(l *limits) { l.files = 50 })
	if !k.Limited(k.place, 60, 1000, false) || k.Limited(k.place, 10, 1000, false) {
		t.Error("what the question says of undo is wrong")
	}
	before := withoutFolderTimes(picture(t, k.dir))
	r := k.command(k.sh("rm d1;append d2/f2 more;put new text"))
	if len(r.Changes) != 1 || len(r.Notes) == 0 || !r.Partly {
		t.Fatalf("report %+v", r)
	}
	k.command(k.sh("rm d3"))
	u, err := k.Undo(r.Changes[0], false)
	if err != nil || len(u.Left) > 0 {
		t.Fatalf("undo: %v, %+v", err, u)
	}
	compare(t, withoutFolderTimes(picture(t, k.dir)), before)
	l := usual
	if l.files != 20_000 || l.time != 2*time.Second {
		t.Errorf("the usual limits are %+v", l)
	}
}

// An undo that is cut off at any step is whole at the next start: what was done of it can be taken back.
func TestUndoCutOff(t *testing.T) {
	for at := 1; at < 6; at++ {
		k := keeping(t, site, nil)
		r := k.command(k.sh("rm d/x;append a.txt more;put new text;mv b.txt c.txt"))
		after := withoutFolderTimes(picture(t, k.dir))
		steps := 0
		k.testOnlyStep = func(step string) {
			if steps++; step == "step" && steps == at {
				panic("cut off")
			}
		}
		func() {
			defer func() { recover() }()
			k.Undo(r.Changes[0], false)
		}()
		undo := openUndo(t, filepath.Join(k.state, "undo2"), 1<<20)
		l := usual
		l.reserve, l.time, l.endTime = 0, time.Hour, time.Hour
		dir := copyStore(t, filepath.Join(k.state, "snapshots"))
		s, err := openSnapshots(SnapshotOptions{Dir: dir, Undo: undo}, l, nil)
		if err != nil {
			t.Fatal(err)
		}
		changes := s.Changes()
		if len(changes) == 0 {
			t.Fatal("nothing is known")
		}
		if changes[0].ID != r.Changes[0] { // what was done of the undo is a change
			if u, err := s.Undo(changes[0].ID, false); err != nil || len(u.Left) > 0 {
				t.Errorf("cut at %d: %v, %+v", at, err, u)
			}
			compare(t, withoutFolderTimes(picture(t, k.dir)), after)
		} else if _, err := s.Undo(r.Changes[0], false); err != nil && hint.Code(err) == "internal" {
			t.Errorf("cut at %d: %v", at, err)
		}
		s.Close()
	}
}

// withoutFolderTimes leaves the times of folders out of a picture.
func withoutFolderTimes(p map[string]string) map[string]string {
	for name, text := range p {
		if strings.HasPrefix(text, "d") {
			p[name], _, _ = strings.Cut(text, " ")
		}
	}
	return p
}

func compare(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s is %.80q, want %.80q", name, got[name], want[name])
		}
	}
	for name := range got {
		if want[name] == "" {
			t.Errorf("%s is there: %.80q", name, got[name])
		}
	}
}

// copyStore gives a copy of a store that a process, cut off, still has open.
func copyStore(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "snapshots")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(to, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}
