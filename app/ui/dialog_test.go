//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/color"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"handrail/app"
	"handrail/app/apptest"
	"handrail/core/approval"
	"handrail/core/client"
	"handrail/core/grant"
)

// The test binary is handrail-ui when it is told so; TestMain gives it that name too, beside itself, where the asker
// looks for it. So the tests go the whole way: the asker's checks, the empty environment, a real window, a real pointer.
func TestMain(m *testing.M) {
	if len(os.Args) >= 2 && slices.Contains([]string{"dialog", "window", "display"}, os.Args[1]) {
		if folder := onlyFonts(os.Getenv("HOME")); folder != "" {
			systemFonts = only(folder)
		}
		if _, err := os.Stat(filepath.Join(os.Getenv("HOME"), "dark")); err == nil { // as on a dark desktop
			os.Setenv("FYNE_THEME", "dark")
		}
		main()
		return
	}
	os.Exit(withName(m))
}

func withName(m *testing.M) int {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	name := filepath.Join(filepath.Dir(self), "handrail-ui")
	_ = os.Remove(name)
	if err := os.Link(self, name); err != nil {
		panic(err)
	}
	defer os.Remove(name)
	return m.Run()
}

// onlyFonts is the folder that holds all the fonts there are, for a dialog of these tests with this home folder; "" when
// it is to use the machine's.
func onlyFonts(home string) string {
	folder := filepath.Join(home, "only-fonts")
	if _, err := os.Stat(folder); home == "" || err != nil {
		return ""
	}
	return folder
}

// long is enough for a slow machine; no test waits for it to pass.
const long = 2 * time.Minute

