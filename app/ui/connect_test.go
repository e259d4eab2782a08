//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"image"
	"image/color"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/tools/txtar"

	"handrail/app"
	"handrail/app/apptest"
	"handrail/core"
	"handrail/core/assistant"
	"handrail/core/client"
	"handrail/core/program"
	"handrail/core/setting"
)

// bridge is how an assistant starts Handrail in core/assistant's goldens.
var bridge = assistant.Command{Path: "/Applications/ราว จับ & Handrail 2.app/Contents/MacOS/handrail", Args: []string{"stdio"}}

// settingsFiles are the files in which some assistants keep their servers, in a home folder.
var settingsFiles = map[string]string{
	"claude-desktop": ".config/Claude/claude_desktop_config.json", "claude-code": ".claude.json", "cursor": ".cursor/mcp.json", "vscode": ".config/Code/User/mcp.json",
	"windsurf": ".codeium/windsurf/mcp_config.json", "zed": ".config/zed/settings.json", "codex": ".codex/config.toml", "gemini": ".gemini/settings.json",
	"lmstudio": ".lmstudio/mcp.json", "goose": ".config/goose/config.yaml",
	"cline": ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
}

// golden is the file of an assistant before and after Handrail is put into it.
func golden(t *testing.T, id string) (before, after []byte) {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("..", "..", "core", "assistant", "testdata", id+".txtar"))
	must(t, err)
	return a.Files[0].Data, a.Files[1].Data
}

// installed puts the real file of each assistant into the home folder, and gives their paths.
func installed(t *testing.T, ids ...string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	for _, id := range ids {
		before, _ := golden(t, id)
		files[id] = filepath.Join(os.Getenv("HOME"), settingsFiles[id])
		must(t, os.MkdirAll(filepath.Dir(files[id]), 0o755), os.WriteFile(files[id], before, 0o600))
	}
	return files
}

// aHost is the core, on a home folder and a screen of the test, with the dialog as what asks; and its windows.
func aHost(t *testing.T, language string, change func(*core.Options)) (*core.Host, *app.Windows, *client.Tokens) {
	t.Helper()
	for _, name := range []string{"XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"} {
		t.Setenv(name, "")
	}
	dir := t.TempDir()
	home := os.Getenv("HOME")
	words := app.NewWords(language)
	o := core.Options{State: filepath.Join(dir, "state"), Work: filepath.Join(dir, "work"), Workspace: filepath.Join(home, "Handrail"), Home: home, Executable: "/bin/false",
		Asker: app.NewDialog(words).WithPatience(long), Level: client.Ask, PairAddr: "127.0.0.1:0", Bridge: func() (assistant.Command, error) { return bridge, nil }}
	if change != nil {
		change(&o)
	}
	h, err := core.New(o)
	must(t, err)
	windows := app.NewWindows(resident{h}, words.Fixed(), home)
	t.Cleanup(func() { windows.Close(); h.Close() })
	return h, windows, core.Tokens(o.State)
}

// buttonsOf are where a window has buttons of a colour, from the top down and from the left to the right.
func buttonsOf(img *image.RGBA, c color.NRGBA) (list []image.Rectangle) {
	for y := range img.Rect.Dy() {
		for x, run := 0, 0; x <= img.Rect.Dx(); x++ {
			if x < img.Rect.Dx() {
				if p := img.RGBAAt(x, y); p.R == c.R && p.G == c.G && p.B == c.B {
					run++
					continue
				}
			}
			if run >= 40 {
				r := image.Rect(x-run, y, x, y+1)
				at := slices.IndexFunc(list, func(b image.Rectangle) bool {
					return b.Max.Y == y && b.Min.X <= r.Max.X && r.Min.X <= b.Max.X || r.In(b)
				})
				if at < 0 {
					list = append(list, r)
				} else {
					list[at] = list[at].Union(r)
				}
			}
			run = 0
		}
	}
	// A label parts the rows in its middle from those above.
	var whole []image.Rectangle
	for _, r := range list {
		at := slices.IndexFunc(whole, func(b image.Rectangle) bool {
			return r.Min.Y-b.Min.Y < controlHeight && r.Overlaps(image.Rect(b.Min.X, r.Min.Y, b.Max.X, r.Max.Y))
		})
		if at < 0 {
			whole = append(whole, r)
		} else {
			whole[at] = whole[at].Union(r)
		}
	}
	whole = slices.DeleteFunc(whole, func(r image.Rectangle) bool { return r.Dy() < controlHeight-8 })
	slices.SortFunc(whole, func(a, b image.Rectangle) int {
		if d := a.Min.Y - b.Min.Y; d > 10 || d < -10 {
			return d
		}
		return a.Min.X - b.Min.X
	})
	return whole
}

