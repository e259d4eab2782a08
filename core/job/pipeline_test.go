package job

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"testing/synctest"

	"handrail/sandbox"
)

// stages gives an Engine whose processes run body with the stage's words.
func stages(body func(argv []string, in io.Reader, out, errs io.Writer) sandbox.Exit) *Engine {
	e := &Engine{}
	e.testOnlyStart = func(_ sandbox.Policy, c sandbox.Command) (process, error) {
		if c.Argv[0] == "missing" {
			return nil, os.ErrNotExist
		}
		dup := func(f *os.File) *os.File {
			if f == nil {
				return must(os.OpenFile(os.DevNull, os.O_RDWR, 0))
			}
			return must(dupFile(f))
		}
		f := &fake{end: make(chan struct{}), terminated: make(chan struct{}, 9), killed: make(chan struct{}, 9),
			stdin: dup(c.Stdin), stdout: dup(c.Stdout), errPipe: dup(c.Stderr)}
		go func() { f.finish(body(c.Argv, f.stdin, f.stdout, f.errPipe)) }()
		return f, nil
	}
	return e
}

func upper(argv []string, in io.Reader, out, errs io.Writer) sandbox.Exit {
	data, _ := io.ReadAll(in)
	io.WriteString(out, argv[0]+"("+string(data)+")")
	io.WriteString(errs, "E"+argv[0]+" ")
	return sandbox.Exit{Code: len(argv) - 1, LeftRunning: 1}
}

func TestPipeline(t *testing.T) {
	for _, c := range []struct {
		name      string
		stages    []Stage
		out, errs string
	}{
		{"one", []Stage{{Argv: []string{"a", "x"}}}, "a()", "Ea "},
		{"three", []Stage{{Argv: []string{"a"}}, {Argv: []string{"b"}}, {Argv: []string{"c", "x"}}}, "c(b(a()))", "Ea Eb Ec "},
		{"dropped", []Stage{{Argv: []string{"a"}, Errors: Dropped}, {Argv: []string{"b", "x"}}}, "b(a())", "Eb "},
		{"joined", []Stage{{Argv: []string{"a"}, Errors: Joined}, {Argv: []string{"b", "x"}, Errors: Joined}}, "b(a()Ea )Eb ", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, err := stages(upper).Start(Spec{Stages: c.stages, Work: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			within(t, j.Done(), "the job did not end")
			r := j.Result()
			if out, errs := string(j.Output.Stream(Stdout).Head), string(j.Output.Stream(Stderr).Head); out != c.out || len(errs) != len(c.errs) || r.ExitCode != 1 || r.LeftRunning != len(c.stages) {
				t.Errorf("%q, %q, %+v", out, errs, r)
			}
		})
	}
}

// A stage that can't be started takes those before it along.
func TestPipelineNotStarted(t *testing.T) {
	gone := make(chan struct{})
	e := stages(func(_ []string, in io.Reader, out, _ io.Writer) sandbox.Exit {
		defer close(gone)
		for {
			if _, err := out.Write(bytes.Repeat([]byte("x"), 4096)); err != nil {
				return sandbox.Exit{}
			}
		}
	})
	if j, err := e.Start(Spec{Stages: []Stage{{Argv: []string{"a"}}, {Argv: []string{"missing"}}}, Work: t.TempDir()}); j != nil || !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("%v, %v", j, err)
	}
	within(t, gone, "the stage before goes on")
}

// A first stage that no one reads any more, and that doesn't notice, is killed.
func TestPipelineUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf := &fake{end: make(chan struct{}), killed: make(chan struct{}, 9)}
		null := func() *os.File { return must(os.Open(os.DevNull)) }
		deaf.stdin, deaf.stdout, deaf.errPipe = null(), null(), null()
		last := &fake{end: make(chan struct{}), exit: sandbox.Exit{Code: 3}}
		close(last.end)
		exit, err := (&pipeline{[]process{deaf, last}}).Wait()
		if exit.Code != 3 || err != nil || len(deaf.killed) != 1 {
			t.Errorf("%+v, %v, killed %d", exit, err, len(deaf.killed))
		}
	})
}
