package client

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// process gives the executable and the parent of a process, from /proc (proc(5): exe, stat).
func process(pid int) (program string, parent int, ok bool) {
	program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return "", 0, false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0, false
	}
	parent, ok = parentOf(stat)
	return strings.TrimSuffix(program, " (deleted)"), parent, ok
}

// parentOf reads the parent from the text of stat: "pid (name) state ppid …". The name may hold anything, also ")".
func parentOf(stat []byte) (int, bool) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return parent, err == nil
}

func self() string {
	program, _, _ := process(os.Getpid())
	return program
}