// screen starts a display and makes it this test's.
func screen(t *testing.T, options ...string) *apptest.Display {
	t.Helper()
	d, err := apptest.StartDisplay(t.Context(), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	for _, e := range d.Env() {
		name, value, _ := strings.Cut(e, "=")
		t.Setenv(name, value)
	}
	t.Setenv("HOME", t.TempDir())
	return d
}

// asked is a question on the screen.
type asked struct {
	*apptest.Window
	display  *apptest.Display
	withdraw context.CancelFunc
	decision chan approval.Decision
	request  approval.Request
}

func ask(t *testing.T, d *apptest.Display, language string, r approval.Request) *asked {
	t.Helper()
	return askIn(t, t.Context(), d, language, r)
}

func askIn(t *testing.T, parent context.Context, d *apptest.Display, language string, r approval.Request) *asked {
	t.Helper()
	q, err := app.NewQuestion(r, app.NewWords(language))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(parent)
	t.Cleanup(cancel)
	a := &asked{display: d, withdraw: cancel, decision: make(chan approval.Decision, 1), request: r}
	go func() { a.decision <- app.NewDialog(app.NewWords(language)).WithPatience(long).Ask(ctx, r) }()
	if a.Window, err = d.Window(q.Window, long); err != nil {
		select {
		case got := <-a.decision:
			t.Fatalf("%v: %v (%s)", err, got.Verdict, got.Detail)
		default:
			t.Fatal(err)
		}
	}
	return a
}

func (a *asked) ends(t *testing.T, want approval.Verdict) (got approval.Decision) {
	t.Helper()
	select {
	case got = <-a.decision:
		if got.Verdict != want {
			t.Errorf("%v (%s), want %v", got.Verdict, got.Detail, want)
		}
		if allows := got.Covers(a.request) == nil; allows != (want == approval.Allowed) {
			t.Errorf("covers the request: %v", allows)
		}
	case <-time.After(long):
		t.Errorf("no decision, want %v", want)
	}
	must(t, a.Gone(long))
	return got
}

// timed says that an attack must come within a second.
func timed(name string) bool {
	return strings.Contains(name, "first second") || strings.Contains(name, "just after")
}

// stays sees that what act does is no answer: the click on Don't Allow that follows is what counts. Where act has to be done within the
// second in which nothing counts, a machine that was too slow for it may try again; a dialog that takes it for an answer always does.
func stays(t *testing.T, d *apptest.Display, r approval.Request, within bool, act func(t *testing.T, a *asked)) {
	t.Helper()
	for try := 1; ; try++ {
		a := ask(t, d, "en", r)
		act(t, a)
		err := a.Click(app.RefuseFill, long)
		if within && try < 5 {
			select {
			case got := <-a.decision:
				if a.decision <- got; got.Verdict == approval.Allowed {
					t.Logf("try %d came too late", try)
					continue
				}
			case <-time.After(long):
			}
		}
		must(t, err)
		a.ends(t, approval.Refused)
		return
	}
}

// soon moves the pointer onto a button that doesn't work yet. Who comes too late for that moves the window, and the second begins anew.
func (a *asked) soon(t *testing.T, c color.NRGBA) {
	t.Helper()
	for n := range 20 {
		if a.MoveOnto(c, time.Second) == nil {
			return
		}
		place, err := a.Place()
		must(t, err, a.MoveTo(place.Min.X+1-2*(n%2), place.Min.Y))
	}
	t.Fatal("the button works at once")
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestAnswers(t *testing.T) {
	d := screen(t)
	click := func(t *testing.T) { t.Helper(); must(t, d.Press(1), d.Release(1)) }
	for _, c := range []struct {
		name string
		act  func(t *testing.T, a *asked)
		want approval.Verdict
	}{
		{"a click on Allow", func(t *testing.T, a *asked) { must(t, a.Click(app.AllowFill, long)) }, approval.Allowed},
		{"a click on Don't Allow", func(t *testing.T, a *asked) { must(t, a.Click(app.RefuseFill, long)) }, approval.Refused},
		{"Escape", func(t *testing.T, a *asked) {
			_, err := a.Area(app.AllowFill, long)
			must(t, err, d.Key(apptest.Escape))
		}, approval.Refused},
		{"its close button", func(t *testing.T, a *asked) {
			_, err := a.Area(app.RefuseFill, long)
			must(t, err, a.Close())
		}, approval.Refused},
		{"killed", func(t *testing.T, a *asked) {
			_, err := a.Area(app.AllowFill, long)
			must(t, err, syscall.Kill(a.PID(), syscall.SIGKILL))
		}, approval.NoAnswer},
		{"told to terminate", func(t *testing.T, a *asked) {
			_, err := a.Area(app.AllowFill, long)
			must(t, err, syscall.Kill(a.PID(), syscall.SIGTERM))
		}, approval.NoAnswer},
		{"withdrawn", func(t *testing.T, a *asked) {
			_, err := a.Area(app.AllowFill, long)
			must(t, err)
			a.withdraw()
		}, approval.Withdrawn},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := ask(t, d, "en", request())
			c.act(t, a)
			a.ends(t, c.want)
		})
	}

	// None of these may do anything: the click on Don't Allow that follows each is what counts.
	for _, c := range []struct {
		name string
		act  func(t *testing.T, a *asked)
	}{
		{"Return", func(t *testing.T, a *asked) { must(t, d.Key(apptest.Return), d.Key(apptest.Enter)) }},
		{"Space", func(t *testing.T, a *asked) { must(t, d.Key(apptest.Space)) }},
		{"Tab and then Space or Return", func(t *testing.T, a *asked) {
			for range 3 {
				must(t, d.Key(apptest.Tab), d.Key(apptest.Space), d.Key(apptest.Return))
			}
		}},
		{"Space with the pointer on Allow", func(t *testing.T, a *asked) {
			must(t, a.MoveOnto(app.AllowFill, long), d.Key(apptest.Space), d.Key(apptest.Return))
		}},
		{"typing ahead", func(t *testing.T, a *asked) {
			for _, r := range "yes allow ya" {
				must(t, d.Key(int(r)))
			}
		}},
		{"the other mouse buttons", func(t *testing.T, a *asked) {
			must(t, a.MoveOnto(app.AllowFill, long))
			for button := 2; button <= 3; button++ {
				must(t, d.Press(button), d.Release(button))
			}
		}},
		{"a press elsewhere, released on Allow", func(t *testing.T, a *asked) {
			area, err := a.Area(app.AllowFill, long)
			place, err2 := a.Place()
			must(t, err, err2, d.Move(place.Min.X+area.Min.X-5, place.Min.Y+area.Min.Y+5), d.Press(1),
				a.MoveOnto(app.AllowFill, long), d.Release(1))
		}},
		{"a press on Allow, released elsewhere, and the other way round", func(t *testing.T, a *asked) {
			place, err := a.Place()
			must(t, err, a.MoveOnto(app.AllowFill, long), d.Press(1), d.Move(place.Min.X+5, place.Min.Y+5), d.Release(1))
			must(t, d.Press(1), a.MoveOnto(app.AllowFill, long), d.Release(1))
		}},
		{"a click in the first second", func(t *testing.T, a *asked) {
			a.soon(t, app.WaitingFill)
			click(t)
		}},
		{"a press in the first second, released later", func(t *testing.T, a *asked) {
			a.soon(t, app.WaitingFill)
			must(t, d.Press(1))
			_, err := a.Area(app.AllowFill, long)
			must(t, err, d.Release(1))
		}},
		{"a click just after the window moved", func(t *testing.T, a *asked) {
			must(t, a.MoveOnto(app.AllowFill, long))
			place, err := a.Place()
			must(t, err, a.MoveTo(place.Min.X+3, place.Min.Y+3))
			click(t)
		}},
		{"a press before the window moved, released after", func(t *testing.T, a *asked) {
			must(t, a.MoveOnto(app.AllowFill, long), d.Press(1))
			place, err := a.Place()
			must(t, err, a.MoveTo(place.Min.X+3, place.Min.Y+3), d.Release(1))
		}},
		{"a click just after the window was uncovered", func(t *testing.T, a *asked) {
			must(t, a.MoveOnto(app.AllowFill, long))
			uncover, err := a.Cover()
			must(t, err, uncover())
			click(t)
		}},
		{"a click just after the window lost the keyboard", func(t *testing.T, a *asked) {
			must(t, a.MoveOnto(app.AllowFill, long), a.Unfocus())
			click(t)
		}},
	} {
		t.Run("not by "+c.name, func(t *testing.T) { stays(t, d, request(), timed(c.name), c.act) })
	}

	t.Run("by a click a second after the window moved", func(t *testing.T) {
		a := ask(t, d, "th", request())
		_, err := a.Area(app.AllowFill, long)
		must(t, err, a.MoveTo(10, 10))
		a.soon(t, app.WaitingFill)
		must(t, a.Click(app.AllowFill, long))
		a.ends(t, approval.Allowed)
	})
}

