package edit

import (
	"bytes"
	"fmt"
	"time"
)

// programHeads are how files begin that a system runs: scripts, and programs for Linux and macOS.
var programHeads = [][]byte{[]byte("#!"), []byte("\x7fELF"), {0xca, 0xfe, 0xba, 0xbe}, {0xca, 0xfe, 0xba, 0xbf}, {0xcf, 0xfa, 0xed, 0xfe}, {0xce, 0xfa, 0xed, 0xfe},
	{0xfe, 0xed, 0xfa, 0xce}, {0xfe, 0xed, 0xfa, 0xcf}}

// runs reports whether a file with this content and mode can be run as a program.
func runs(content []byte, perm uint32) bool {
	if perm&0o111 != 0 {
		return true
	}
	for _, head := range programHeads {
		if bytes.HasPrefix(content, head) {
			return true
		}
	}
	return false
}

// quarantineMark is the value of the attribute by which macOS knows that a file came from elsewhere (as of a download: flags, time
// in hex, program), so that it asks, or checks, before it is opened.
func quarantineMark(now time.Time) string { return fmt.Sprintf("0081;%08x;Handrail;", now.Unix()) }
