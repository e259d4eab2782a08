// Package broker runs errands: the few things that a person's assistant may have done outside the sandbox, because nothing inside
// it can do them. It opens an app, a web address or a document, sets the clipboard or reads it, shows a notification, sets the
// volume.
//
//	errand, ok, err := broker.Read(plan, "darwin") // is the script exactly one of these?
//	out, err := broker.Broker{}.Do(ctx, errand)    // outside the sandbox
//
// [Read] takes a script that is one simple command with plain words, checks each of them, and refuses what could make another
// program run something: an app that runs what it is told, a document that isn't one, an address that isn't of the web. Whether
// an errand may be run, and whether the person is asked, the gate decides.
//
// [Broker.Do] never passes the script on, nor a shell. It starts a program of the system by its absolute path, owned by root, with
// arguments that are made here.
package broker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"handrail/core/hint"
)

// Kind is what an errand does. The zero value is none.
type Kind uint8

const (
	OpenApp        Kind = 1 + iota // start an app, or bring it to the front
	OpenAddress                    // show an address of the web in the browser
	OpenDocument                   // show a document in its app
	WriteClipboard                 // put text on the clipboard
	ReadClipboard                  // give the clipboard's text
	Notify                         // show a notification
	SetVolume                      // set the volume, or mute
)

var kinds = [...]string{"nothing", "open an app", "open an address", "open a document", "set the clipboard", "read the clipboard", "show a notification", "set the volume"}

func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return kinds[0]
}

// Errand is one thing to do. Only the fields that belong to its kind are set. The zero Errand does nothing.
type Errand struct {
	Kind Kind
	// App is an app's name, without a path.
	App string
	// Address is a whole web address, Host its host, with the port where one is named. Loopback says that it is this computer.
	Address, Host string
	Loopback      bool
	// Document is a path as the script has it. Whoever runs the errand finds the file, checks it (CheckDocument), and puts an
	// absolute path in its place.
	Document string
	// Text is for the clipboard or of a notification, with its Title and Subtitle.
	Text, Title, Subtitle string
	// Volume is 0 to 100; -1 leaves it. Mute is "true", "false", or "" to leave it.
	Volume int
	Mute   string
	// with is the program that the script names, where a system has several for one thing.
	with string
}

// Broker runs errands. The zero value does it with this system's own programs.
type Broker struct {
	// System is whose programs a script names, "darwin" or "linux"; empty: this one's.
	System string
	// Run starts a program and gives what it wrote. Nil: the real one, which takes programs of the system alone.
	Run func(context.Context, Program) (string, error)
	// Apps are the folders where apps are looked for; nil: the system's and those installed for everyone.
	Apps []string
}

// Program is what is started for an errand.
type Program struct {
	Path  string // absolute
	Args  []string
	Stdin string
	// Reads says that what it writes is wanted. Stays says that it may go on running when the errand is done.
	Reads, Stays bool
}

// SystemName is whose programs the broker knows.
func (b Broker) SystemName() string {
	if b.System == "" {
		return runtime.GOOS
	}
	return b.System
}

// Do runs an errand and gives its output, which only reading the clipboard has.
func (b Broker) Do(ctx context.Context, e Errand) (string, error) {
	p, err := b.program(e)
	if err != nil {
		return "", err
	}
	run := b.Run
	if run == nil {
		run = start
	}
	out, err := run(ctx, p)
	if err != nil {
		return "", hint.New("failed", fmt.Sprintf("%s didn't do it", filepath.Base(p.Path))).Because(err.Error()).Wrap(err)
	}
	return out, nil
}

// program gives the system's program for an errand, and its arguments.
func (b Broker) program(e Errand) (Program, error) {
	mac := b.SystemName() == "darwin"
	opener := "/usr/bin/xdg-open"
	if mac {
		opener = "/usr/bin/open"
	}
	switch e.Kind {
	case OpenApp:
		path, err := b.findApp(e.App)
		return Program{Path: opener, Args: []string{"-a", path}}, err
	case OpenAddress:
		return Program{Path: opener, Args: []string{e.Address}, Stays: true}, nil
	case OpenDocument:
		if !filepath.IsAbs(e.Document) || filepath.Clean(e.Document) != e.Document {
			return Program{}, fmt.Errorf("opening a document: %q is not absolute", e.Document)
		}
		return Program{Path: opener, Args: []string{e.Document}, Stays: true}, nil
	case WriteClipboard:
		p := Program{Path: "/usr/bin/" + e.with, Stdin: e.Text}
		if e.with == "xclip" {
			p.Args = []string{"-selection", "clipboard", "-in"}
		}
		return p, nil
	case ReadClipboard:
		p := Program{Path: "/usr/bin/" + e.with, Reads: true}
		switch e.with {
		case "xclip":
			p.Args = []string{"-selection", "clipboard", "-out"}
		case "wl-paste":
			p.Args = []string{"--type", "text/plain", "--no-newline"}
		}
		return p, nil
	case Notify:
		if !mac {
			return Program{Path: "/usr/bin/notify-send", Args: []string{"--app-name=Handrail", "--", e.Title, e.Text}}, nil
		}
		return Program{Path: "/usr/bin/osascript", Args: []string{
			"-e", "on run argv", "-e", "display notification (item 1 of argv) with title (item 2 of argv) subtitle (item 3 of argv)", "-e", "end run",
			"--", e.Text, e.Title, e.Subtitle}}, nil
	case SetVolume:
		script := "set volume"
		if e.Volume >= 0 {
			script += " output volume " + strconv.Itoa(min(e.Volume, 100))
		}
		if e.Mute != "" {
			script += " output muted " + strconv.FormatBool(e.Mute == "true")
		}
		return Program{Path: "/usr/bin/osascript", Args: []string{"-e", script}}, nil
	}
	return Program{}, fmt.Errorf("running an errand: there is none")
}

// appFolders hold apps that no command in the sandbox can have put there.
var appFolders = []string{"/Applications", "/Applications/Utilities", "/System/Applications", "/System/Applications/Utilities"}

// findApp finds an app by its name. The system would also find one in a folder that an assistant may change.
func (b Broker) findApp(name string) (string, error) {
	folders := b.Apps
	if folders == nil {
		folders = appFolders
	}
	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue
		}
		for _, entry := range entries {
			if strings.EqualFold(entry.Name(), name+".app") {
				return filepath.Join(folder, entry.Name()), nil
			}
		}
	}
	return "", hint.New("not_found", fmt.Sprintf("there is no app called %q", name)).Because("only apps in /Applications and of the system are opened").Then("check its name")
}
