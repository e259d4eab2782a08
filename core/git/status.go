package git

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Status is what `git status --porcelain=v2 --branch -z` says.
type Status struct {
	Head     string // the commit; "" in an empty repository
	Branch   string // "" where HEAD is detached
	Upstream string
	Ahead    int
	Behind   int
	Files    []File
}

// File is one file that isn't as the last commit has it.
type File struct {
	Path string
	From string // the old name of one that was renamed or copied
	// Staged and Unstaged are the letters of git-status(1) for the index and the work tree: M, T, A, D, R, C; "" for no change.
	Staged, Unstaged string
	Untracked        bool
	Conflict         bool
	Submodule        bool
}

// ParseStatus reads the output of git status (git-status(1), "Porcelain Format Version 2").
func ParseStatus(text []byte) (Status, error) {
	var s Status
	bad := func(line []byte) (Status, error) { return Status{}, fmt.Errorf("reading git's status: %q", line) }
	for len(text) > 0 {
		var line []byte
		var ok bool
		if line, text, ok = bytes.Cut(text, []byte{0}); !ok {
			return bad(line)
		}
		kind, rest, _ := strings.Cut(string(line), " ")
		switch kind {
		case "#":
			s.header(rest)
		case "1", "2", "u":
			fields := map[string]int{"1": 8, "2": 9, "u": 10}[kind]
			parts := strings.SplitN(rest, " ", fields)
			if len(parts) != fields || len(parts[0]) != 2 || len(parts[1]) != 4 {
				return bad(line)
			}
			f := File{Path: parts[fields-1], Submodule: parts[1][0] == 'S', Conflict: kind == "u"}
			if !f.Conflict {
				f.Staged, f.Unstaged = strings.Trim(parts[0][:1], "."), strings.Trim(parts[0][1:], ".")
			}
			if kind == "2" {
				var from []byte
				if from, text, ok = bytes.Cut(text, []byte{0}); !ok {
					return bad(line)
				}
				f.From = string(from)
			}
			s.Files = append(s.Files, f)
		case "?":
			s.Files = append(s.Files, File{Path: rest, Untracked: true})
		case "!":
		default:
			return bad(line)
		}
	}
	return s, nil
}

func (s *Status) header(text string) {
	name, value, _ := strings.Cut(text, " ")
	switch name {
	case "branch.oid":
		if value != "(initial)" {
			s.Head = value
		}
	case "branch.head":
		if value != "(detached)" {
			s.Branch = value
		}
	case "branch.upstream":
		s.Upstream = value
	case "branch.ab":
		ahead, behind, _ := strings.Cut(value, " ")
		s.Ahead, _ = strconv.Atoi(strings.TrimPrefix(ahead, "+"))
		s.Behind, _ = strconv.Atoi(strings.TrimPrefix(behind, "-"))
	}
}

// Conflicts lists the files that a merge or rebase left for someone to decide.
func (s Status) Conflicts() []string {
	var list []string
	for _, f := range s.Files {
		if f.Conflict {
			list = append(list, f.Path)
		}
	}
	return list
}
