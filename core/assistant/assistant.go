// Package assistant sets up the assistants on this computer to start Handrail: it finds those that are there, and puts one entry into the
// file in which each keeps its MCP servers, or takes it out again.
//
//	here := assistant.Computer{Home: home, Env: os.Getenv}
//	for _, a := range here.List(command) { … a.Name, a.State, a.File … }
//	change, err := here.Connect("zed", command, false)
//
// The file is the person's. All that stands in it stays byte for byte (comments, order, indentation, line ends, a byte order mark, other
// servers), and so do its mode, its owner, and a link in its place. A file that can't be read is left alone, and so is one in which
// another program stands under our name. What was there before is kept beside it; Disconnect takes out our entry alone, and gives the
// old file back byte for byte if nothing else has changed since. A change that another program makes in between is never overwritten.
//
// No program of others is run, and nothing is made for an assistant that isn't installed. ChatGPT has no such file: it reaches a
// computer through the public internet alone, which nothing here sets up.
package assistant

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"handrail/core/hint"
	"handrail/core/statefile"
)

// Computer is where assistants are looked for. The zero value has no home folder, and finds none.
type Computer struct {
	Home string // absolute
	// System is "darwin" or "linux"; empty is the one we run on.
	System string
	// Env looks up variables that move settings: XDG_CONFIG_HOME, CLAUDE_CONFIG_DIR, CODEX_HOME. Nil: none is set.
	Env func(string) string
	// Applications are the folders of apps; nil is /Applications and ~/Applications on macOS, and none elsewhere.
	Applications []string

	testOnlyBetween func() // between reading a file and replacing it
}

// Command is how an assistant is to start Handrail. Path must be one that lasts, as core/program judges.
type Command struct {
	Path string
	Args []string
}

// check refuses a path that an assistant couldn't start, or not as it is shown: bad_program.
func (c Command) check() error {
	if !filepath.IsAbs(c.Path) || !utf8.ValidString(c.Path) || strings.ContainsFunc(c.Path, unicode.IsControl) {
		return hint.New("bad_program", "assistants can't start "+shown(c.Path)).Because("it is no absolute path of ordinary characters")
	}
	return nil
}

// State says how an assistant stands to Handrail.
type State uint8

const (
	// NotFound: it isn't on this computer.
	NotFound State = iota
	// Apart: it doesn't start Handrail.
	Apart
	// Connected: it starts Handrail by the command that was asked about.
	Connected
	// Different: it starts Handrail by another command, such as that of an app that was moved, or is told not to start it.
	Different
	// Taken: another program stands under our name, or Handrail with an address.
	Taken
	// Broken: its file can't be read. Problem says why.
	Broken
)

var states = [...]string{"not found", "not connected", "connected", "connected to another Handrail, or switched off", "another program has the name handrail", "its file can't be read"}

func (s State) String() string { return states[s] }

// Assistant is what was found of one.
type Assistant struct {
	ID, Name string
	State    State
	// File is where its servers are configured, as it finds it: a link may stand there. The file may not exist.
	File string
	// Starts is the program of the entry under our name, and Args its arguments. They are the file's text: escape them before they are
	// shown.
	Starts string
	Args   []string
	// Terminal says that it is started anew for each session. Another must be quit and opened again to see a change.
	Terminal bool
	// Problem is set where State is Broken.
	Problem *hint.Hint
}

// Change is what Connect or Disconnect did.
type Change struct {
	Assistant Assistant
	// Nothing says that all was as it should be, and no file was touched.
	Nothing bool
	// Backup is where the file stands as it was before Handrail was in it; empty where there is none.
	Backup string
	// Restored says that Disconnect gave back the file as it was, byte for byte.
	Restored bool
}

// backupEnding is what the name of a copy ends in.
const backupEnding = ".before-handrail"

func (c Computer) filled() Computer {
	if c.System == "" {
		c.System = runtime.GOOS
	}
	return c
}

// List gives all known assistants, in a fixed order, as they stand to a command.
func (c Computer) List(command Command) []Assistant {
	c = c.filled()
	var all []Assistant
	for _, k := range known {
		a, s := c.look(k, command)
		s.close()
		all = append(all, a)
	}
	return all
}

