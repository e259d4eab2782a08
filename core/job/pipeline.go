package job

import (
	"errors"
	"fmt"
	"os"
	"time"

	"handrail/sandbox"
)

// Stage is one program of a pipeline: each reads what the one before it writes. Each runs in a sandbox of its own.
type Stage struct {
	Argv   []string
	Env    []string // the whole environment
	Errors Errors
}

// Errors says where a stage's error text goes.
type Errors uint8

const (
	Kept    Errors = iota // with the job's
	Dropped               // nowhere
	Joined                // with its output, to the next stage
)

// pipeline is the process of a job with stages. It ends as its last stage does.
type pipeline struct{ stages []process }

// startStages starts the stages from the first to the last. If one can't be started, those before it are killed.
func startStages(stages []Stage, p sandbox.Policy, c sandbox.Command, start func(sandbox.Policy, sandbox.Command) (process, error)) (process, error) {
	var started pipeline
	in, own := c.Stdin, false // own says that in is ours to close
	for i, s := range stages {
		c := sandbox.Command{Argv: s.Argv, Dir: c.Dir, Env: s.Env, Stdin: in, Stdout: c.Stdout, Stderr: c.Stderr}
		var next *os.File
		var err error
		last := i == len(stages)-1
		if !last {
			if next, c.Stdout, err = os.Pipe(); err != nil {
				err = fmt.Errorf("starting a job: making a pipe: %w", err)
			}
		}
		switch s.Errors {
		case Dropped:
			c.Stderr = nil
		case Joined:
			c.Stderr = c.Stdout
		}
		var running process
		if err == nil {
			running, err = start(p, c)
			if !last {
				c.Stdout.Close()
			}
		}
		if own {
			in.Close()
		}
		if err != nil {
			if next != nil {
				next.Close()
			}
			_ = started.Kill()
			for _, s := range started.stages {
				_, _ = s.Wait()
			}
			return nil, err
		}
		started.stages = append(started.stages, running)
		in, own = next, true
	}
	return &started, nil
}

// PID is that of the last stage.
func (p *pipeline) PID() int { return p.stages[len(p.stages)-1].PID() }

// Wait waits for all stages. What still runs a while after the last has ended writes to nobody, and is killed.
func (p *pipeline) Wait() (sandbox.Exit, error) {
	last := len(p.stages) - 1
	var errs []error
	exits := make([]sandbox.Exit, last+1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i, s := range p.stages[:last] {
			exit, err := s.Wait()
			exits[i], errs = exit, append(errs, err)
		}
	}()
	exit, err := p.stages[last].Wait()
	t := time.NewTimer(Grace)
	defer t.Stop()
	select {
	case <-ended:
	case <-t.C:
		for _, s := range p.stages[:last] {
			_ = s.Kill()
		}
		<-ended
	}
	for _, e := range exits[:last] {
		exit.LeftRunning += e.LeftRunning
	}
	return exit, errors.Join(append(errs, err)...)
}

// Denials are those of the last stage, whose exit code is the pipeline's.
func (p *pipeline) Denials(wait time.Duration) []sandbox.Denial {
	return (&Job{process: p.stages[len(p.stages)-1]}).Denials(wait)
}

func (p *pipeline) Terminate() error { return p.each(process.Terminate) }
func (p *pipeline) Kill() error      { return p.each(process.Kill) }

func (p *pipeline) each(f func(process) error) error {
	var errs []error
	for _, s := range p.stages {
		errs = append(errs, f(s))
	}
	return errors.Join(errs...)
}