// TestThirdButton: the lasting rule takes the same genuine click as Allow, and what is no such click does nothing.
func TestThirdButton(t *testing.T) {
	d := screen(t)
	text, err := os.ReadFile("../testdata/question_exec_always.json")
	var r approval.Request
	must(t, err, json.Unmarshal(text, &r))
	for _, language := range []string{"en", "th"} {
		a := ask(t, d, language, r)
		must(t, a.Click(app.AlwaysFill, long))
		if got := a.ends(t, approval.Allowed); !got.Always {
			t.Errorf("%s: a click on Always Allow allows once", language)
		}
		a = ask(t, d, language, r)
		must(t, a.Click(app.AllowFill, long))
		if got := a.ends(t, approval.Allowed); got.Always {
			t.Errorf("%s: a click on Allow makes a rule", language)
		}
		a = askIn(t, approval.Insisting(t.Context()), d, language, request())
		_, err := a.Area(app.AllowFill, long)
		must(t, err, a.SavePicture("../../build/screens/quiet_"+language+".png"), a.Click(app.QuietFill, long))
		if got := a.ends(t, approval.Refused); !got.Quiet {
			t.Errorf("%s: a click on Don't Ask only refuses", language)
		}
	}
	for _, c := range []struct {
		name string
		act  func(t *testing.T, a *asked)
	}{
		{"a click in the first second", func(t *testing.T, a *asked) {
			a.soon(t, app.UnreadyFill)
			must(t, d.Press(1), d.Release(1))
		}},
		{"keys", func(t *testing.T, a *asked) {
			must(t, a.MoveOnto(app.AlwaysFill, long), d.Key(apptest.Space), d.Key(apptest.Return), d.Key(apptest.Tab), d.Key(apptest.Space))
		}},
		{"the other mouse buttons", func(t *testing.T, a *asked) {
			must(t, a.MoveOnto(app.AlwaysFill, long), d.Press(2), d.Release(2), d.Press(3), d.Release(3))
		}},
		{"a press on it, released on Allow, and the other way round", func(t *testing.T, a *asked) {
			must(t, a.MoveOnto(app.AlwaysFill, long), d.Press(1), a.MoveOnto(app.AllowFill, long), d.Release(1))
			must(t, d.Press(1), a.MoveOnto(app.AlwaysFill, long), d.Release(1))
		}},
		{"a click just after the window moved", func(t *testing.T, a *asked) {
			must(t, a.MoveOnto(app.AlwaysFill, long))
			place, err := a.Place()
			must(t, err, a.MoveTo(place.Min.X+3, place.Min.Y+3), d.Press(1), d.Release(1))
		}},
	} {
		t.Run("not by "+c.name, func(t *testing.T) { stays(t, d, r, timed(c.name), c.act) })
	}
}

