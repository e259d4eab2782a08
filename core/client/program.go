package client

import (
	"cmp"
	"path/filepath"
	"strings"
)

// Caller says who the process pid is, for a connection it has made (its own or, as a child, its parent's): the nearest
// program in its chain of parents that isn't this program, a shell, an interpreter or a mere starter of others. All of it
// is evidence: a process can arrange who its parents are. A process that is gone, or that the system won't tell about,
// is an unknown program.
//
// Not covered yet: code signatures. Signed stays empty, so no client is shown as signed.
func Caller(pid int) Identity {
	program := nearest(pid, self(), process)
	id := "stdio:unknown"
	if program != "" {
		id = "stdio:" + program
	}
	return Identity{ID: id, Program: program, PID: pid}
}

// maxChain is how far up parents are followed.
const maxChain = 32

// nearest climbs from pid. look gives a process's executable and parent, or false.
func nearest(pid int, self string, look func(pid int) (program string, parent int, ok bool)) string {
	for range maxChain {
		if pid <= 1 {
			return ""
		}
		program, parent, ok := look(pid)
		if !ok || program == "" {
			return "" // what can't be told isn't guessed
		}
		switch name := programName(program); {
		case program == self, runsOthers[name]:
		case sessionRoot[name]:
			return ""
		default:
			return program
		}
		pid = parent
	}
	return ""
}

// programName is an executable's name without its folder, its version ("python3.12") and upper case.
func programName(program string) string {
	name := strings.ToLower(filepath.Base(program))
	return cmp.Or(strings.TrimRight(name, "0123456789.-"), name)
}

// runsOthers are the programs that never name a client: shells, interpreters, starters.
var runsOthers = set("sh", "ash", "bash", "csh", "dash", "elvish", "fish", "ksh", "mksh", "nu", "pwsh", "tcsh", "xonsh", "zsh", "busybox",
	"bun", "deno", "java", "lua", "luajit", "node", "nodejs", "osascript", "perl", "php", "pypy", "python", "pythonw", "ruby", "tclsh",
	"doas", "env", "nice", "nohup", "npm", "npx", "pipx", "pnpm", "setsid", "stdbuf", "sudo", "timeout", "uv", "uvx", "xargs", "yarn")

// sessionRoot are the programs that start a person's session; above them there is no client.
var sessionRoot = set("init", "launchd", "systemd")

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, name := range names {
		m[name] = true
	}
	return m
}
