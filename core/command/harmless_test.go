package command

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// A shell script is harmless if each of its commands is one that a lasting rule could be offered for.
func TestHarmlessScript(t *testing.T) {
	const first = "#!/bin/sh\n"
	rows := 0
	for _, c := range []struct {
		content string
		want    bool
	}{
		{first + "wc -l a.txt\n", true},
		{first + "# counts\nwc -l a.txt b.txt | tail -1\nbasename /a/b && stat -c %s a.txt || true\n! test -e x\n: \n", true},
		{"#!/bin/bash\nwc -l a.txt", true},
		{"#! /usr/bin/sh\npwd\n", true},
		{"", false},
		{first, false},
		{"wc -l a.txt\n", false}, // by its own name it would run in whatever shell starts it
		{"#!/usr/bin/env sh\nwc -l a.txt\n", false},
		{"#!/bin/sh -x\nwc -l a.txt\n", false},
		{"#!/w/sh\nwc -l a.txt\n", false},
		{"#!/usr/bin/python3\nwc\n", false},
		{"#!/bin/zsh\nwc -l a.txt\n", false},
		{first + "rm a.txt\n", false},
		{first + "wc -l a.txt > b\n", false},
		{first + "wc -l \"$1\"\n", false},
		{first + "wc -l $(cat list)\n", false},
		{first + "wc -l *.txt\n", false},
		{first + "cd /; wc -l a.txt\n", false},
		{first + ". ./lib.sh\n", false},
		{first + "./other.sh\n", false},
		{first + "sh ./other.sh\n", false},
		{first + "sh -c 'wc a.txt'\n", false},
		{first + "python3 -c 1\n", false},
		{first + "awk 1 a.txt\n", false},
		{first + "git status\n", false},
		{first + "find . -delete\n", false},
		{first + "find . -exec wc {} \\;\n", false},
		{first + "env wc a.txt\n", false},
		{first + "PATH=/evil wc a.txt\n", false},
		{first + "wc() { rm a; }\nwc a.txt\n", false},
		{first + "alias wc=rm\nwc a.txt\n", false},
		{first + "eval wc a.txt\n", false},
		{first + "trap 'rm a' EXIT\nwc a.txt\n", false},
		{first + "exec wc a.txt\n", false},
		{first + "wc a.txt &\n", false},
		{first + "cat <<E\nx\nE\n", false},
		{first + "if true; then wc a.txt; fi\n", false},
		{first + "wc a.txt\x00\n", false},
		{first + "wc a.txt\r\n", false},
		{first + "wc 'a\n", false},
		{first + strings.Repeat("wc a.txt\n", MaxHarmless/9), false},
	} {
		d := testTools()
		for i, p := range strings.Fields("/bin/sh /bin/bash /w/sh") {
			d[p] = File{Real: p, ID: FileID{9, uint64(i + 1)}, Regular: true, Exec: true}
		}
		d["/w/run.sh"] = File{Real: "/w/run.sh", ID: FileID{9, 9}, Regular: true, Exec: true}
		read := func(path string) ([]byte, error) {
			if path != "/w/run.sh" {
				return nil, os.ErrNotExist
			}
			return []byte(c.content), nil
		}
		for _, script := range []string{"./run.sh", "/w/run.sh", "./run.sh with arguments"} {
			rows++
			rule, ok, why := HarmlessScript(Analyse(script, d.context()), read)
			if ok != c.want || ok == (why != "") || ok && (rule.Script != "/w/run.sh" || !strings.HasSuffix(rule.Program, "sh")) {
				t.Errorf("%q, %q: %v %v (%s), want %v", script, c.content, ok, rule, why, c.want)
			}
		}
		if rule, ok, why := HarmlessScript(Analyse("sh ./run.sh", d.context()), read); strings.HasPrefix(c.content, first) && ok != c.want {
			t.Errorf("sh, %q: %v %v (%s), want %v", c.content, ok, rule, why, c.want)
		}
		// Whatever stands in the script, none of these runs it alone.
		for _, script := range []string{"run.sh", "sh run.sh", "sh ./run.sh > f", "./run.sh; ls", "./run.sh | wc", "nice ./run.sh", "A=1 ./run.sh", ". ./run.sh", "source ./run.sh", "bash -l ./run.sh",
			"sh ./other.sh", "/evil/sh ./run.sh", "python3 ./run.sh", "./run.sh $x", "./run.sh *", "sh < ./run.sh", "sh -c ./run.sh", "sh -s ./run.sh", "zsh ./run.sh", "exec ./run.sh", "sh ./run.sh &"} {
			rows++
			if rule, ok, _ := HarmlessScript(Analyse(script, d.context()), read); ok {
				t.Errorf("%q, %q: %v", script, c.content, rule)
			}
		}
	}
	fmt.Printf("harmless scripts cases: %d\n", rows)
	// A shell that the user can change is none of the system's.
	d := testTools()
	d["/bin/sh"] = File{Real: "/w/sh", Regular: true, Exec: true}
	d["/w/run.sh"] = File{Real: "/w/run.sh", Regular: true, Exec: true}
	if rule, ok, _ := HarmlessScript(Analyse("./run.sh", d.context()), func(string) ([]byte, error) { return []byte(first + "wc a.txt\n"), nil }); ok {
		t.Errorf("with another shell behind a link: %v", rule)
	}
}
