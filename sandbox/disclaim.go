package sandbox

import "path/filepath"

// disclaimWord is the argument with which `handrail launch` becomes another program that answers for itself.
const disclaimWord = "disclaim"

// disclaiming gives the arguments by which our own program is started so that it becomes argv. On macOS a program rides on the
// privacy permissions (files of other apps, contacts, the camera …) that the person gave the app it was started by, unless that
// app disclaims it as it starts.
func disclaiming(executable string, argv []string) []string {
	return append([]string{executable, "launch", disclaimWord, "--"}, argv...)
}

// disclaimed gives the program and arguments out of launch's arguments; ok is false if they aren't for that.
func disclaimed(args []string) (argv []string, ok bool) {
	if len(args) < 3 || args[0] != disclaimWord || args[1] != "--" || !filepath.IsAbs(args[2]) {
		return nil, false
	}
	return args[2:], true
}