// TestPriority: a thread that has to wait for a busy computer keeps the process from ending, and with it the answer.
func TestPriority(t *testing.T) {
	a := ask(t, screen(t), "en", request())
	_, err := a.Area(app.RefuseFill, long)
	must(t, err)
	scheduled := func(stat string) (name []byte, nice, policy string) {
		text, err := os.ReadFile(stat)
		must(t, err)
		name, rest, _ := bytes.Cut(text, []byte(") "))
		fields := strings.Fields(string(rest)) // from the third one on, proc(5)
		return name, fields[19-3], fields[41-3]
	}
	_, own, _ := scheduled("/proc/self/stat")
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", a.PID()))
	must(t, err)
	for _, thread := range threads {
		name, nice, policy := scheduled(fmt.Sprintf("/proc/%d/task/%s/stat", a.PID(), thread.Name()))
		if nice != own || policy != "0" {
			t.Errorf("thread %s) has niceness %s, policy %s", name, nice, policy)
		}
	}
	must(t, a.Click(app.RefuseFill, long))
	a.ends(t, approval.Refused)
}

// TestPictures shows every question that package app has a golden file of, in both languages, and keeps a picture of each
// in build/screens. What a machine can see of them is measured here; the rest is for people to look at.
func TestPictures(t *testing.T) {
	files, err := filepath.Glob("../testdata/question_*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no questions", err)
	}
	d := screen(t)
	for _, file := range files {
		for _, language := range []string{"en", "th"} {
			name := strings.TrimSuffix(filepath.Base(file), ".json") + "_" + language
			t.Run(name, func(t *testing.T) {
				text, err := os.ReadFile(file)
				var r approval.Request
				must(t, err, json.Unmarshal(text, &r))
				a := ask(t, d, language, r)
				_, err = a.Area(app.RefuseFill, long)
				must(t, err, a.SavePicture("../../build/screens/"+name+".png"))
				// What doesn't fit can be reached.
				before, err := a.Picture()
				must(t, err, d.Key(apptest.PageDn))
				_, err = a.Changes(before, long)
				must(t, err)
				for err == nil { // to the end, where a key changes nothing
					before, err = a.Picture()
					must(t, err, d.Key(apptest.PageDn))
					_, err = a.Changes(before, 300*time.Millisecond)
				}
				must(t, a.SavePicture("../../build/screens/"+name+"_below.png"))
				must(t, a.Click(app.RefuseFill, long))
				a.ends(t, approval.Refused)
			})
		}
	}
}

// Where nothing can be shown, nothing is allowed, and the log says why.
func TestNothingToShow(t *testing.T) {
	could := func(t *testing.T, detail string) {
		t.Helper()
		r := request()
		got := app.NewDialog(app.NewWords("en")).WithPatience(long).Ask(t.Context(), r)
		if got.Verdict != approval.CouldNotShow || got.Covers(r) == nil || !strings.Contains(got.Detail, detail) {
			t.Errorf("%v (%s), want %q", got.Verdict, got.Detail, detail)
		}
		if err := app.CanAsk(); err == nil || !strings.Contains(err.Error(), detail) {
			t.Errorf("doctor says %v, want %q", err, detail)
		}
	}
	t.Run("a display", func(t *testing.T) {
		screen(t)
		must(t, app.CanAsk())
	})
	t.Run("no display", func(t *testing.T) {
		t.Setenv("DISPLAY", "")
		could(t, "DISPLAY")
	})
	t.Run("a display that isn't there", func(t *testing.T) {
		t.Setenv("DISPLAY", ":4242")
		could(t, "4242")
	})
	t.Run("no OpenGL", func(t *testing.T) {
		screen(t, "-extension", "GLX")
		could(t, "OpenGL")
	})
	t.Run("no cookie", func(t *testing.T) {
		screen(t)
		t.Setenv("XAUTHORITY", os.DevNull)
		could(t, "")
	})
}