// Find gives one. Errors are hints: unknown_assistant.
func (c Computer) Find(id string, command Command) (Assistant, error) {
	k, err := find(id)
	if err != nil {
		return Assistant{}, err
	}
	a, s := c.filled().look(k, command)
	s.close()
	return a, nil
}

// Text is what stands in an assistant's file when that says nothing but to start Handrail, for a person to put it there. An id that isn't
// known gets the shape that most assistants have.
func Text(id string, command Command) (string, error) {
	k, err := find(id)
	if err != nil {
		k = known[0]
	}
	if err := command.check(); err != nil {
		return "", err
	}
	text, err := add(k.format, nil, k.container, k.entry(command))
	return string(text), err
}

func find(id string) (kind, error) {
	at := slices.IndexFunc(known, func(k kind) bool { return k.id == id })
	if at < 0 {
		var ids []string
		for _, k := range known {
			ids = append(ids, k.id)
		}
		return kind{}, hint.New("unknown_assistant", "Handrail can't set up "+shown(id)).Then("those it can are " + strings.Join(ids, ", "))
	}
	return known[at], nil
}

// look finds an assistant, and reads its file. The settings are to be closed.
func (c Computer) look(k kind, command Command) (Assistant, *settings) {
	a := Assistant{ID: k.id, Name: k.name, Terminal: k.terminal}
	var installed bool
	if !filepath.IsAbs(c.Home) {
		return a, nil
	}
	if a.File, installed = c.file(k); !installed {
		return a, nil
	}
	s, err := k.open(a.File)
	if errors.Is(err, errNoFolder) { // installed, and never opened
		a.State = Apart
		return a, nil
	}
	var value any
	var there bool
	if err == nil {
		value, there, err = s.entry()
	}
	if err != nil {
		a.State, a.Problem = Broken, hint.Of(err)
		return a, s
	}
	switch e := k.stated(value); {
	case !there:
		a.State = Apart
	case !e.ours():
		a.State, a.Starts, a.Args = Taken, e.Path, e.Args
	case e.on && e.Path == command.Path && slices.Equal(e.Args, command.Args):
		a.State, a.Starts, a.Args = Connected, e.Path, e.Args
	default:
		a.State, a.Starts, a.Args = Different, e.Path, e.Args
	}
	return a, s
}

// stated is what an entry says.
type stated struct {
	Command
	on bool
}

func (k kind) stated(value any) (e stated) {
	m, _ := value.(map[string]any)
	name := k.command
	if name == "" {
		name = "command"
	}
	e.Path, _ = m[name].(string)
	args, _ := m["args"].([]any)
	for _, arg := range args {
		s, _ := arg.(string)
		e.Args = append(e.Args, s)
	}
	e.on = m["disabled"] != true && m["enabled"] != false
	return e
}

// ours reports whether it starts Handrail for one assistant, from whatever place.
func (e stated) ours() bool {
	return filepath.Base(e.Path) == "handrail" && len(e.Args) > 0 && (e.Args[0] == "stdio" || e.Args[0] == "serve" && slices.Contains(e.Args, "--stdio"))
}

// tries is how often a file that another program writes to at the same time is read again.
const tries = 5

// Connect has an assistant start Handrail by a command. An entry of ours that says another is replaced; with replace, so is that of
// another program. Errors are hints: unknown_assistant, not_installed, open_once, config_unreadable, config_file, config_busy, not_ours,
// bad_program.
func (c Computer) Connect(id string, command Command, replace bool) (Change, error) {
	if err := command.check(); err != nil {
		return Change{}, err
	}
	return c.again(id, command, func(k kind, a Assistant, s *settings) (Change, error) { return c.connect(k, a, s, command, replace) })
}

func (c Computer) connect(k kind, a Assistant, s *settings, command Command, replace bool) (Change, error) {
	ch := Change{Assistant: a}
	switch {
	case a.State == Connected:
		ch.Nothing, ch.Backup = true, s.backup()
		return ch, nil
	case a.State == Taken && !replace:
		return ch, k.taken(a)
	}
	after, err := add(k.format, s.text, k.container, k.entry(command))
	if err != nil {
		return ch, k.unreadable(a.File, err)
	}
	undo, err := s.keep(a.State == Different)
	if err != nil {
		return ch, k.fileProblem(a.File, err)
	}
	if err := c.replace(s, after); err != nil {
		undo()
		return ch, err
	}
	ch.Assistant.State, ch.Assistant.Starts, ch.Assistant.Args, ch.Backup = Connected, command.Path, slices.Clone(command.Args), s.backup()
	return ch, nil
}

