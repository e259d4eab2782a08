// Package program finds Handrail's own program and judges whether it stands where it will stand tomorrow.
//
// An assistant is connected by writing our program's path into its settings. That path must stay: on macOS an app that was
// downloaded and opened where it was unpacked runs from a random folder that is gone later (App Translocation), and one
// that is opened on its disk image is gone when that is ejected. [Find] gives the [Place]; who writes the path down asks
// [Place.Err] first, which says what the person should do.
//
// It knows no more than the path and the volume. That a place may stay doesn't mean that it will: the person can move the
// app later, and then connects again.
package program

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"handrail/core/hint"
)

// Verdict says whether a place stays. The zero value doesn't know, and refuses.
type Verdict uint8

const (
	Unknown      Verdict = iota
	Stays                // nothing speaks against it
	Translocated         // macOS runs it from a random folder until the person moves the app in Finder
	DiskImage            // on a volume that can't be written, such as the downloaded disk image
	Trash                // in the person's trash
	OtherUser            // in the home folder of another user, who may change or remove it
	SecondCopy           // another copy is in the Applications folder
)

var names = [...]string{"unknown", "stays", "translocated", "disk-image", "trash", "other-user", "second-copy"}

// String is the verdict's name, lower-case words joined with "-".
func (v Verdict) String() string {
	if int(v) < len(names) {
		return names[v]
	}
	return names[Unknown]
}

// Place is where the program stands. The zero value is nowhere.
type Place struct {
	// Executable is `handrail` itself, with links resolved.
	Executable string
	// Folder holds it: the whole bundle on macOS if it is in one, whatever that is called, else the folder.
	Folder string
	// Verdict says whether it stays there.
	Verdict Verdict
	// Installed is the copy that should be used instead, for SecondCopy.
	Installed string
}

// Facts is what [Judge] goes by.
type Facts struct {
	// System is a GOOS.
	System string
	// Executable is absolute, links resolved; Home is the user's home folder.
	Executable, Home string
	// ReadOnly says that the volume that holds the executable can't be written.
	ReadOnly bool
	// Installed is another copy of Handrail in an Applications folder, "" for none.
	Installed string
}

// Judge gives the place for the facts. It looks at nothing itself.
func Judge(f Facts) Place {
	p := Place{Executable: f.Executable}
	if !filepath.IsAbs(f.Executable) {
		return p
	}
	p.Folder = folder(f.Executable)
	bundled := p.Folder != filepath.Dir(f.Executable)
	users := filepath.Dir(f.Home)
	switch {
	case f.System == "darwin" && strings.Contains(f.Executable, "/AppTranslocation/"):
		p.Verdict = Translocated
	case f.System == "darwin" && f.ReadOnly && within(f.Executable, "/Volumes"):
		p.Verdict = DiskImage
	case within(f.Executable, filepath.Join(f.Home, ".Trash")), within(f.Executable, filepath.Join(f.Home, ".local/share/Trash")),
		strings.Contains(f.Executable, "/.Trashes/"):
		p.Verdict = Trash
	case filepath.IsAbs(f.Home) && users != "/" && within(f.Executable, users) && !within(f.Executable, f.Home) && !within(f.Executable, filepath.Join(users, "Shared")):
		p.Verdict = OtherUser
	case bundled && f.Installed != "" && f.Installed != p.Folder:
		p.Verdict, p.Installed = SecondCopy, f.Installed
	default:
		p.Verdict = Stays
	}
	return p
}

// folder gives the bundle around an executable, else its folder.
func folder(executable string) string {
	dir := filepath.Dir(executable)
	if contents := filepath.Dir(dir); filepath.Base(dir) == "MacOS" && filepath.Base(contents) == "Contents" {
		return filepath.Dir(contents)
	}
	return dir
}

func within(path, folder string) bool { return strings.HasPrefix(path, folder+"/") }

// Find judges the program that runs.
func Find() (Place, error) {
	executable, err := os.Executable()
	if err == nil {
		executable, err = filepath.EvalSymlinks(executable)
	}
	if err != nil {
		return Place{}, fmt.Errorf("finding Handrail's own executable: %w", err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return Place{}, fmt.Errorf("finding the home folder: %w", err)
	}
	f := Facts{System: runtime.GOOS, Executable: executable, Home: home}
	if f.ReadOnly, err = readOnly(executable); err != nil {
		return Place{}, fmt.Errorf("looking at the volume that holds %s: %w", executable, err)
	}
	if f.System == "darwin" {
		f.Installed = installed(folder(executable), "/Applications/Handrail.app", filepath.Join(home, "Applications/Handrail.app"))
	}
	return Judge(f), nil
}

// installed gives the first of some copies that exists, "" if none does or ours is one of them.
func installed(ours string, copies ...string) (first string) {
	here, err := os.Stat(ours)
	if err != nil {
		return ""
	}
	for _, path := range copies {
		switch there, err := os.Stat(path); {
		case err != nil:
		case os.SameFile(here, there):
			return ""
		case first == "":
			first = path
		}
	}
	return first
}

// Lasting gives the path to write down. Outside of a bundle, a name in one of the folders of path that leads to the executable is better
// than the executable's own path, for a package manager's has a version in it that is gone with the next.
func (p Place) Lasting(path []string) string {
	own, err := os.Stat(p.Executable)
	if err != nil || p.Folder != filepath.Dir(p.Executable) {
		return p.Executable
	}
	for _, dir := range append(path[:len(path):len(path)], "/opt/homebrew/bin", "/usr/local/bin") {
		link := filepath.Join(dir, "handrail")
		if there, err := os.Stat(link); err == nil && filepath.IsAbs(dir) && os.SameFile(own, there) {
			return link
		}
	}
	return p.Executable
}

// Err is nil for a place that stays, else a hint that says why the path must not be written down, and what to do.
func (p Place) Err() error {
	const move = "drag Handrail into the Applications folder in Finder, and open it from there"
	h := hint.New("place_"+strings.ReplaceAll(p.Verdict.String(), "-", "_"), "Handrail runs from a place where an assistant won't find it again")
	switch p.Verdict {
	case Stays:
		return nil
	case Translocated:
		return h.Because("macOS runs a downloaded app from a folder that is gone later, until the app is moved").Then(move)
	case DiskImage:
		return h.Because("it is on the disk image, which goes away when it is ejected").Then(move)
	case Trash:
		return h.Because("it is in the trash").Then("put Handrail back, or use another copy")
	case OtherUser:
		return h.Because("it is in another user's home folder").Then("put Handrail into the folder of applications that all users share, and start it from there")
	case SecondCopy:
		return h.Because(fmt.Sprintf("it is a second copy: the one that is installed is %s", p.Installed)).Then("quit this one and open that, or move that to the trash")
	default:
		return h.Because("its path is not known").Then("start Handrail from the folder of applications")
	}
}