// With any Thai font alone a question is shown; with none, one in Thai isn't, for nobody could read it, while in a question
// in English what is Thai stands as numbers.
func TestFonts(t *testing.T) {
	text, err := os.ReadFile("../testdata/question_thai.json")
	var r approval.Request
	must(t, err, json.Unmarshal(text, &r))
	for _, c := range []struct {
		name, pattern, language string
		want                    approval.Verdict
	}{
		{"noto", noto, "th", approval.Refused},
		{"tlwg", tlwg, "th", approval.Refused},
		{"garuda", "*/tlwg/Garuda*", "th", approval.Refused},
		{"norasi", "*/tlwg/Norasi.*", "th", approval.Refused}, // no bold
		{"latin", "*/dejavu/*", "th", approval.CouldNotShow},
		{"none", "", "th", approval.CouldNotShow},
		{"none", "", "en", approval.Refused},
	} {
		name := "fonts_" + c.name + "_" + c.language
		t.Run(name, func(t *testing.T) {
			d := screen(t)
			fill(t, filepath.Join(os.Getenv("HOME"), "only-fonts"), c.pattern)
			if c.want == approval.CouldNotShow {
				got := app.NewDialog(app.NewWords(c.language)).WithPatience(long).Ask(t.Context(), r)
				if got.Verdict != c.want || got.Covers(r) == nil || !strings.Contains(got.Detail, "found no font") {
					t.Errorf("%v (%s)", got.Verdict, got.Detail)
				}
				return
			}
			a := ask(t, d, c.language, r)
			_, err := a.Area(app.RefuseFill, long)
			must(t, err, a.SavePicture("../../build/screens/"+name+".png"), a.Click(app.RefuseFill, long))
			a.ends(t, c.want)
		})
	}
}

// A dialog leaves nothing behind, such as an index of fonts. What OpenGL's drivers keep isn't the dialog's.
func TestLeavesNothing(t *testing.T) {
	d := screen(t)
	r := request()
	r.Who.Name = "\u6f22\u5b57" // for which it looks at every font
	a := ask(t, d, "th", r)
	must(t, a.Click(app.RefuseFill, long))
	a.ends(t, approval.Refused)
	must(t, filepath.WalkDir(os.Getenv("HOME"), func(path string, f os.DirEntry, err error) error {
		if err == nil && !f.IsDir() && !strings.Contains(path, "/.cache/mesa_shader_cache") {
			t.Errorf("it left %s", path)
		}
		return err
	}))
}

// An OpenGL that says it is there but doesn't work must not make a dialog that is thought to be shown.
func TestBrokenOpenGL(t *testing.T) {
	d := screen(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "dialog")
	cmd.Env = append(d.Env(), "HOME="+t.TempDir(), "LIBGL_DRIVERS_PATH=/nonexistent")
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err, cmd.Start())
	go io.Copy(stdin, strings.NewReader(line(t, "en", request())))
	said, err := io.ReadAll(stdout)
	must(t, err)
	if err := cmd.Wait(); err == nil || len(said) != 0 {
		t.Errorf("ended with %v, said %s", err, said)
	}
}

