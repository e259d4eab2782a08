package broker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"handrail/core/command"
	"handrail/core/hint"
)

func read(script, system string) (Errand, bool, error) {
	return Read(command.Analyse(script, command.Context{Shell: command.Bash, Dir: "/w", Home: "/h", Path: []string{"/usr/bin", "/bin"}}), system)
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		system, script string
		want           string // the errand; "" none, "no" refused
	}{
		{"darwin", `open -a Safari`, "open an app Safari"},
		{"darwin", `open -a "Google Chrome"`, "open an app Google Chrome"},
		{"darwin", `/usr/bin/open -a Notes.app`, "open an app Notes"},
		{"darwin", `open -a Photo\ Booth`, "open an app Photo Booth"},
		{"darwin", `open https://example.org/a?b=c`, "open an address https://example.org/a?b=c @example.org"},
		{"darwin", `open 'https://example.org:8443/a?b=c&d=e#f'`, "open an address https://example.org:8443/a?b=c&d=e#f @example.org:8443"},
		{"darwin", `open http://EXAMPLE.org./`, "open an address http://EXAMPLE.org./ @example.org"},
		{"darwin", `open http://localhost:3000/`, "open an address http://localhost:3000/ @localhost:3000 here"},
		{"darwin", `open http://127.0.0.1:3000`, "open an address http://127.0.0.1:3000 @127.0.0.1:3000 here"},
		{"darwin", `open 'http://[::1]:3000/'`, "open an address http://[::1]:3000/ @[::1]:3000 here"},
		{"darwin", `open 'http://[::ffff:127.0.0.1]/'`, "open an address http://[::ffff:127.0.0.1]/ @::ffff:127.0.0.1 here"},
		{"darwin", `open http://a.localhost/`, "open an address http://a.localhost/ @a.localhost here"},
		{"darwin", `open report.pdf`, "open a document report.pdf"},
		{"darwin", `open ~/Handrail/my\ notes.MD`, "open a document /h/Handrail/my notes.MD"},
		{"darwin", `pbcopy <<< 'hi there'`, "set the clipboard hi there\n"},
		{"darwin", `echo hi there | pbcopy`, "set the clipboard hi there\n"},
		{"darwin", `echo -n 'a  b' | pbcopy`, "set the clipboard a  b"},
		{"darwin", `printf '%s' '%d\n' | pbcopy`, `set the clipboard %d\n`},
		{"darwin", `printf 'plain' | pbcopy`, "set the clipboard plain"},
		{"darwin", "pbcopy <<'E'\n$x `y`\nE\n", "set the clipboard $x `y`\n"},
		{"darwin", `pbpaste`, "read the clipboard "},
		{"darwin", `osascript -e 'display notification "Done" with title "Build" subtitle "x \"y\"" sound name "Glass"'`, `show a notification Build|x "y"|Done`},
		{"darwin", `osascript -e 'display notification "a\nb"'`, "show a notification ||a b"},
		{"darwin", `osascript -e 'set volume output volume 40'`, "set the volume 40 "},
		{"darwin", `osascript -e "set volume 3.5"`, "set the volume 50 "},
		{"darwin", `osascript -e 'set volume output muted true'`, "set the volume -1 true"},
		{"darwin", `osascript -e 'set volume without output muted'`, "set the volume -1 false"},
		{"linux", `xdg-open https://example.org`, "open an address https://example.org @example.org"},
		{"linux", `xdg-open a.png`, "open a document a.png"},
		{"linux", `wl-copy hello world`, "set the clipboard hello world"},
		{"linux", `echo x | wl-copy`, "set the clipboard x\n"},
		{"linux", `echo x | xclip -selection clipboard`, "set the clipboard x\n"},
		{"linux", `echo x | xclip -sel c -i`, "set the clipboard x\n"},
		{"linux", `xclip -o -selection clipboard`, "read the clipboard "},
		{"linux", `wl-paste -n`, "read the clipboard "},
		{"linux", `notify-send 'Build' 'It is done'`, "show a notification Build||It is done"},

		// What is refused whoever asks.
		{"darwin", `open -a Terminal`, "no"},
		{"darwin", `open -a terminal.APP`, "no"},
		{"darwin", `open -a "Script Editor"`, "no"},
		{"darwin", `open -a Shortcuts`, "no"},
		{"darwin", `open -a Automator`, "no"},
		{"darwin", `open -a iTerm`, "no"},
		{"darwin", `open -a "System Events"`, "no"},
		{"darwin", `open -a /Applications/Safari.app`, "no"},
		{"darwin", `open -a ./Evil.app`, "no"},
		{"darwin", `open -a ../Evil`, "no"},
		{"darwin", `open -a 'a:b'`, "no"},
		{"darwin", `open -a -n`, "no"},
		{"darwin", `open -a ''`, "no"},
		{"darwin", `open -a $'Safari\nTerminal'`, "no"},
		{"darwin", `open -a Safari https://example.org`, "no"},
		{"darwin", `open -a Safari --args --load-extension=x`, "no"},
		{"darwin", `open -a Safari x.html`, "no"},
		{"darwin", `open -n -a Safari`, "no"},
		{"darwin", `open -b com.apple.Terminal`, "no"},
		{"darwin", `open -e x.txt`, "no"},
		{"darwin", `open -R x.txt`, "no"},
		{"darwin", `open a.pdf b.pdf`, "no"},
		{"darwin", `open`, "no"},
		{"darwin", `open ''`, "no"},
		{"darwin", `open -`, "no"},
		{"darwin", `open .`, "no"},
		{"darwin", `open Evil.app`, "no"},
		{"darwin", `open page.html`, "no"},
		{"darwin", `open page.HTM`, "no"},
		{"darwin", `open x.webloc`, "no"},
		{"darwin", `open x.inetloc`, "no"},
		{"darwin", `open x.fileloc`, "no"},
		{"darwin", `open x.mobileconfig`, "no"},
		{"darwin", `open x.command`, "no"},
		{"darwin", `open x.pdf.command`, "no"},
		{"darwin", `open x.terminal`, "no"},
		{"darwin", `open x.workflow`, "no"},
		{"darwin", `open x.action`, "no"},
		{"darwin", `open x.scpt`, "no"},
		{"darwin", `open x.applescript`, "no"},
		{"darwin", `open x.shortcut`, "no"},
		{"darwin", `open x.sh`, "no"},
		{"darwin", `open x.py`, "no"},
		{"darwin", `open x.jar`, "no"},
		{"darwin", `open x.pkg`, "no"},
		{"darwin", `open x.dmg`, "no"},
		{"darwin", `open x.svg`, "no"},
		{"darwin", `open x.docm`, "no"},
		{"darwin", `open x.prefPane`, "no"},
		{"darwin", `open program`, "no"},
		{"darwin", `open .pdf`, "no"},
		{"darwin", `open 'a.pdf '`, "no"},
		{"darwin", "open 'a\u202efdp.pdf'", "no"},
		{"darwin", `open $'a\n.pdf'`, "no"},
		{"darwin", `open file:///etc/passwd`, "no"},
		{"darwin", `open FILE:///x.pdf`, "no"},
		{"darwin", `open javascript:alert(1)`, ""}, // no plain command: it runs in the sandbox, where nothing is opened
		{"darwin", `open 'javascript:alert(1)'`, "no"},
		{"darwin", `open data:text/html,x`, "no"},
		{"darwin", `open x-apple.systempreferences:com.apple.preference`, "no"},
		{"darwin", `open shortcuts://run-shortcut`, "no"},
		{"darwin", `open ssh://host`, "no"},
		{"darwin", `open mailto:a@b`, "no"},
		{"darwin", `open ftp://host/x`, "no"},
		{"darwin", `open HTTP://example.org`, "no"},
		{"darwin", `open https:example.org`, "no"},
		{"darwin", `open https:///x`, "no"},
		{"darwin", `open https://`, "no"},
		{"darwin", `open https://bank.example@evil.example/`, "no"},
		{"darwin", `open 'https://evil.example\@bank.example/'`, "no"},
		{"darwin", `open 'https://example.org/a b'`, "no"},
		{"darwin", `open $'https://example.org/\nx'`, "no"},
		{"darwin", `open https://exämple.org`, "no"},
		{"darwin", `open https://example.org:0/`, "no"},
		{"darwin", `open https://example.org:99999/`, "no"},
		{"darwin", `open https://2130706433/`, "no"},
		{"darwin", `open https://0x7f.1/`, "no"},
		{"darwin", `open https://127.1/`, "no"},
		{"darwin", `open https://ex%61mple.org/`, "no"},
		{"darwin", `open https://example.org/` + strings.Repeat("x", maxAddress), "no"},
		{"darwin", `pbcopy`, "no"},
		{"darwin", `echo x | pbcopy -pboard font`, "no"},
		{"darwin", "printf '%s' $'a\\xffb' | pbcopy", "no"},
		{"linux", `xdg-open -x`, "no"},
		{"linux", `xdg-open x.desktop`, "no"},
		{"linux", `xdg-open file:///x.pdf`, "no"},
		{"linux", `wl-copy --type text/html x`, "no"},
		{"linux", `notify-send --action=x y`, "no"},
		{"linux", `notify-send -h string:x:y title`, "no"},
		{"linux", `notify-send title -- x`, "no"},
		{"darwin", `osascript -e 'set volume output volume 101'`, "no"},

		// What is none: it runs in the sandbox.
		{"darwin", `open a.pdf; ls`, ""},
		{"darwin", `open a.pdf && open b.pdf`, ""},
		{"darwin", `open "$x"`, ""},
		{"darwin", `open $(cat x)`, ""},
		{"darwin", `open *.pdf`, ""},
		{"darwin", `open https://example.org/$x`, ""},
		{"darwin", `open https://example.org/*`, "open an address https://example.org/* @example.org"},
		{"darwin", `open a.pdf > x`, ""},
		{"darwin", `open a.pdf < x`, ""},
		{"darwin", `open a.pdf &`, ""},
		{"darwin", `PATH=. open a.pdf`, ""},
		{"darwin", `nohup open a.pdf`, ""},
		{"darwin", `command open a.pdf`, ""},
		{"darwin", `sh -c 'open a.pdf'`, ""},
		{"darwin", `./open a.pdf`, ""},
		{"darwin", `/tmp/usr/bin/open a.pdf`, ""},
		{"darwin", `(open a.pdf)`, ""},
		{"darwin", `! open a.pdf`, ""},
		{"darwin", `open() { ls; }; open a.pdf`, ""},
		{"darwin", `alias open=ls; open a.pdf`, ""},
		{"darwin", `echo a.pdf | open`, ""},
		{"darwin", `echo a.pdf | xargs open`, ""},
		{"darwin", `open --help`, ""},
		{"darwin", `open --help-all`, "no"},
		{"darwin", `Open a.pdf`, ""},
		{"darwin", `pbpaste | cat`, ""},
		{"darwin", `pbpaste > x`, ""},
		{"darwin", `pbpaste -Prefer txt`, ""},
		{"darwin", `cat x | pbcopy`, ""},
		{"darwin", `pbcopy < x`, ""},
		{"darwin", `echo -e 'a\tb' | pbcopy`, ""},
		{"darwin", `printf 'a\nb' | pbcopy`, ""},
		{"darwin", `echo $HOME | pbcopy`, ""},
		{"darwin", "pbcopy <<E\n$x\nE\n", ""},
		{"darwin", `echo a > x | pbcopy`, ""},
		{"darwin", `osascript x.scpt`, ""},
		{"darwin", `osascript -l JavaScript -e 'x'`, ""},
		{"darwin", `osascript -e 'display notification "a" & (do shell script "id")'`, ""},
		{"darwin", `osascript -e 'display notification "a"' -e 'do shell script "id"'`, ""},
		{"darwin", "osascript -e 'display notification \"a\"\ndo shell script \"id\"'", ""},
		{"darwin", `osascript -e 'display notification "a\q"'`, ""},
		{"darwin", `osascript -e 'tell app "Finder" to quit'`, ""},
		{"darwin", `osascript -e 'set volume output volume (do shell script "id")'`, ""},
		{"darwin", `xdg-open a.pdf`, ""},
		{"linux", `open a.pdf`, ""},
		{"linux", `xclip`, ""},
		{"linux", `xclip -o`, ""},
		{"linux", `xclip -selection clipboard -t text/html`, ""},
		{"linux", `osascript -e 'display notification "x"'`, ""},
		{"plan9", `open a.pdf`, ""},
		{"darwin", ``, ""},
		{"darwin", `x=1`, ""},
		{"darwin", `> x`, ""},
	} {
		e, ok, err := read(c.script, c.system)
		got := ""
		switch {
		case err != nil && ok && hint.Code(err) == "denied":
			got = "no"
		case err != nil:
			t.Errorf("%s: %v, %v", c.script, ok, err)
			continue
		case ok:
			got = e.Kind.String() + " "
			switch e.Kind {
			case OpenApp:
				got += e.App
			case OpenAddress:
				got += e.Address + " @" + e.Host
				if e.Loopback {
					got += " here"
				}
			case OpenDocument:
				got += e.Document
			case WriteClipboard:
				got += e.Text
			case Notify:
				got += e.Title + "|" + e.Subtitle + "|" + e.Text
			case SetVolume:
				got += fmt.Sprint(e.Volume, " ", e.Mute)
			}
		}
		if got != c.want {
			t.Errorf("%s, %s: %q, want %q (%v)", c.system, c.script, got, c.want, err)
		}
	}
}