// press waits until a window stands still with at least n buttons, clicks on one, counted from the top, and gives where it was.
func press(t *testing.T, d *apptest.Display, w *apptest.Window, c color.NRGBA, which, n int) image.Rectangle {
	t.Helper()
	list := buttonsIn(t, w, c, func(found []image.Rectangle) bool { return len(found) >= n })
	click(t, d, w, list[which].Min.Add(image.Pt(6, list[which].Dy()/2)))
	return list[which]
}

// standing waits until a window stands still with n buttons.
func standing(t *testing.T, w *apptest.Window, c color.NRGBA, n int) []image.Rectangle {
	t.Helper()
	return buttonsIn(t, w, c, func(found []image.Rectangle) bool { return len(found) == n })
}

func buttonsIn(t *testing.T, w *apptest.Window, c color.NRGBA, enough func(found []image.Rectangle) bool) (list []image.Rectangle) {
	t.Helper()
	for deadline := time.Now().Add(long); ; {
		img, err := w.Picture()
		must(t, err)
		if list = buttonsOf(img, c); enough(list) {
			if _, err := w.Changes(img, 300*time.Millisecond); err != nil {
				return list
			}
			continue
		}
		if time.Now().After(deadline) {
			must(t, w.SavePicture("../../build/screens/connect_failed.png"))
			t.Fatalf("%d buttons: %v", len(list), list)
		}
		_, _ = w.Changes(img, 100*time.Millisecond)
	}
}

// coloured waits until a window has text of a colour below a line.
func coloured(t *testing.T, w *apptest.Window, c color.NRGBA, below int) {
	t.Helper()
	for deadline := time.Now().Add(long); ; {
		img, err := w.Picture()
		must(t, err)
		n := 0
		for y := below; y < img.Rect.Dy(); y++ {
			for x := range img.Rect.Dx() {
				if p := img.RGBAAt(x, y); p.R == c.R && p.G == c.G && p.B == c.B {
					n++
				}
			}
		}
		if n > 5 {
			return
		}
		if time.Now().After(deadline) {
			must(t, w.SavePicture("../../build/screens/connect_failed.png"))
			t.Fatalf("no text in %v below %d", c, below)
		}
		_, _ = w.Changes(img, 100*time.Millisecond)
	}
}

// sideBySide says that the first two buttons stand in a line, as those do that are there while an assistant may pair.
func sideBySide(found []image.Rectangle) bool {
	return len(found) > 1 && found[0].Min.Y == found[1].Min.Y
}

// oneFirst says that the first button stands alone.
func oneFirst(found []image.Rectangle) bool { return len(found) > 1 && !sideBySide(found) }

// holds waits until a file has a content.
func holds(t *testing.T, w *apptest.Window, file string, want []byte) {
	t.Helper()
	for deadline := time.Now().Add(long); ; {
		img, err := w.Picture()
		must(t, err)
		text, err := os.ReadFile(file)
		if err == nil && bytes.Equal(text, want) {
			return
		}
		if time.Now().After(deadline) {
			must(t, w.SavePicture("../../build/screens/connect_failed.png"))
			t.Fatalf("%s holds, %v:\n%s", file, err, text)
		}
		_, _ = w.Changes(img, 50*time.Millisecond)
	}
}

// Every assistant that is here is connected by a click and taken out by another: what the window shows is what the files hold.
func TestConnectWindow(t *testing.T) {
	d := screen(t)
	files := installed(t, "claude-desktop", "cursor", "zed", "codex")
	broken := filepath.Join(os.Getenv("HOME"), settingsFiles["gemini"])
	must(t, os.MkdirAll(filepath.Dir(broken), 0o755), os.WriteFile(broken, []byte("{ not json"), 0o600))
	_, windows, _ := aHost(t, "en", nil)
	must(t, windows.Open("connect"))
	w, err := d.Window("Handrail: connect an assistant", long)
	must(t, err)

	// Four can be connected, the fifth is left alone. What a click came to stands below it, and moves the next.
	for i, id := range []string{"claude-desktop", "cursor", "zed", "codex"} {
		_, after := golden(t, id)
		at := press(t, d, w, app.Light.Button, i, 4)
		holds(t, w, files[id], after)
		coloured(t, w, app.Light.Good, at.Max.Y)
	}
	must(t, w.SavePicture("../../build/screens/connect_en.png"))
	before, _ := golden(t, "codex")
	press(t, d, w, app.Light.Button, 3, 4)
	holds(t, w, files["codex"], before)
	if text, err := os.ReadFile(broken); err != nil || string(text) != "{ not json" {
		t.Errorf("%q, %v", text, err)
	}
	// The keyboard does what the pointer does.
	before, _ = golden(t, "claude-desktop")
	must(t, d.Key(apptest.Tab), d.Key(apptest.Space))
	holds(t, w, files["claude-desktop"], before)
}