// A dialog doesn't outlive who asked.
func TestParentGone(t *testing.T) {
	d := screen(t)
	cmd := exec.Command(os.Args[0], "dialog")
	cmd.Env = append(d.Env(), "HOME="+t.TempDir())
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err, cmd.Start())
	go io.Copy(stdin, strings.NewReader(line(t, "en", request())))
	w, err := d.Window("Handrail: a question", long)
	must(t, err)
	_, err = w.Area(app.AllowFill, long)
	must(t, err, stdin.Close())
	said, err := io.ReadAll(stdout)
	must(t, err, w.Gone(long))
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != statusGone || strings.Contains(string(said), "decision") {
		t.Errorf("ended with %v, said %s", err, said)
	}
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		args   []string
		stdin  string
		status int
		says   string
	}{
		{[]string{"window", "activity"}, "", statusUsage, "Handrail starts it"},
		{[]string{"window", "settings"}, "", statusUsage, "Handrail starts it"},
		{[]string{"window", "connect"}, "", statusUsage, "Handrail starts it"},
		{[]string{"window", "welcome"}, "", statusUsage, "Handrail starts it"},
		{[]string{"window", "other"}, "", statusUsage, "no such window"},
		{[]string{"window"}, "", statusUsage, "no such window"},
		{[]string{"dialog", "now"}, "", statusUsage, "usage"},
		{[]string{"dialog"}, "", statusRequest, "EOF"},
		{[]string{"dialog"}, "{}\n", statusRequest, "version"},
		{[]string{"dialog"}, "allow\n", statusRequest, "invalid"},
	} {
		cmd := exec.Command(os.Args[0], c.args...)
		cmd.Env = []string{}
		cmd.Stdin = strings.NewReader(c.stdin)
		var said strings.Builder
		cmd.Stdout, cmd.Stderr = &said, &said
		err := cmd.Run()
		if cmd.ProcessState.ExitCode() != c.status || !strings.Contains(said.String(), c.says) {
			t.Errorf("%q: %v, %s", c.args, err, said.String())
		}
	}
}

func request() approval.Request {
	return approval.Request{
		Kind: approval.EditFolder,
		Who:  client.Identity{ID: "stdio:/opt/claude/claude", Name: "Claude", Version: "1.2.3", Program: "/opt/claude/claude", PID: 4711, Signed: "Example Software Ltd"},
		Tool: "edit", Session: "LWNOB7XFVUX5M3QZKQGT2TXAZI",
		Folder: "/home/ann/Handrail/Holiday Photos", Home: "/home/ann", FolderID: grant.ID{Device: 2049, Inode: 1310733},
		Path: "/home/ann/Handrail/Holiday Photos/list.txt", Files: 214, Bytes: 1_234_567_890,
		Reason: "I’d like to sort the photos by month – and rename them.",
	}
}

func line(t *testing.T, language string, r approval.Request) string {
	t.Helper()
	q, err := app.NewQuestion(r, app.NewWords(language))
	must(t, err)
	text, err := json.Marshal(app.DialogRequest{Version: 1, Nonce: "00112233445566778899aabbccddeeff", Language: language, Question: q})
	must(t, err)
	return fmt.Sprintf("%s\n", text)
}

// Only words that are surely ours must be readable: no client can make a question unreadable, and so refused, with a name.
func TestTexts(t *testing.T) {
	const strange = "\u6f22"
	for _, kind := range []approval.Kind{approval.EditFolder, approval.EditCopies, approval.JoinFolder, approval.LookFolder, approval.Protected} {
		for _, language := range []string{"en", "th"} {
			for _, file := range []bool{false, true} {
				r := request()
				r.Kind, r.File, r.Reason, r.Tool, r.Session = kind, file, strange, strange, strange
				r.Who = client.Identity{ID: strange, Name: strange, Version: strange, Program: "/" + strange, Signed: strange}
				r.Folder, r.Path, r.Home = "/"+strange, "/"+strange+"/"+strange, "/"+strange
				q, err := app.NewQuestion(r, app.NewWords(language))
				must(t, err)
				own, foreign := texts(q)
				if strings.Contains(own, strange) || strings.Count(foreign, strange) < 8 {
					t.Errorf("%s %s: own %q, foreign %q", kind, language, own, foreign)
				}
				for _, ours := range []string{q.Window, q.Allow, q.Refuse, q.More, q.Facts[0].Label, q.Details[0].Label} {
					if ours == "" || !strings.Contains(own, ours) {
						t.Errorf("%s %s: %q isn't in %q", kind, language, ours, own)
					}
				}
			}
		}
	}
}