// No script, however odd, becomes an errand whose words are other than plain, and none panics.
func FuzzRead(f *testing.F) {
	for _, s := range []string{`open -a Safari`, `open https://x.org/?a`, `echo x | pbcopy`, `osascript -e 'display notification "x"'`, "pbcopy <<'E'\nx\nE", `xclip -sel c -o`, `open $'\x00'`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, script string) {
		for system := range programs {
			e, ok, err := read(script, system)
			if !ok || err != nil {
				continue
			}
			for _, word := range []string{e.App, e.Address, e.Document, e.Title} {
				if strings.HasPrefix(word, "-") && e.Kind != Notify || strings.ContainsAny(word, "\x00\n") {
					t.Errorf("%q became %+v", script, e)
				}
			}
			if e.Kind == OpenApp && strings.ContainsAny(e.App, "/:") || e.Kind == OpenAddress && !strings.HasPrefix(e.Address, "http") {
				t.Errorf("%q became %+v", script, e)
			}
		}
	})
}

// What is started is fixed: an absolute path, and arguments in which nothing of the model's can be an option.
func TestProgram(t *testing.T) {
	apps := t.TempDir()
	for _, name := range []string{"Safari.app", "Photo Booth.app"} {
		if err := os.Mkdir(filepath.Join(apps, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		system string
		errand Errand
		want   string
	}{
		{"darwin", Errand{Kind: OpenApp, App: "safari"}, "/usr/bin/open [-a " + apps + "/Safari.app] \"\""},
		{"darwin", Errand{Kind: OpenApp, App: "Nothing"}, "error"},
		{"darwin", Errand{Kind: OpenAddress, Address: "https://example.org"}, `/usr/bin/open [https://example.org] ""`},
		{"darwin", Errand{Kind: OpenDocument, Document: "/w/a.pdf"}, `/usr/bin/open [/w/a.pdf] ""`},
		{"darwin", Errand{Kind: OpenDocument, Document: "a.pdf"}, "error"},
		{"darwin", Errand{Kind: OpenDocument, Document: "-a"}, "error"},
		{"darwin", Errand{Kind: OpenDocument, Document: "/w/../a.pdf"}, "error"},
		{"darwin", Errand{Kind: WriteClipboard, Text: "x", with: "pbcopy"}, `/usr/bin/pbcopy [] "x"`},
		{"darwin", Errand{Kind: Notify, Text: "-e", Title: "-x"}, `/usr/bin/osascript [-e on run argv -e display notification (item 1 of argv) with title (item 2 of argv) subtitle (item 3 of argv) -e end run -- -e -x ] ""`},
		{"darwin", Errand{Kind: SetVolume, Volume: 40}, `/usr/bin/osascript [-e set volume output volume 40] ""`},
		{"darwin", Errand{Kind: SetVolume, Volume: -1, Mute: `true" & do shell script "x`}, `/usr/bin/osascript [-e set volume output muted false] ""`},
		{"linux", Errand{Kind: OpenDocument, Document: "/w/a.pdf"}, `/usr/bin/xdg-open [/w/a.pdf] ""`},
		{"linux", Errand{Kind: Notify, Title: "--x", Text: "y"}, `/usr/bin/notify-send [--app-name=Handrail -- --x y] ""`},
		{"linux", Errand{Kind: ReadClipboard, with: "xclip"}, `/usr/bin/xclip [-selection clipboard -out] ""`},
		{"linux", Errand{Kind: WriteClipboard, Text: "x", with: "xclip"}, `/usr/bin/xclip [-selection clipboard -in] "x"`},
		{"linux", Errand{}, "error"},
	} {
		got := "error"
		b := Broker{System: c.system, Apps: []string{apps, "/nowhere"}, Run: func(_ context.Context, p Program) (string, error) {
			got = fmt.Sprintf("%s %v %q", p.Path, p.Args, p.Stdin)
			return "", nil
		}}
		if _, err := b.Do(t.Context(), c.errand); (err != nil) != (c.want == "error") || got != c.want {
			t.Errorf("%+v: %s, want %s (%v)", c.errand, got, c.want, err)
		}
	}
}

func TestCheckDocument(t *testing.T) {
	dir := t.TempDir()
	for i, c := range []struct {
		name, text string
		mode       os.FileMode
		ok         bool
	}{
		{"a.pdf", "%PDF-1.7", 0o644, true},
		{"a.txt", "hello", 0o644, true},
		{"a.txt", "", 0o644, true},
		{"a.txt", "hello", 0o755, false},
		{"a.txt", "#!/bin/sh\nid\n", 0o644, false},
		{"a.txt", "\ufeff  #!/bin/sh", 0o644, false},
		{"a.txt", "<!DOCTYPE html><script>", 0o644, false},
		{"a.md", "<HTML>", 0o644, false},
		{"a.txt", "[Desktop Entry]\nExec=id\n", 0o644, false},
		{"a.pdf", "\x7fELF\x02", 0o644, false},
		{"a.png", "\xcf\xfa\xed\xfe", 0o644, false},
		{"a.csv", "<?xml version=\"1.0\"?><!DOCTYPE plist>", 0o644, false},
		{"a.html", "hello", 0o644, false},
		{"a", "hello", 0o644, false},
		{"a.command", "hello", 0o644, false},
	} {
		folder := filepath.Join(dir, fmt.Sprint(i))
		path := filepath.Join(folder, c.name)
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckDocument(path, f); (err == nil) != c.ok {
			t.Errorf("%s with %q, %v: %v", c.name, c.text, c.mode, err)
		}
		f.Close()
	}
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if CheckDocument(dir+"/a.pdf", f) == nil {
		t.Error("a folder passes for a document")
	}
}

// A program that others could have put there isn't started.
func TestStart(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	me := os.Getuid()
	put := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	script := "#!/bin/sh\necho \"$1 $(cat) ${BROWSER-none} $PATH\"\n"
	good := put("good/program", script, 0o755)
	shared := put("shared", script, 0o777)
	inShared := put("folder/program", script, 0o755)
	if err := os.Chmod(filepath.Dir(inShared), 0o777); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(shared, link); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BROWSER", "evil")
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	out, err := startOwned(t.Context(), Program{Path: good, Args: []string{"$(id)"}, Stdin: "in", Reads: true}, me)
	if want := "$(id) in none /usr/bin:/bin:/usr/sbin:/sbin\n"; err != nil || out != want {
		t.Errorf("%q, %v, want %q", out, err, want)
	}
	for _, path := range []string{shared, inShared, link, dir, "program", filepath.Join(dir, "missing")} {
		if _, err := startOwned(t.Context(), Program{Path: path}, me); err == nil {
			t.Errorf("%s was started", path)
		}
	}
	if me != 0 {
		if _, err := start(t.Context(), Program{Path: good}); err == nil {
			t.Error("a program of an ordinary user was started as one of the system")
		}
	}
	if _, err := startOwned(t.Context(), Program{Path: put("fails", "#!/bin/sh\nexit 3\n", 0o755)}, me); err == nil {
		t.Error("a failure isn't told")
	}
	if _, err := startOwned(t.Context(), Program{Path: put("bytes", "#!/bin/sh\nprintf '\\377'\n", 0o755), Reads: true}, me); hint.Code(err) != "not_text" {
		t.Errorf("bytes that are no text: %v", err)
	}
	if _, err := startOwned(t.Context(), Program{Path: put("long", "#!/bin/sh\nhead -c 300000 /dev/zero | tr '\\0' x\n", 0o755), Reads: true}, me); hint.Code(err) != "too_long" {
		t.Errorf("too much: %v", err)
	}
	// One that leaves a process behind, as holders of a clipboard do, is not waited for.
	began := time.Now()
	if _, err := startOwned(t.Context(), Program{Path: put("holds", "#!/bin/sh\ncat >/dev/null\nsleep 5 &\n", 0o755), Stdin: "x"}, me); err != nil || time.Since(began) > 4*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}