// So are those whose files lie in other places; Visual Studio Code is there with Cline, and stays as it is.
func TestConnectWindowOfOthers(t *testing.T) {
	d := screen(t)
	files := installed(t, "windsurf", "lmstudio", "cline", "claude-code", "goose")
	_, windows, _ := aHost(t, "en", nil)
	must(t, windows.Open("connect"))
	w, err := d.Window("Handrail: connect an assistant", long)
	must(t, err)
	for i, id := range []string{"claude-code", "", "windsurf", "lmstudio", "goose", "cline"} {
		if id == "" {
			continue
		}
		_, after := golden(t, id)
		at := press(t, d, w, app.Light.Button, i, 6)
		holds(t, w, files[id], after)
		coloured(t, w, app.Light.Good, at.Max.Y)
	}
	if _, err := os.Stat(filepath.Join(os.Getenv("HOME"), settingsFiles["vscode"])); err == nil {
		t.Error("Visual Studio Code was set up, and nobody asked for it")
	}
}

// Where Handrail can't be found again, and in Thai and the dark.
func TestConnectWindowInThaiAndDark(t *testing.T) {
	d := screen(t)
	installed(t, "claude-code", "goose", "vscode")
	must(t, os.WriteFile(filepath.Join(os.Getenv("HOME"), "dark"), nil, 0o644))
	h, windows, _ := aHost(t, "th", func(o *core.Options) {
		o.Bridge = func() (assistant.Command, error) {
			return assistant.Command{}, program.Judge(program.Facts{System: "darwin", Executable: "/Volumes/Handrail/Handrail.app/Contents/MacOS/handrail", Home: "/Users/ann", ReadOnly: true}).Err()
		}
	})
	must(t, windows.Open("connect"))
	w, err := d.Window("Handrail: เชื่อมต่อผู้ช่วย", long)
	must(t, err)
	standing(t, w, app.Dark.Button, 2) // none of the three can be connected from here
	must(t, w.SavePicture("../../build/screens/connect_place_th_dark.png"))
	must(t, d.Key(apptest.Tab), d.Key(apptest.Space)) // the keyboard reaches what is below
	for deadline := time.Now().Add(long); h.Status().Pairing.IsZero(); {
		if time.Now().After(deadline) {
			t.Fatal("no pairing")
		}
		img, err := w.Picture()
		must(t, err)
		_, _ = w.Changes(img, 50*time.Millisecond)
	}
	buttonsIn(t, w, app.Dark.Button, sideBySide)
	must(t, w.SavePicture("../../build/screens/connect_web_th_dark.png"))
}

var refresh = regexp.MustCompile(`<meta http-equiv="refresh" content="0; url=([^"]*)">`)

// joins connects the SDK's own client by OAuth, with a browser that opens the address as a person's does.
func joins(ctx context.Context, endpoint string) (*mcp.ClientSession, error) {
	const callback = "http://127.0.0.1:33418/callback"
	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "Go SDK", RedirectURIs: []string{callback}, GrantTypes: []string{"authorization_code", "refresh_token"}}},
		RedirectURL: callback,
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, args.URL, nil)
			if err != nil {
				return nil, err
			}
			r.Header = http.Header{"Sec-Fetch-Site": {"none"}, "Sec-Fetch-Mode": {"navigate"}, "Sec-Fetch-Dest": {"document"}}
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				return nil, err
			}
			defer answer.Body.Close()
			page, err := io.ReadAll(answer.Body)
			if err != nil {
				return nil, err
			}
			m := refresh.FindSubmatch(page)
			if m == nil {
				return nil, fmt.Errorf("it leads nowhere: %s", page)
			}
			to, err := url.Parse(html.UnescapeString(string(m[1])))
			if err != nil {
				return nil, err
			}
			q := to.Query()
			if q.Get("error") != "" {
				return nil, fmt.Errorf("refused: %s", q.Get("error"))
			}
			return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
		},
	})
	if err != nil {
		return nil, err
	}
	return mcp.NewClient(&mcp.Implementation{Name: "go-sdk"}, nil).Connect(ctx, &mcp.StreamableClientTransport{Endpoint: endpoint, OAuthHandler: handler, MaxRetries: -1}, nil)
}