// Disconnect takes our entry out of an assistant's file. Errors are those of Connect.
func (c Computer) Disconnect(id string) (Change, error) {
	return c.again(id, Command{}, func(k kind, a Assistant, s *settings) (Change, error) {
		ch := Change{Assistant: a}
		switch a.State {
		case Apart:
			ch.Nothing = true
			return ch, nil
		case Taken:
			return ch, k.taken(a)
		}
		value, _, err := s.entry()
		if err != nil {
			return ch, err
		}
		before, kept := s.before()
		if old, there, err := read(k.format, before, k.container); err != nil || there && k.stated(old).ours() {
			before, kept = nil, false // Handrail was in it already
		}
		after, err := add(k.format, before, k.container, k.entry(k.stated(value).Command))
		ch.Restored = err == nil && bytes.Equal(after, s.text) && (kept || s.backup() == "")
		if ch.Restored {
			after = before
		} else {
			if after, err = remove(k.format, s.text, k.container, kept && !has(k.format, before, k.container)); err != nil {
				return ch, k.unreadable(a.File, err)
			}
		}
		if err := c.replace(s, after); err != nil {
			return ch, err
		}
		ch.Assistant.State, ch.Assistant.Starts, ch.Assistant.Args = Apart, "", nil
		if ch.Restored {
			if err := os.Remove(s.path + backupEnding); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return ch, k.fileProblem(s.path+backupEnding, err)
			}
		}
		ch.Backup = s.backup()
		return ch, nil
	})
}

// again does something with an assistant's file, and once more if another program changed that in between.
func (c Computer) again(id string, command Command, do func(kind, Assistant, *settings) (Change, error)) (Change, error) {
	k, err := find(id)
	if err != nil {
		return Change{}, err
	}
	c = c.filled()
	for range tries {
		a, s := c.look(k, command)
		var ch Change
		switch {
		case a.State == NotFound:
			return Change{Assistant: a}, hint.New("not_installed", k.name+" isn't on this computer").Then("install it, open it once, and try again")
		case a.State == Broken:
			s.close()
			return Change{Assistant: a}, a.Problem
		case s == nil:
			return Change{Assistant: a}, hint.New("open_once", k.name+" has no settings yet").Because("the folder for " + shown(a.File) + " isn't there").Then("open " + k.name + " once, and try again")
		}
		ch, err = do(k, a, s)
		s.close()
		if hint.Code(err) != "stale" {
			return ch, err
		}
	}
	return Change{}, hint.New("config_busy", k.name+" writes to its settings all the time").Because("they changed whenever Handrail was about to").
		Then("nothing was changed; quit " + k.name + ", and try again").Wrap(err)
}

// replace puts a text in the place of what was read; nil takes the file away. An error that is stale is left for again.
func (c Computer) replace(s *settings, text []byte) error {
	if c.testOnlyBetween != nil {
		c.testOnlyBetween()
	}
	err := s.replace(text)
	if err == nil || hint.Code(err) == "stale" {
		return err
	}
	return s.kind.fileProblem(s.path, err)
}

// keep puts the file as it is beside itself. What is kept already stays where the file has our entry (ours): the copy is of before. undo
// takes away what keep made.
func (s *settings) keep(ours bool) (undo func(), err error) {
	copy := s.path + backupEnding
	_, err = os.Lstat(copy)
	was := err == nil
	switch {
	case s.text == nil && was:
		return func() {}, os.Remove(copy) // of another file, long gone
	case s.text == nil, ours && was:
		return func() {}, nil
	}
	return func() {
		if !was {
			os.Remove(copy)
		}
	}, statefile.Replace(copy, s.text)
}

// backup is where the copy is, "" if there is none.
func (s *settings) backup() string {
	if _, err := os.Lstat(s.path + backupEnding); err != nil {
		return ""
	}
	return s.path + backupEnding
}

// before reads the copy, nil if there is none that can be read.
func (s *settings) before() (text []byte, kept bool) {
	b, err := s.kind.open(s.path + backupEnding)
	if err != nil {
		return nil, false
	}
	defer b.close()
	return b.text, b.text != nil
}
