package tool

import (
	"fmt"
	"strings"
	"testing"
)

func TestKeys(t *testing.T) {
	cases := []struct{ name, normal, application string }{ // application "": the same
		{"Escape", "\x1b", ""}, {"Esc", "\x1b", ""}, {"escape", "\x1b", ""}, {"C-[", "\x1b", ""}, {"^[", "\x1b", ""},
		{"Tab", "\t", ""}, {"C-Tab", "\t", ""}, {"BTab", "\x1b[Z", ""}, {"S-Tab", "\x1b[Z", ""},
		{"Backspace", "\x7f", ""}, {"BSpace", "\x7f", ""}, {"C-?", "\x7f", ""},
		{"Enter", "\r", ""}, {"Return", "\r", ""}, {"C-m", "\r", ""}, {"Space", " ", ""}, {"C-Space", "\x00", ""}, {"C-@", "\x00", ""},
		{"Up", "\x1b[A", "\x1bOA"}, {"down", "\x1b[B", "\x1bOB"}, {"RIGHT", "\x1b[C", "\x1bOC"}, {"Left", "\x1b[D", "\x1bOD"},
		{"Home", "\x1b[1~", "\x1bOH"}, {"End", "\x1b[4~", "\x1bOF"},
		{"PageUp", "\x1b[5~", ""}, {"PgUp", "\x1b[5~", ""}, {"PPage", "\x1b[5~", ""}, {"PageDown", "\x1b[6~", ""}, {"PgDn", "\x1b[6~", ""}, {"NPage", "\x1b[6~", ""},
		{"Insert", "\x1b[2~", ""}, {"IC", "\x1b[2~", ""}, {"Delete", "\x1b[3~", ""}, {"Del", "\x1b[3~", ""}, {"DC", "\x1b[3~", ""},
		{"F1", "\x1bOP", ""}, {"F4", "\x1bOS", ""}, {"F5", "\x1b[15~", ""}, {"f10", "\x1b[21~", ""}, {"F11", "\x1b[23~", ""}, {"F12", "\x1b[24~", ""}, {"F13", "F13", ""},
		{"S-Up", "\x1b[1;2A", ""}, {"M-Up", "\x1b[1;3A", ""}, {"C-Right", "\x1b[1;5C", ""}, {"C-Up", "\x1b[1;5A", ""}, {"C-M-S-Left", "\x1b[1;8D", ""}, {"C-C-Up", "\x1b[1;5A", ""},
		{"C-Home", "\x1b[1;5H", ""}, {"S-End", "\x1b[1;2F", ""}, {"C-Delete", "\x1b[3;5~", ""}, {"S-PageUp", "\x1b[5;2~", ""},
		{"S-F5", "\x1b[15~", ""}, {"C-F1", "\x1bOP", ""}, {"M-F1", "\x1b\x1bOP", ""},
		{"KPEnter", "\x1bOM", ""}, {"KP0", "\x1bOp", ""}, {"KP5", "\x1bOu", ""}, {"KP9", "\x1bOy", ""}, {"KP+", "\x1bOk", ""}, {"KP-", "\x1bOm", ""}, {"KP*", "\x1bOj", ""}, {"KP/", "\x1bOo", ""}, {"KP.", "\x1bOn", ""},
		{"M-x", "\x1bx", ""}, {"M-X", "\x1bX", ""}, {"M-Enter", "\x1b\r", ""}, {"M-Space", "\x1b ", ""}, {"C-M-x", "\x1b\x18", ""}, {"M-C-c", "\x1b\x03", ""},
		{"C-c", "\x03", ""}, {"C-C", "\x03", ""}, {"^c", "\x03", ""}, {"^D", "\x04", ""}, {"C-\\", "\x1c", ""}, {"C-_", "\x1f", ""}, {"c-a", "\x01", ""},
		{"S-a", "A", ""}, {"C-1", "1", ""}, {"C-é", "é", ""}, {"S-é", "É", ""}, {"M-ก", "\x1bก", ""},
		{"a", "a", ""}, {"hello", "hello", ""}, {"C-", "C-", ""}, {"-", "-", ""}, {"^", "^", ""}, {"^^", "\x1e", ""}, {"C--", "-", ""}, {"", "", ""},
	}
	for _, c := range cases {
		if c.application == "" {
			c.application = c.normal
		}
		for mode, want := range map[cursorMode]string{cursorNormal: c.normal, cursorApplication: c.application} {
			if got, warning, needs := keyBytes(c.name, mode); got != want || warning != "" || needs {
				t.Errorf("%q in mode %d: %q %q %v, want %q", c.name, mode, got, warning, needs, want)
			}
		}
		if _, _, needs := keyBytes(c.name, cursorUnknown); needs != (c.application != c.normal) {
			t.Errorf("%q in an unknown mode: %v", c.name, needs)
		}
	}
	for _, name := range []string{"C-hello", "M-unknown", "S-F99"} {
		if got, warning, _ := keyBytes(name, cursorNormal); warning == "" || strings.HasPrefix(got, "\x1b") {
			t.Errorf("%q: %q without a warning", name, got)
		}
	}
	for text, want := range map[string]int{"0d": 13, "0x0a": 10, "0X1B": 27, "7": 7, "ff": 255, "FF": 255, "zz": -1, "5b41": -1, "100": -1, "0x1b 0x5b": -1, "": -1, "0x": -1, "-1": -1, "g0": -1, "@a": -1} {
		b, ok := hexByte(text)
		if ok != (want >= 0) || ok && int(b) != want {
			t.Errorf("hex %q: %d %v", text, b, ok)
		}
	}
	fmt.Printf("keys cases: %d\n", len(cases))
}

func TestReadable(t *testing.T) {
	for in, want := range map[string]string{
		"plain\n": "plain\n", "a\r\nb\r\n": "a\nb\n", "10%\r20%\rdone\n": "done\n", "\x1b[31mred\x1b[0m": "red", "\x1b]0;title\x07x": "x", "a\x00b\x07": `a\x00b\x07`,
		"a\u200bb\u202ec": "abc", "\xff": "\uFFFD", "ไทย é": "ไทย é", "a\tb": "a\tb", "\x7f\u0085": `\x7f\x85`, "": "", "no end": "no end",
	} {
		if got := readable([]byte(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