// An assistant pairs by the person's clicks alone: one on Connect by Web, and one on Allow in the dialog. Don't Allow, and a dialog that
// nobody answers because the person stopped it, let nobody in.
func TestPairingByClicks(t *testing.T) {
	d := screen(t)
	h, windows, tokens := aHost(t, "en", nil)
	must(t, windows.Open("connect"))
	w, err := d.Window("Handrail: connect an assistant", long)
	must(t, err)
	type joined struct {
		session *mcp.ClientSession
		err     error
	}
	comes := func() <-chan joined {
		endpoint, _ := h.Pairing()
		came := make(chan joined, 1)
		go func() {
			s, err := joins(t.Context(), endpoint)
			came <- joined{s, err}
		}()
		return came
	}
	answered := func(came <-chan joined) joined {
		t.Helper()
		select {
		case j := <-came:
			return j
		case <-time.After(long):
			t.Fatal("nothing comes of it")
			return joined{}
		}
	}

	for _, c := range []struct {
		name   string
		answer func(dialog *apptest.Window)
	}{
		{"don't allow", func(dialog *apptest.Window) { must(t, dialog.Click(app.RefuseFill, long)) }},
		{"stopped", func(*apptest.Window) { h.StopPairing() }},
	} {
		buttonsIn(t, w, app.Light.Button, oneFirst)
		press(t, d, w, app.Light.Button, 0, 3)
		buttonsIn(t, w, app.Light.Button, sideBySide)
		came := comes()
		dialog, err := d.Window("Handrail: a question", long)
		must(t, err)
		c.answer(dialog)
		if j := answered(came); j.err == nil {
			t.Errorf("%s: it is in", c.name)
		}
		must(t, dialog.Gone(long))
		if list, err := tokens.List(); err != nil || len(list) != 0 {
			t.Errorf("%s: %v, %v", c.name, list, err)
		}
	}

	buttonsIn(t, w, app.Light.Button, oneFirst)
	press(t, d, w, app.Light.Button, 0, 3)
	buttonsIn(t, w, app.Light.Button, sideBySide)
	must(t, w.SavePicture("../../build/screens/connect_web_en.png"))
	came := comes()
	dialog, err := d.Window("Handrail: a question", long)
	must(t, err)
	must(t, dialog.MoveTo(100, 100), dialog.Click(app.AllowFill, long))
	j := answered(came)
	must(t, j.err)
	defer j.session.Close()
	if tools, err := j.session.ListTools(t.Context(), nil); err != nil || len(tools.Tools) < 5 {
		t.Errorf("%v, %v", tools, err)
	}
	buttonsIn(t, w, app.Light.Button, oneFirst) // one was let in, and no other may ask
}

// A token is made by the person's click in the dialog alone, stands in the clipboard for a time, marked as a secret, and opens the endpoint.
func TestTokenByClicks(t *testing.T) {
	d := screen(t)
	h, windows, tokens := aHost(t, "en", nil)
	serve, err := h.Listen("127.0.0.1:0")
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- serve(ctx) }()
	t.Cleanup(func() { cancel(); <-served })
	must(t, windows.Open("connect"))
	w, err := d.Window("Handrail: connect an assistant", long)
	must(t, err)
	list := func() []client.Token {
		t.Helper()
		list, err := tokens.List()
		must(t, err)
		return list
	}

	at := standing(t, w, app.Light.Button, 3)[1]
	click(t, d, w, image.Pt(100, at.Min.Y+at.Dy()/2)) // the field
	for _, r := range "editor" {
		must(t, d.Key(int(r)))
	}
	press(t, d, w, app.Light.Button, 1, 3)
	dialog, err := d.Window("Handrail: a question", long)
	must(t, err)
	must(t, dialog.Click(app.RefuseFill, long), dialog.Gone(long))
	coloured(t, w, app.Light.Bad, at.Max.Y) // it says that there is none
	if all := list(); len(all) != 0 {
		t.Errorf("%v", all)
	}
	if text, err := d.Clipboard("UTF8_STRING", long); err != nil || text != "" {
		t.Errorf("the clipboard: %q, %v", text, err)
	}

	press(t, d, w, app.Light.Button, 1, 3)
	dialog, err = d.Window("Handrail: a question", long)
	must(t, err)
	_, err = dialog.Area(app.AllowFill, long)
	must(t, err, dialog.SavePicture("../../build/screens/question_token_en.png"), dialog.Click(app.AllowFill, long), dialog.Gone(long))
	coloured(t, w, app.Light.Good, at.Max.Y+35) // more than one line: what to do with it
	must(t, w.SavePicture("../../build/screens/connect_token_en.png"))
	token, err := d.Clipboard("UTF8_STRING", long)
	must(t, err)
	if mark, err := d.Clipboard("x-kde-passwordManagerHint", long); err != nil || mark != "secret" {
		t.Errorf("the clipboard's mark: %q, %v", mark, err)
	}
	if who, level, ok := tokens.Verify(token); !ok || who.ID != client.TokenID("editor") || level != client.Ask {
		t.Errorf("%q opens nothing: %v, %v", token, who, level)
	}

	// A window that is closed while the person is asked gets none, and neither does anybody else.
	click(t, d, w, image.Pt(100, at.Min.Y+at.Dy()/2))
	must(t, d.Key('2'))
	press(t, d, w, app.Light.Button, 1, 3)
	dialog, err = d.Window("Handrail: a question", long)
	must(t, err)
	must(t, w.Close(), dialog.Gone(long))
	if all := list(); len(all) != 1 {
		t.Errorf("%v", all)
	}
}

