package broker

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"handrail/core/command"
	"handrail/core/hint"
)

// Limits of what an errand takes.
const (
	maxAddress   = 2000    // bytes
	maxClipboard = 1 << 20 // bytes
	maxNotice    = 500     // characters of each part
)

// Doubts that a script of one plain command may have: the program is known here, and each word is looked at.
const putUpWith = command.AnsiQuote | command.Home | command.HereDoc | command.HereString | command.BashOnly | command.InlineCode |
	command.UnknownProgram | command.UnknownOption | command.Glob

// programs are the commands that are errands, by system.
var programs = map[string]map[string]func(simple) (Errand, bool, error){
	"darwin": {"open": open, "pbcopy": copyText, "pbpaste": paste, "osascript": script},
	"linux":  {"xdg-open": open, "wl-copy": copyText, "wl-paste": paste, "xclip": xclip, "notify-send": notify},
}

// simple is one command with its words, and the text on its standard input; given says that there is some.
type simple struct {
	name  string
	args  []command.Word
	stdin string
	given bool
}

// words gives the arguments, if all are plain text.
func (s simple) words() ([]string, bool) {
	out := make([]string, len(s.args))
	for i, w := range s.args {
		text, ok := w.Literal()
		if !ok && w.Doubt == command.Glob && webAddress.MatchString(w.Text) && !strings.Contains(w.Text, `\`) {
			ok = true // the ? of an address: a shell passes it on as it is, since no file has such a name
		}
		if out[i] = text; !ok {
			return nil, false
		}
	}
	return out, true
}

// Read says which errand a script is. ok is false for a script that is none: it runs in the sandbox, as any other. An error
// says why an errand is not run, with or without the person's leave.
func Read(p command.Plan, system string) (e Errand, ok bool, err error) {
	s, ok := one(p)
	if !ok {
		return Errand{}, false, nil
	}
	read := programs[system][s.name]
	if read == nil {
		return Errand{}, false, nil
	}
	return read(s)
}

// one gives the one command of a script, with the text that echo, printf, a here-document or a here-string gives it.
func one(p command.Plan) (s simple, ok bool) {
	if p.Doubts&^putUpWith != 0 || len(p.Segments) == 0 || len(p.Segments) > 2 {
		return s, false
	}
	for i := range p.Segments {
		seg := &p.Segments[i]
		if len(seg.Inner) > 0 || len(seg.Assigns) > 0 || len(seg.Layers) != 1 || seg.Layers[0].Kind != command.Plain || seg.Layers[0].Program.Function {
			return s, false
		}
	}
	last := &p.Segments[len(p.Segments)-1]
	name, ok := last.Argv[0].Literal()
	if !ok {
		return s, false
	}
	s.name, s.args = strings.TrimPrefix(name, "/usr/bin/"), last.Argv[1:]
	if strings.Contains(s.name, "/") {
		return s, false
	}
	for _, r := range last.Redirects {
		if s.given || r.FD != 0 || r.Kind != command.HereDocs && r.Kind != command.HereStrs || p.Doubts&command.Glob != 0 {
			return s, false
		}
		s.stdin, s.given = r.Body, true
		if r.Kind == command.HereStrs {
			text, ok := r.Target.Literal()
			if s.stdin = text + "\n"; !ok {
				return s, false
			}
		}
	}
	if len(p.Segments) == 2 {
		first := &p.Segments[0]
		if s.given || last.Join != command.Pipe || len(first.Redirects) > 0 {
			return s, false
		}
		if s.stdin, ok = said(first.Argv); !ok {
			return s, false
		}
		s.given = true
	} else if last.Join != command.Start {
		return s, false
	}
	return s, true
}

// said is what echo or printf writes, where that is plain.
func said(argv []command.Word) (string, bool) {
	words := make([]string, len(argv))
	for i, w := range argv {
		text, ok := w.Literal()
		if words[i] = text; !ok {
			return "", false
		}
	}
	args, end := words[1:], "\n"
	switch words[0] {
	case "echo":
		if len(args) > 0 && args[0] == "-n" {
			args, end = args[1:], ""
		}
		if len(args) > 0 && strings.HasPrefix(args[0], "-") {
			return "", false
		}
		return strings.Join(args, " ") + end, true
	case "printf":
		switch {
		case len(args) == 2 && args[0] == "%s":
			return args[1], true
		case len(args) == 2 && args[0] == `%s\n`:
			return args[1] + "\n", true
		case len(args) == 1 && !strings.ContainsAny(args[0], `%\`) && !strings.HasPrefix(args[0], "-"):
			return args[0], true
		}
	}
	return "", false
}

func refuse(what, why, next string) error { return hint.New("denied", what).Because(why).Then(next) }

var (
	scheme     = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)
	webAddress = regexp.MustCompile(`^https?://`)
)

const openNext = "use open -a and an app's name, or open and one document or web address"

func open(s simple) (e Errand, ok bool, err error) {
	words, plain := s.words()
	switch {
	case s.given || !plain:
		return e, false, nil
	case len(words) == 2 && words[0] == "-a" && s.name == "open":
		e.Kind = OpenApp
		e.App, err = appName(words[1])
		return e, true, err
	case len(words) == 1 && (words[0] == "-h" || words[0] == "--help" || words[0] == "--version" || words[0] == "--manual"):
		return e, false, nil
	case len(words) != 1 || words[0] == "" || strings.HasPrefix(words[0], "-"):
		return e, true, refuse(s.name+" isn't run with these arguments outside the sandbox", "they could make another program run something", openNext)
	case scheme.MatchString(words[0]):
		e.Kind, e.Address = OpenAddress, words[0]
		e.Host, e.Loopback, err = webHost(words[0])
		return e, true, err
	}
	e.Kind, e.Document = OpenDocument, words[0]
	return e, true, documentName(words[0])
}

// webHost checks an address of the web and gives its host. It must mean the same to whoever reads it: the person, the browser.
func webHost(address string) (host string, loopback bool, err error) {
	bad := func(why string) (string, bool, error) {
		return "", false, refuse("this address isn't opened", why, "only plain http and https addresses are")
	}
	if len(address) > maxAddress {
		return bad(fmt.Sprintf("it has more than %d bytes", maxAddress))
	}
	for _, r := range address {
		if r <= ' ' || r > '~' || strings.ContainsRune("\\\"<>^`{|}", r) {
			return bad("it holds a character that doesn't belong in one; write it percent-encoded")
		}
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return bad("it can't be read")
	case u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "" || !webAddress.MatchString(address):
		return bad("it isn't of the web")
	case u.User != nil:
		return bad("it holds a user name, which makes its host look like another")
	case u.Hostname() == "" || strings.Contains(u.Host, "%"):
		return bad("it has no plain host")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return bad("its port is none")
		}
	}
	name := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if ip, err := netip.ParseAddr(name); err == nil {
		ip = ip.Unmap()
		loopback = ip.IsLoopback() || ip.IsUnspecified()
	} else if !hostName.MatchString(name) || numeric.MatchString(name[strings.LastIndexByte(name, '.')+1:]) {
		return bad("its host isn't a plain name or address") // browsers read 0x7f.1 and 2130706433 as addresses
	}
	loopback = loopback || name == "localhost" || strings.HasSuffix(name, ".localhost")
	host = name
	if u.Port() != "" {
		host = net.JoinHostPort(name, u.Port())
	}
	return host, loopback, nil
}

var (
	hostName = regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9])?)*$`)
	numeric  = regexp.MustCompile(`^(0x[0-9a-f]*|[0-9]+)$`)
)

var appWord = regexp.MustCompile(`^[\p{L}\p{N}][\p{L}\p{M}\p{N} .+&'()-]*$`)

// tellable are apps that run what they are told, or what was told them before: folded, without blanks.
var tellable = []string{"terminal", "iterm", "iterm2", "scripteditor", "applescripteditor", "shortcuts", "automator", "warp", "kitty", "alacritty", "wezterm", "ghostty",
	"hyper", "tabby", "rio", "wave", "xterm", "x11", "xquartz", "console", "installer", "handrail", "archiveutility", "bootcampassistant", "migrationassistant", "folderactionssetup", "systemevents"}

func appName(name string) (string, error) {
	short := name
	if n := len(name) - len(".app"); n > 0 && strings.EqualFold(name[n:], ".app") {
		short = name[:n]
	}
	folded := strings.ToLower(strings.Join(strings.Fields(short), ""))
	switch {
	case strings.ContainsAny(name, "/:"):
		return "", refuse("an app is opened by its name alone", "a path could lead to an app that an assistant made", "use open -a and an app's name")
	case !appWord.MatchString(short) || strings.Contains(short, "..") || utf8.RuneCountInString(short) > 80 || strings.HasSuffix(short, " "):
		return "", refuse(fmt.Sprintf("%q is no app's name", name), "", "use the name that stands below its icon")
	case slices.Contains(tellable, folded):
		return "", refuse(fmt.Sprintf("%q isn't opened for assistants", short), "it runs what it is told", "ask the person to open it")
	}
	return short, nil
}

func copyText(s simple) (e Errand, ok bool, err error) {
	words, plain := s.words()
	e = Errand{Kind: WriteClipboard, Text: s.stdin, with: s.name}
	switch {
	case !plain:
		return e, false, nil
	case s.name == "wl-copy" && !s.given && len(words) > 0 && !strings.HasPrefix(words[0], "-"):
		e.Text = strings.Join(words, " ")
	case len(words) > 0 || !s.given:
		return e, true, refuse(s.name+" isn't run like this outside the sandbox", "it needs the text itself, and takes no options", "write echo 'text' | "+s.name)
	}
	if len(e.Text) > maxClipboard || !utf8.ValidString(e.Text) || strings.ContainsRune(e.Text, 0) {
		return e, true, refuse("this isn't put on the clipboard", "it is no text of at most 1 MiB", "shorten it")
	}
	return e, true, nil
}

func paste(s simple) (e Errand, ok bool, err error) {
	words, plain := s.words()
	if !plain || s.given || len(words) > 0 && (s.name != "wl-paste" || len(words) > 1 || words[0] != "-n" && words[0] != "--no-newline") {
		return e, false, nil
	}
	return Errand{Kind: ReadClipboard, with: s.name}, true, nil
}

// xclip writes, or with -o reads. Without -selection clipboard it is another clipboard, which is left alone.
func xclip(s simple) (e Errand, ok bool, err error) {
	words, plain := s.words()
	if !plain {
		return e, false, nil
	}
	clipboard, out := false, false
	for i := 0; i < len(words); i++ {
		switch w := words[i]; {
		case len(w) > 3 && strings.HasPrefix("-selection", w) && i+1 < len(words) && len(words[i+1]) > 0 && strings.HasPrefix("clipboard", words[i+1]):
			clipboard = true
			i++
		case w == "-o" || w == "-out":
			out = true
		case w == "-i" || w == "-in":
		default:
			return e, false, nil
		}
	}
	switch {
	case !clipboard || out && s.given:
		return e, false, nil
	case out:
		return Errand{Kind: ReadClipboard, with: s.name}, true, nil
	}
	s.args = nil
	return copyText(s)
}

func notify(s simple) (e Errand, ok bool, err error) {
	words, plain := s.words()
	if !plain || s.given {
		return e, false, nil
	}
	if len(words) == 0 || len(words) > 2 || strings.HasPrefix(words[0], "-") || len(words) == 2 && strings.HasPrefix(words[1], "-") {
		return e, true, refuse("notify-send isn't run with these arguments outside the sandbox", "it takes a title and a text here, no options", "write notify-send 'title' 'text'")
	}
	e = Errand{Kind: Notify, Title: notice(words[0])}
	if len(words) == 2 {
		e.Text = notice(words[1])
	}
	return e, true, nil
}

// appleString is a string of AppleScript.
const appleString = `"((?:[^"\\]|\\["\\nrt])*)"`

var (
	notification = regexp.MustCompile(`^\s*display\s+notification\s+` + appleString + `(?:\s+with\s+title\s+` + appleString + `)?(?:\s+subtitle\s+` + appleString + `)?(?:\s+sound\s+name\s+` + appleString + `)?\s*$`)
	volume       = regexp.MustCompile(`^\s*set\s+volume\s+(?:output\s+volume\s+(\d{1,3})|output\s+muted\s+(true|false)|(with|without)\s+output\s+muted|([0-7](?:\.\d{1,4})?))\s*$`)
	appleEscapes = strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\n`, " ", `\r`, " ", `\t`, " ")
)

// script knows two scripts of osascript. Others run in the sandbox, where they reach no app.
func script(s simple) (e Errand, ok bool, err error) {
	words, plain := s.words()
	if !plain || s.given || len(words) != 2 || words[0] != "-e" {
		return e, false, nil
	}
	if m := notification.FindStringSubmatch(words[1]); m != nil {
		part := func(i int) string { return notice(appleEscapes.Replace(m[i])) }
		return Errand{Kind: Notify, Text: part(1), Title: part(2), Subtitle: part(3)}, true, nil
	}
	if m := volume.FindStringSubmatch(words[1]); m != nil {
		e = Errand{Kind: SetVolume, Volume: -1}
		switch {
		case m[1] != "":
			e.Volume, _ = strconv.Atoi(m[1])
			if e.Volume > 100 {
				return e, true, refuse("the volume isn't set", "it is 0 to 100", "")
			}
		case m[2] != "":
			e.Mute = m[2]
		case m[3] != "":
			e.Mute = strconv.FormatBool(m[3] == "with")
		default: // the old scale, 0 to 7
			level, _ := strconv.ParseFloat(m[4], 64)
			e.Volume = min(int(level/7*100+0.5), 100)
		}
		return e, true, nil
	}
	return e, false, nil
}

// notice makes a text fit for a notification: one line of plainly visible characters.
func notice(text string) string {
	text = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == utf8.RuneError:
			return -1
		}
		return r
	}, text)), " ")
	if runes := []rune(text); len(runes) > maxNotice {
		text = string(runes[:maxNotice]) + "…"
	}
	return text
}
