package tool

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// key is what a terminal sends for a key that has a name: a plain sequence, or a CSI sequence that takes modifiers (ECMA-48 and
// xterm's control sequences, "PC-Style Function Keys").
type key struct {
	plain string
	// application is sent instead in application cursor key mode; "" if the mode changes nothing.
	application string
	// number and final make the sequence with modifiers: ESC [ number ; modifiers final. final 0: the key takes none.
	number int
	final  byte
}

// keyNames are tmux's names of keys, in small letters.
var keyNames = func() map[string]key {
	m := map[string]key{
		"enter": {plain: "\r"}, "tab": {plain: "\t"}, "btab": {plain: "\x1b[Z"}, "escape": {plain: "\x1b"}, "space": {plain: " "}, "bspace": {plain: "\x7f"},
		"home": {"\x1b[1~", "\x1bOH", 1, 'H'}, "end": {"\x1b[4~", "\x1bOF", 1, 'F'}, "insert": {"\x1b[2~", "", 2, '~'}, "delete": {"\x1b[3~", "", 3, '~'},
		"pageup": {"\x1b[5~", "", 5, '~'}, "pagedown": {"\x1b[6~", "", 6, '~'}, "kpenter": {plain: "\x1bOM"},
	}
	for i, name := range []string{"up", "down", "right", "left"} {
		c := string(rune('A' + i))
		m[name] = key{"\x1b[" + c, "\x1bO" + c, 1, c[0]}
	}
	for i := range 4 {
		m[fmt.Sprintf("f%d", i+1)] = key{plain: "\x1bO" + string(rune('P'+i))}
	}
	for i, n := range []int{15, 17, 18, 19, 20, 21, 23, 24} {
		m[fmt.Sprintf("f%d", i+5)] = key{plain: fmt.Sprintf("\x1b[%d~", n)}
	}
	for i := range 10 {
		m[fmt.Sprintf("kp%d", i)] = key{plain: "\x1bO" + string(rune('p'+i))}
	}
	for name, c := range map[string]string{"kp*": "j", "kp+": "k", "kp-": "m", "kp.": "n", "kp/": "o"} {
		m[name] = key{plain: "\x1bO" + c}
	}
	for name, same := range map[string]string{"return": "enter", "esc": "escape", "backspace": "bspace", "pgup": "pageup", "ppage": "pageup", "pgdn": "pagedown", "pgdown": "pagedown",
		"npage": "pagedown", "ic": "insert", "del": "delete", "dc": "delete"} {
		m[name] = m[same]
	}
	return m
}()

// cursorMode says which sequences a session's program wants for cursor keys.
type cursorMode uint8

const (
	cursorUnknown cursorMode = iota
	cursorNormal
	cursorApplication
)

// keyBytes gives what a terminal sends for a key by its name: "Enter", "C-c", "M-x", "S-Up", "^d", or any text. needsMode says
// that it depends on the cursor key mode, which isn't known. warning tells of modifiers that were left out.
func keyBytes(name string, mode cursorMode) (seq, warning string, needsMode bool) {
	var shift, alt, ctrl bool
	rest := name
	for len(rest) > 2 && rest[1] == '-' && strings.IndexByte("cCmMsS", rest[0]) >= 0 {
		switch rest[0] | 0x20 {
		case 'c':
			ctrl = true
		case 'm':
			alt = true
		case 's':
			shift = true
		}
		rest = rest[2:]
	}
	if len(rest) == 2 && rest[0] == '^' {
		ctrl, rest = true, rest[1:]
	}
	escape := ""
	if alt {
		escape = "\x1b"
	}
	modified := shift || alt || ctrl
	k, named := keyNames[strings.ToLower(rest)]
	switch {
	case named && k.final != 0 && modified:
		m := 1
		for i, on := range []bool{shift, alt, ctrl} {
			if on {
				m += 1 << i
			}
		}
		return fmt.Sprintf("\x1b[%d;%d%c", k.number, m, k.final), "", false
	case named && k.application != "" && mode == cursorUnknown:
		return "", "", true
	case named && k.application != "" && mode == cursorApplication:
		return k.application, "", false
	case named && shift && k.plain == "\t":
		return escape + "\x1b[Z", "", false
	case named && ctrl && k.plain == " ":
		return escape + "\x00", "", false
	case named:
		return escape + k.plain, "", false
	}
	if r, size := utf8.DecodeRuneInString(rest); modified && size == len(rest) && size > 0 {
		if shift {
			rest = strings.ToUpper(rest)
			r, _ = utf8.DecodeRuneInString(rest)
		}
		switch {
		case ctrl && r == '?':
			rest = "\x7f"
		case ctrl && (r >= '@' && r <= '_' || r >= 'a' && r <= 'z'):
			rest = string(rune(r & 0x1f))
		}
		return escape + rest, "", false
	}
	if modified && rest != "" {
		warning = fmt.Sprintf("Unknown key %q for modifiers; sending literal.", rest)
	}
	return rest, warning, false
}

// hexByte reads one byte in hex: "0d", "0x0A".
func hexByte(s string) (b byte, ok bool) {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "0x"), "0X")
	if len(s) == 0 || len(s) > 2 {
		return 0, false
	}
	for i := range len(s) {
		v := strings.IndexByte("0123456789abcdef", s[i]|0x20)
		if s[i] < '0' || v < 0 {
			return 0, false
		}
		b = b<<4 | byte(v)
	}
	return b, true
}