// The host name of a tunnel is set by the person's click in the dialog alone, and taken away at once.
func TestTunnelByClicks(t *testing.T) {
	for _, language := range []struct{ name, title, question, picture string }{{"en", "Handrail: connect an assistant", "Handrail: a question", "tunnel_en"}, {"th", "Handrail: เชื่อมต่อผู้ช่วย", "Handrail มีคำถาม", "tunnel_th_dark"}} {
		t.Run(language.name, func(t *testing.T) {
			d := screen(t)
			colors := app.Light
			if language.name == "th" {
				must(t, os.WriteFile(filepath.Join(os.Getenv("HOME"), "dark"), nil, 0o644))
				colors = app.Dark
			}
			h, windows, _ := aHost(t, language.name, func(o *core.Options) {
				o.Settings = setting.Open(o.State, func(bool) ([]byte, error) { return make([]byte, 32), nil })
			})
			must(t, windows.Open("connect"))
			w, err := d.Window(language.title, long)
			must(t, err)
			standing(t, w, colors.Button, 3)
			tabs := func(n int) {
				for range n {
					must(t, d.Key(apptest.Tab))
				}
			}
			tabs(4) // Connect by Web, the name of a token, Copy Token, What You Need
			must(t, d.Key(apptest.Space))
			tabs(4) // from the start, to the host name
			write := func(text string) {
				for _, r := range text {
					must(t, d.Key(int(r)))
				}
				must(t, d.Key(apptest.Return))
			}
			write("my-mac")
			coloured(t, w, colors.Bad, 200)
			write(".example.com")
			dialog, err := d.Window(language.question, long)
			must(t, err)
			must(t, dialog.Click(app.RefuseFill, long), dialog.Gone(long))
			settles(t, h, func() bool { host, waits := h.Tunnel(); return host == "" && waits == "" })
			must(t, d.Key(apptest.Return))
			dialog, err = d.Window(language.question, long)
			must(t, err)
			_, err = dialog.Area(app.AllowFill, long)
			must(t, err, dialog.SavePicture("../../build/screens/question_"+language.picture+".png"), dialog.Click(app.AllowFill, long), dialog.Gone(long))
			settles(t, h, func() bool { host, _ := h.Tunnel(); return host == "my-mac.example.com" })
			standing(t, w, colors.Button, 2) // the host name stands in the field's place
			click(t, d, w, image.Pt(650, 300))
			tabs(4) // from the start, to Remove
			buttonsIn(t, w, colors.Button, func(found []image.Rectangle) bool { return len(found) > 2 })
			must(t, w.SavePicture("../../build/screens/connect_"+language.picture+".png"), d.Key(apptest.Space))
			settles(t, h, func() bool { host, _ := h.Tunnel(); return host == "" })
		})
	}
}

// settles waits until something is so of a host.
func settles(t *testing.T, h *core.Host, so func() bool) {
	t.Helper()
	changed := make(chan struct{}, 1)
	defer h.Subscribe(func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})()
	for late := time.After(long); !so(); {
		select {
		case <-changed:
		case <-late:
			t.Fatal("it isn't so")
		}
	}
}

// resident is a core as windows see it.
type resident struct{ *core.Host }

func (resident) Settings() app.Settings { return app.Settings{} }
func (r resident) ChangeSetting(c app.SettingChange) (asks bool, err error) {
	return r.Set(setting.Name(c.Name), c.Value)
}
