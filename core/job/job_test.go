package job

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"handrail/sandbox"
)

// fake is a process made of a function. It ends when the function returns, or when it is killed.
type fake struct {
	end                    chan struct{}
	once                   sync.Once
	exit                   sandbox.Exit
	ignoreTerm             bool
	terminated, killed     chan struct{}
	stdin, stdout, errPipe *os.File
}

func (f *fake) PID() int                    { return 1 }
func (f *fake) Wait() (sandbox.Exit, error) { <-f.end; return f.exit, nil }
func (f *fake) Terminate() error {
	select {
	case f.terminated <- struct{}{}:
	default:
	}
	if !f.ignoreTerm {
		f.finish(sandbox.Exit{Code: 143, Signal: "SIGTERM"})
	}
	return nil
}
func (f *fake) Kill() error {
	select {
	case f.killed <- struct{}{}:
	default:
	}
	f.finish(sandbox.Exit{Code: 137, Signal: "SIGKILL"})
	return nil
}
func (f *fake) finish(e sandbox.Exit) {
	f.once.Do(func() { f.exit = e; close(f.end); f.stdout.Close(); f.errPipe.Close(); f.stdin.Close() })
}

// engine gives an Engine whose processes run body; body gets copies of the pipes' ends and ends the process by returning.
func engine(body func(f *fake) sandbox.Exit) *Engine {
	e := &Engine{}
	e.testOnlyStart = func(_ sandbox.Policy, c sandbox.Command) (process, error) {
		dup := func(f *os.File) *os.File { return must(dupFile(f)) }
		f := &fake{end: make(chan struct{}), terminated: make(chan struct{}, 9), killed: make(chan struct{}, 9),
			stdin: dup(c.Stdin), stdout: dup(c.Stdout), errPipe: dup(c.Stderr)}
		go func() { f.finish(body(f)) }()
		return f, nil
	}
	return e
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func spec(t *testing.T) Spec {
	return Spec{Session: "s", Argv: []string{"/bin/true"}, Work: t.TempDir()}
}

func wait(t *testing.T, j *Job) Result {
	t.Helper()
	within(t, j.Done(), "the job did not end")
	return j.Result()
}

// ages are more than any machine takes for what a test waits for.
const ages = 2 * time.Minute

// within gives what comes, or is closed, before the test has waited for ages.
func within[T any](t *testing.T, from <-chan T, otherwise string) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(ages):
		t.Fatal(otherwise)
	}
	return v
}

func TestEnds(t *testing.T) {
	e := engine(func(f *fake) sandbox.Exit {
		in := new(bytes.Buffer)
		in.ReadFrom(f.stdin)
		fmt.Fprintf(f.stdout, "out %s\n", in)
		fmt.Fprintln(f.errPipe, "err")
		return sandbox.Exit{Code: 3, LeftRunning: 2}
	})
	s := spec(t)
	s.Input = []byte("code")
	j := must(e.Start(s))
	r := wait(t, j)
	if r.ExitCode != 3 || r.LeftRunning != 2 || r.Stopped != "" || r.Signal != "" {
		t.Errorf("%+v", r)
	}
	if got := string(j.Output.Stream(Stdout).Head); got != "out code\n" {
		t.Errorf("stdout %q", got)
	}
	if got := string(j.Output.Stream(Stderr).Head); got != "err\n" {
		t.Errorf("stderr %q", got)
	}
	if path, _, _ := j.Output.File(); path != "" {
		t.Errorf("short output was put into %s", path)
	}
	if entries := must(os.ReadDir(s.Work)); len(entries) != 0 {
		t.Errorf("the work folder holds %v", entries)
	}
}

// forever is a process that runs until it is stopped.
func forever(f *fake) sandbox.Exit { <-f.end; return sandbox.Exit{} }

