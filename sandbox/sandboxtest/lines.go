package sandboxtest

import (
	"flag"
	"fmt"
	"strings"

	"handrail/sandbox"
)

// lines makes the tests print what `make escape` shows: a line for each attack, and their count.
var lines = flag.Bool("lines", false, "try attacks only, and print a line for each")

var deniedCount, throughCount int

// tried counts an attack and prints its line; triedSome does for n of a kind.
func tried(where, name string, held bool, how string) { triedSome(1, where, name, held, how) }

func triedSome(n int, where, name string, held bool, how string) {
	word := "denied"
	if held {
		deniedCount += n
	} else {
		throughCount += n
		word = "GOT THROUGH"
	}
	if *lines {
		fmt.Printf("%-16s %-55s %s: %s\n", where, name, word, how)
	}
}

// attack reports whether a case tries something that must be denied.
func (c Case) attack() bool {
	return c.Fails || strings.Contains(strings.ReplaceAll(c.Script, "test ! ", ""), "! ")
}

// denials are the words of errors that deny.
var denials = []string{"Operation not permitted", "Permission denied", "Read-only file system", "Invalid cross-device link", "No such file or directory", "nonexistent", "not permitted"}

// denialIn picks the words of a denial from what a script wrote.
func denialIn(out string, exit sandbox.Exit) string {
	for _, words := range denials {
		if n := strings.Count(out, words); n > 1 {
			return fmt.Sprintf("%s (%d times)", words, n)
		} else if n == 1 {
			return words
		}
	}
	if exit.Code != 0 {
		return fmt.Sprintf("it ended with status %d", exit.Code)
	}
	return "each try failed"
}
