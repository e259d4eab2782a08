//go:build !darwin

package tool

// installing says how a person gets a program.
var installing = map[string]string{
	"python3": "on Debian and Ubuntu, sudo apt install python3; elsewhere the system's package python3",
	"git":     "on Debian and Ubuntu, sudo apt install git; elsewhere the system's package git",
}

func notShim(string) error { return nil }