func TestStops(t *testing.T) {
	for _, c := range []struct {
		name string
		stop func(e *Engine, j *Job)
		want Reason
	}{
		{"time-out", func(*Engine, *Job) {}, TimedOut},
		{"killed", func(_ *Engine, j *Job) { j.Stop(Killed) }, Killed},
		{"first reason stays", func(_ *Engine, j *Job) { j.Stop(Cancelled); j.Stop(Killed) }, Cancelled},
		{"session ended", func(e *Engine, _ *Job) { e.EndSession("s", Ended) }, Ended},
		{"closed", func(e *Engine, _ *Job) { e.Close(Stopped) }, Stopped},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := engine(forever)
			s := spec(t)
			if c.want == TimedOut {
				s.Timeout = 10 * time.Millisecond
			}
			j := must(e.Start(s))
			c.stop(e, j)
			if r := wait(t, j); r.Stopped != c.want || r.Signal != "SIGTERM" {
				t.Errorf("%+v", r)
			}
			// What ignored SIGTERM, or stayed behind, is killed also when the command itself obeyed.
			within(t, j.process.(*fake).killed, "the tree was not killed")
		})
	}
}

func TestKillsWhatIgnoresTerm(t *testing.T) {
	e := &Engine{}
	e.testOnlyStart = func(_ sandbox.Policy, c sandbox.Command) (process, error) {
		return &fake{end: make(chan struct{}), terminated: make(chan struct{}, 9), killed: make(chan struct{}, 9), ignoreTerm: true,
			stdin: must(dupFile(c.Stdin)), stdout: must(dupFile(c.Stdout)), errPipe: must(dupFile(c.Stderr))}, nil
	}
	j := must(e.Start(spec(t)))
	j.Stop(Killed)
	if r := wait(t, j); r.Signal != "SIGKILL" || r.Duration < Grace {
		t.Errorf("%+v", r)
	}
}

func TestRefuses(t *testing.T) {
	e := engine(forever)
	if _, err := e.Start(Spec{Session: "s"}); err == nil {
		t.Error("a job without a command started")
	}
	e.Close(Stopped)
	if _, err := e.Start(spec(t)); !errors.Is(err, ErrClosed) {
		t.Errorf("while closed: %v", err)
	}
	e.Open()
	j := must(e.Start(spec(t)))
	if _, ok := e.Find("t", j.ID); ok {
		t.Error("another session found the job")
	}
	if _, ok := e.Find("", j.ID); ok {
		t.Error("no session found the job")
	}
	e.EndSession("s", Ended)
	if _, ok := e.Find("s", j.ID); ok {
		t.Error("a job outlived its session")
	}
	// Through the real sandbox the zero policy runs nothing.
	if _, err := new(Engine).Start(spec(t)); err == nil {
		t.Error("a job ran under a policy that allows nothing")
	}
}

func TestLimit(t *testing.T) {
	e := engine(forever)
	s := spec(t)
	s.Background = true
	for range MaxBackground {
		s.Work = t.TempDir()
		must(e.Start(s))
	}
	if _, err := e.Start(s); !errors.Is(err, ErrLimit) {
		t.Errorf("the sixth: %v", err)
	}
	other := s
	other.Session, other.Work = "t", t.TempDir()
	if _, err := e.Start(other); err != nil {
		t.Errorf("another session's first: %v", err)
	}
	first := e.List("s")[0]
	first.Stop(Killed)
	wait(t, first)
	s.Work = t.TempDir()
	if _, err := e.Start(s); err != nil {
		t.Errorf("after one ended: %v", err)
	}
	e.Close(Stopped)
}

