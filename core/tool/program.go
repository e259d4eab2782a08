package tool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"handrail/core/hint"
	"handrail/sandbox"
)

// program finds an installed program by its name in the folders where the room's commands look, as an absolute path that
// the room's policy lets them run. A stand-in of macOS that only offers to install Apple's tools is none. Where there is no
// such program the error is a hint with the code "not_installed" and the advice that installing names for the name.
func (r Room) program(name string) (string, error) {
	for dir := range strings.SplitSeq(r.variable("PATH"), string(filepath.ListSeparator)) {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil || !filepath.IsAbs(path) || info.IsDir() || info.Mode()&0o111 == 0 {
			continue
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil || !r.Policy.Decide(sandbox.Read, path).Allowed || !r.Policy.Decide(sandbox.Read, real).Allowed || notShim(path) != nil {
			continue
		}
		return path, nil
	}
	return "", hint.New("not_installed", fmt.Sprintf("there is no %s on this computer that a command may run", name)).
		Then("tell the person; they can install it: " + installing[name])
}

// variable gives a variable of the room's environment, "" if it isn't set.
func (r Room) variable(name string) (v string) {
	for _, e := range r.Env {
		if n, text, ok := strings.Cut(e, "="); ok && n == name {
			v = text
		}
	}
	return v
}
