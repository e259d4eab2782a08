package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"handrail/app"
	"handrail/core"
	"handrail/core/assistant"
	"handrail/core/hint"
	"handrail/core/program"
	"handrail/core/server"
)

type uninstallCommand struct {
	places `embed:""`

	elsewhere bool // the state folder isn't the one that assistants start Handrail with
}

// made is something that Handrail made for the person, outside the workspace.
type made struct {
	what   string
	remove func() error
}

// Run lists what Handrail made, and removes it once the person has typed yes. The workspace and the program itself stay.
func (c *uninstallCommand) Run() error {
	var usual places
	if err := errors.Join(c.fill(), usual.fill()); err != nil {
		return err
	}
	c.elsewhere = c.State != usual.State
	running := hint.New("running", "Handrail runs").Then("quit it first")
	if server.Runs(core.Socket(c.State)) {
		return running
	}
	place, err := program.Find()
	if err != nil {
		return err
	}
	all, err := c.all()
	if err != nil {
		return err
	}
	fmt.Printf("%s and all that is in it stays; it is yours.\n", c.Workspace)
	if len(all) == 0 {
		fmt.Println("Handrail has made nothing else.")
		sayProgram(place)
		return nil
	}
	fmt.Println("Handrail made:")
	for _, m := range all {
		fmt.Println("  " + m.what)
	}
	yes, err := typedYes("All of that is removed for good, also what could be undone. Type yes: ")
	if err != nil {
		return fmt.Errorf("nothing was removed, since nobody can be asked here: %w", err)
	}
	if !yes {
		return errors.New("nothing was removed")
	}
	if server.Runs(core.Socket(c.State)) { // an assistant may have started it meanwhile
		return running
	}
	var failed []error // what can't be removed keeps nothing else
	for _, m := range all {
		if err := m.remove(); err != nil {
			failed = append(failed, fmt.Errorf("removing %s: %w", m.what, err))
		}
	}
	if len(failed) == 0 {
		fmt.Println("Removed.")
	}
	sayProgram(place)
	return errors.Join(failed...)
}

func sayProgram(place program.Place) {
	switch {
	case runtime.GOOS == "darwin":
		fmt.Printf("The app itself: move %s to the trash.\n", place.Folder)
	case strings.HasPrefix(place.Folder, "/usr/lib/"):
		fmt.Println("The program itself: sudo apt remove handrail")
	default:
		fmt.Printf("The program itself: remove %s.\n", place.Folder)
	}
}

// all lists what there is. A folder is taken for Handrail's own only if its activity log, or its mark, is in it: --state may name any.
// The assistants that start Handrail are asked about with the state folder that they use.
func (c *uninstallCommand) all() (all []made, err error) {
	list := func(path string) {
		if info, err := os.Lstat(path); err == nil && (info.IsDir() || info.Mode().IsRegular()) {
			all = append(all, made{path, func() error { return removeListed(path, info) }})
		}
	}
	if !c.elsewhere {
		here := assistant.Computer{Home: c.home, Env: os.Getenv}
		for _, a := range here.List(assistant.Command{}) {
			if a.State == assistant.Different && !slices.ContainsFunc(a.Args, func(arg string) bool { return strings.HasPrefix(arg, "--state") }) {
				all = append(all, made{fmt.Sprintf("in the settings of %s, %s: the entry that starts Handrail", a.Name, a.File), func() error {
					change, err := here.Disconnect(a.ID)
					if err == nil && change.Backup != "" {
						told(change)
					}
					return err
				}})
			}
		}
	}
	log, _ := core.LogFiles(c.State)
	// The usual folder is Handrail's by its name: commands that need no server leave files in it before there is a log.
	if _, err := os.Stat(log); err == nil || errors.Is(err, os.ErrNotExist) && !c.elsewhere && exists(c.State) {
		for _, path := range []string{c.State, c.work} {
			if inside(c.Workspace, path) || inside(c.home, path) {
				return nil, fmt.Errorf("%s holds more than Handrail's own files", path)
			}
		}
		list(c.State)
		if core.OwnsWork(c.work) {
			list(c.work)
		} else if exists(c.work) {
			fmt.Printf("%s stays: Handrail didn't make it.\n", c.work)
		}
		for _, account := range []string{keyAccount(c.State), switchAccount(c.State), settingsAccount(c.State)} {
			all = append(all, made{fmt.Sprintf("in the keychain, if it is there: %s, %s", keyService, account), func() error {
				if err := app.Forget(keyService, account); !errors.Is(err, app.ErrNoKeychain) {
					return err
				}
				return nil // then it holds none
			}})
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if on, err := app.StartsAtLogin(); err == nil && on {
		all = append(all, made{strings.TrimSpace("that it starts when you log in " + app.LoginFile()), func() error { return app.StartAtLogin("", false) }})
	}
	if runtime.GOOS == "darwin" { // what the system keeps for an app, by its identifier
		for _, name := range []string{"HTTPStorages/app.handrail", "Saved Application State/app.handrail.savedState", "Logs/Handrail", "Preferences/app.handrail.plist"} {
			list(filepath.Join(c.home, "Library", name))
		}
	}
	return all, nil
}

// removeListed removes a file, or a folder with all that is in it, if it is the one that was listed. Another that stands at its path by
// now isn't touched.
func removeListed(path string, was fs.FileInfo) error {
	parent, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer parent.Close()
	name := filepath.Base(path)
	other := errors.New("another one is there by now")
	if was.IsDir() {
		folder, err := parent.OpenRoot(name)
		if err != nil {
			return err
		}
		defer folder.Close()
		if info, err := folder.Stat("."); err != nil || !os.SameFile(info, was) {
			return errors.Join(other, err)
		}
		entries, err := fs.ReadDir(folder.FS(), ".")
		failed := []error{err} // what can't be removed keeps nothing else
		for _, e := range entries {
			failed = append(failed, folder.RemoveAll(e.Name()))
		}
		if err := errors.Join(failed...); err != nil {
			return err
		}
	}
	if info, err := parent.Lstat(name); err != nil || !os.SameFile(info, was) {
		return errors.Join(other, err)
	}
	return parent.Remove(name)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// inside says whether path is folder or below it, links resolved as far as they can be.
func inside(path, folder string) bool {
	for _, p := range []*string{&path, &folder} {
		if real, err := filepath.EvalSymlinks(*p); err == nil {
			*p = real
		}
	}
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// typedYes asks on the terminal from which the program was started.
func typedYes(prompt string) (bool, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return false, err
	}
	defer tty.Close()
	if _, err := io.WriteString(tty, prompt); err != nil {
		return false, err
	}
	line, err := bufio.NewReader(tty).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return strings.TrimSpace(line) == "yes", nil
}
