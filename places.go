package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// places says where our own files and the workspace are. Empty: the defaults of the system.
type places struct {
	State     string `help:"Folder of Handrail's own files." type:"path" placeholder:"DIR"`
	Workspace string `help:"Folder that assistants work in; made if missing." type:"path" placeholder:"DIR"`

	home, work string
}

// fill sets what was left out: on macOS below ~/Library, elsewhere by the XDG Base Directory Specification.
func (p *places) fill() error {
	home, err := os.UserHomeDir()
	if err != nil {
		return fmt.Errorf("finding the home folder: %w", err)
	}
	p.home = home
	if p.Workspace == "" {
		p.Workspace = filepath.Join(home, "Handrail")
	}
	if p.State != "" {
		p.work = p.State + "-work"
		return nil
	}
	if runtime.GOOS == "darwin" {
		p.State = filepath.Join(home, "Library", "Application Support", "Handrail")
		p.work = filepath.Join(home, "Library", "Caches", "Handrail", "work")
		return nil
	}
	p.State = filepath.Join(xdg("XDG_STATE_HOME", home, ".local/state"), "handrail")
	p.work = filepath.Join(xdg("XDG_CACHE_HOME", home, ".cache"), "handrail", "work")
	return nil
}

// xdg gives an XDG folder. The specification has relative values ignored.
func xdg(variable, home, otherwise string) string {
	if dir := os.Getenv(variable); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(home, otherwise)
}
