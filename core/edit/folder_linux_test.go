package edit

import (
	"bytes"
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// accessList is an access list as the kernel keeps it (acl(5), linux/posix_acl_xattr.h): the owner, one user more, the
// group, the mask, the others.
func accessList(user uint32, perm uint16) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{1, 6, ^uint32(0)}, {2, perm, user}, {4, 4, ^uint32(0)}, {0x10, 6, ^uint32(0)}, {0x20, 0, ^uint32(0)}} {
		b = binary.LittleEndian.AppendUint16(b, e.tag)
		b = binary.LittleEndian.AppendUint16(b, e.perm)
		b = binary.LittleEndian.AppendUint32(b, e.id)
	}
	return b
}

func attributesOf(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := attributes(f)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for k, v := range list {
		if strings.HasPrefix(k, "user.") || strings.HasPrefix(k, "system.") {
			found[k] = string(v)
		}
	}
	return found
}

func TestAttributesKept(t *testing.T) {
	want := map[string]string{
		"user.plain": "value", "user.empty": "", "user.long": strings.Repeat("x", 3000), "user.com.apple.metadata": "bplist\x00\xff",
		"system.posix_acl_access": string(accessList(12345, 6)),
	}
	root, dir := scratch(t, map[string]string{"f": "old\n"})
	path := filepath.Join(dir, "f")
	for name, value := range want {
		if err := unix.Setxattr(path, name, []byte(value), 0); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	before := attributesOf(t, path)
	if len(before) != len(want) {
		t.Fatalf("the file has %v", before)
	}
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for what, f := range map[string]func() (Result, error){
		"edit":  func() (Result, error) { return Edit(root, "f", []Hunk{line(0, "x")}, Options{}) },
		"write": func() (Result, error) { return Write(root, "f", "x\n", Options{Overwrite: true}) },
		"copy":  func() (Result, error) { return EditCopy(root, "f", []Hunk{line(0, "x")}, Options{}) },
	} {
		r, err := f()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		now, err := os.Stat(filepath.Join(dir, r.Name))
		if got := attributesOf(t, filepath.Join(dir, r.Name)); err != nil || !maps.Equal(got, before) || now.Mode() != st.Mode() {
			t.Errorf("%s: %v %v, want %v %v", what, now.Mode(), got, st.Mode(), before)
		}
	}
}

// An access list that the folder gives to new files doesn't get to an old one that hasn't it.
func TestDefaultAccessList(t *testing.T) {
	root, dir := scratch(t, map[string]string{"f": "old\n"})
	if err := unix.Setxattr(dir, "system.posix_acl_default", accessList(12345, 7), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Edit(root, "f", str("old", "new"), Options{}); err != nil {
		t.Fatal(err)
	}
	if got := attributesOf(t, filepath.Join(dir, "f")); len(got) != 0 {
		t.Errorf("the file got %q", got)
	}
	// A new file gets it.
	if _, err := Write(root, "g", "x", Options{}); err != nil {
		t.Fatal(err)
	}
	if got := attributesOf(t, filepath.Join(dir, "g")); !bytes.Contains([]byte(got["system.posix_acl_access"]), []byte{0x39, 0x30}) {
		t.Errorf("the new file got %q", got)
	}
}

// The owner stays, or the edit is refused: an ordinary user can't give a file away.
func TestOwnerKept(t *testing.T) {
	root, dir := scratch(t, map[string]string{"f": "old\n"})
	path := filepath.Join(dir, "f")
	uid, gid := os.Geteuid(), os.Getegid()
	if uid == 0 {
		uid, gid = 1234, 2345
		if err := os.Chown(path, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Edit(root, "f", str("old", "new"), Options{}); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil || int(st.Uid) != uid || int(st.Gid) != gid {
		t.Errorf("owner %d:%d, want %d:%d", st.Uid, st.Gid, uid, gid)
	}
	if os.Geteuid() != 0 {
		return
	}
	shared := t.TempDir()
	put(t, filepath.Join(shared, "f"), "old\n", false)
	if err := os.Chmod(filepath.Join(shared, "f"), 0o666); err != nil {
		t.Fatal(err)
	}
	asOrdinary(t, shared, func(string) { // the folder is the user's, the file is root's and open to all
		root, err := os.OpenRoot(shared)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		_, err = Edit(root, "f", str("old", "new"), Options{})
		wantError(t, err, "denied", []string{"owner"})
		wantTree(t, shared, map[string]string{"f": "old\n"})
	})
}

// The times of the file are those of the edit.
func TestTimes(t *testing.T) {
	root, dir := scratch(t, map[string]string{"f": "old\n"})
	path := filepath.Join(dir, "f")
	if err := unix.Utimes(path, []unix.Timeval{{Sec: 1e9}, {Sec: 1e9}}); err != nil {
		t.Fatal(err)
	}
	if _, err := Edit(root, "f", str("old", "new"), Options{}); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(path); err != nil || st.ModTime().Unix() < 1.5e9 {
		t.Errorf("modified %v", st.ModTime())
	}
}
