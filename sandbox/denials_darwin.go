package sandbox

import (
	"bufio"
	"context"
	"os/exec"
	"sync/atomic"
	"time"
)

// recorded is what the log said.
var recorded denials

// untagged says that this macOS doesn't take a profile whose refusals bear a mark. It is then used without: the marks only tell.
var untagged atomic.Bool

// WatchDenials reads the kernel's records of what it refuses to commands, as macOS's log tells them, until ctx ends. Only an
// administrator may read them; others get none. They come seconds late, and some are left out as duplicates.
func WatchDenials(ctx context.Context) {
	for fails := 0; fails < 3 && ctx.Err() == nil; {
		begun := time.Now()
		// The time-out ends it where Handrail itself was killed.
		cmd := exec.CommandContext(ctx, "/usr/bin/log", "stream", "--style", "ndjson", "--timeout", "15m",
			"--predicate", `processID == 0 AND sender == "Sandbox" AND eventMessage CONTAINS "`+markPrefix+`"`)
		cmd.Env = []string{}
		out, err := cmd.StdoutPipe()
		if err != nil || cmd.Start() != nil {
			return
		}
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, maxRecord)
		for lines.Scan() {
			if of, d, ok := parseDenial(lines.Bytes()); ok {
				recorded.add(of, d)
			}
		}
		cmd.Process.Kill() // after a line that is too long
		cmd.Wait()
		if fails++; time.Since(begun) > time.Minute {
			fails = 0
		}
	}
}

// Denials gives what the kernel's log has told that it refused to the command: the newest, the oldest of them first. Where records
// can be had it waits that long for the first.
func (p *Process) Denials(wait time.Duration) []Denial {
	for end := time.Now().Add(wait); ; time.Sleep(20 * time.Millisecond) {
		if list := recorded.list(p.mark); len(list) > 0 || !recorded.any() || time.Now().After(end) {
			return list
		}
	}
}