func TestLongOutput(t *testing.T) {
	const lines = 40_000
	e := engine(func(f *fake) sandbox.Exit {
		for i := range lines {
			fmt.Fprintf(f.stdout, "line %d\n", i)
		}
		return sandbox.Exit{}
	})
	j := must(e.Start(spec(t)))
	wait(t, j)
	var want bytes.Buffer
	for i := range lines {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	path, rotated, err := j.Output.File()
	if err != nil || rotated {
		t.Fatal(path, rotated, err)
	}
	if got := must(os.ReadFile(path)); !bytes.Equal(got, want.Bytes()) {
		t.Errorf("the file holds %d bytes of %d", len(got), want.Len())
	}
	if info := must(os.Stat(path)); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	all := j.Output.All()
	if all.Total != int64(want.Len()) || all.Missing != all.Total-int64(len(all.Head))-int64(len(all.Tail)) {
		t.Errorf("total %d, missing %d", all.Total, all.Missing)
	}
	if !bytes.HasPrefix(want.Bytes(), all.Head) || !bytes.HasSuffix(want.Bytes(), all.Tail) || len(all.Head) != headBytes || len(all.Tail) != tailBytes {
		t.Errorf("head %d bytes, tail %d bytes", len(all.Head), len(all.Tail))
	}
}

func TestRotates(t *testing.T) {
	o := newOutput(t.TempDir(), "x.log", true)
	block := bytes.Repeat([]byte("0123456789abcde\n"), 64<<10) // 1 MiB
	for range 70 {
		o.write(Stdout, block)
	}
	o.write(Stdout, []byte("the end\n"))
	path, rotated, err := o.File()
	if err != nil || !rotated {
		t.Fatal(rotated, err)
	}
	data := must(os.ReadFile(path))
	if len(data) > maxFile || len(data) < maxFile/2 || !bytes.HasSuffix(data, []byte("abcde\nthe end\n")) || !bytes.HasPrefix(data, []byte("0123456789abcde\n")) {
		t.Errorf("%d bytes, ending in %q", len(data), data[max(0, len(data)-20):])
	}
	o.close()
}

// A link that stands where the output would go must not be followed.
func TestOutputFileIsNew(t *testing.T) {
	dir, target := t.TempDir(), filepath.Join(t.TempDir(), "target")
	if err := os.WriteFile(target, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"job-1.log"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	e := engine(func(f *fake) sandbox.Exit {
		fmt.Fprint(f.stdout, strings.Repeat("x", 2*headBytes))
		return sandbox.Exit{}
	})
	s := spec(t)
	s.Work = dir
	j := must(e.Start(s))
	wait(t, j)
	if got := must(os.ReadFile(target)); string(got) != "mine" {
		t.Error("the output went through a link")
	}
	if path, _, err := j.Output.File(); path != "" || err == nil {
		t.Errorf("file %q, error %v", path, err)
	}
}

func TestGrown(t *testing.T) {
	o := newOutput("", "x", false)
	c := o.Grown(0)
	select {
	case <-c:
		t.Fatal("grown before anything was written")
	default:
	}
	o.write(Stderr, []byte("a"))
	within(t, c, "it hasn't grown")
	within(t, o.Grown(0), "it hasn't grown")
}

// A descriptor that was handed out of the tree keeps the pipe open; the job ends all the same.
func TestPipeHeldOpen(t *testing.T) {
	var held *os.File
	e := engine(func(f *fake) sandbox.Exit {
		held = must(dupFile(f.stdout))
		return sandbox.Exit{}
	})
	j := must(e.Start(spec(t)))
	wait(t, j)
	held.Close()
}

func TestManyJobs(t *testing.T) {
	e := engine(func(f *fake) sandbox.Exit { fmt.Fprint(f.stdout, "ok"); return sandbox.Exit{} })
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			s := spec(t)
			s.Session = fmt.Sprint(i % 7)
			j := must(e.Start(s))
			<-j.Done()
			if string(j.Output.All().Head) != "ok" {
				t.Errorf("job %s lost its output", j.ID)
			}
		})
	}
	wg.Wait()
	if left := e.List(""); len(left) != 0 {
		t.Errorf("%d ended jobs are kept", len(left))
	}
}

// The machine is kept awake for as long as a job runs.
func TestKeepsAwake(t *testing.T) {
	begun, ended := make(chan string, 1), make(chan struct{}, 1)
	e := engine(forever)
	e.testOnlyAwake = func(why string) func() {
		begun <- why
		return func() { ended <- struct{}{} }
	}
	j := must(e.Start(spec(t)))
	if why := within(t, begun, "it isn't kept awake"); why == "" {
		t.Error("no reason was given")
	}
	select {
	case <-ended:
		t.Error("it ended before the job")
	default:
	}
	j.Stop(Killed)
	within(t, ended, "it is kept awake")
	wait(t, j)

	e.testOnlyStart = func(sandbox.Policy, sandbox.Command) (process, error) { return nil, errors.New("no") }
	if _, err := e.Start(spec(t)); err == nil {
		t.Fatal("it started")
	}
	select {
	case <-begun:
		t.Error("what didn't start keeps the machine awake")
	default:
	}
}
