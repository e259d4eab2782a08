package command

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAlwaysAllow(t *testing.T) {
	d := testTools()
	for _, row := range lines(t, "always.txt", 2) {
		p := Analyse(row[0], d.context())
		rule, ok, why := AlwaysAllow(p)
		if want := row[1] == "yes"; ok != want || ok == (why != "") || ok != (rule != Rule{}) {
			t.Errorf("%q: %v %v (%s), want %v", row[0], ok, rule, why, want)
		}
		if ok && !rule.Covers(p) {
			t.Errorf("%q: its own rule doesn't cover it", row[0])
		}
		if (Rule{}).Covers(p) {
			t.Errorf("%q: the zero rule covers it", row[0])
		}
	}
	// A rule holds for the program that it was given for, and only while the user can't change that.
	rule, _, _ := AlwaysAllow(Analyse("basename x", d.context()))
	for script, want := range map[string]bool{"basename y": true, "basename -a y z": true, "wc -l y": false, "basename $(id)": false} {
		if got := rule.Covers(Analyse(script, d.context())); got != want {
			t.Errorf("%s covers %q: %v", rule, script, got)
		}
	}
	d["/evil/basename"] = File{Real: "/evil/basename", ID: FileID{3, 3}, Regular: true, Exec: true}
	swapped := d.context()
	swapped.Path = []string{"/evil", "/usr/bin"}
	if rule.Covers(Analyse("basename y", swapped)) {
		t.Error("another program of the same name is covered")
	}
}

func TestBind(t *testing.T) {
	d := testTools()
	for i, name := range strings.Fields("/w/run /w/first.sh /w/first.py /w/first.js /w/sub/first.sh") {
		d[name] = File{Real: name, ID: FileID{4, uint64(i + 1)}, Regular: true, Exec: true}
	}
	for _, row := range lines(t, "bind.txt", 3) {
		bound, open := Bind(Analyse(row[0], d.context()))
		var got []string
		for _, b := range bound {
			name := filepath.Base(b.Path)
			if b.Script {
				name = "s:" + name
			}
			if b.Mutable {
				name += "!"
			}
			if b.ID == (FileID{}) || b.Real == "" {
				t.Errorf("%q: %s has no identity", row[0], name)
			}
			got = append(got, name)
		}
		if !slices.Equal(got, strings.Fields(row[1])) || (len(open) > 0) != (row[2] == "open") {
			t.Errorf("%q binds %q, open %q; want %q %s", row[0], got, open, row[1], row[2])
		}
	}
}
