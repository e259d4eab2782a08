package main

import "golang.org/x/sys/unix"

// limitMemory ends a program that a document has take more than 4 GB of address space (setrlimit(2)).
func limitMemory() { _ = unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: 4 << 30, Max: 4 << 30}) }
