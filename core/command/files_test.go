package command

import (
	"io/fs"
	"path"
	"strings"
)

// tree is a file system for tests: what each path is. A folder's path ends in "/"; a link is "path -> target"; a program
// that the user can't write is "path*", one that they can "path*w"; a file that isn't empty is "path=bytes".
type tree map[string]node

type node struct {
	file     File
	link     string
	writable bool
}

func newTree(lines string) tree {
	t := tree{"/": {file: File{Folder: true}}}
	var inode uint64
	for _, l := range strings.Fields(lines) {
		inode++
		n := node{file: File{ID: FileID{1, inode}, Regular: true}, writable: true}
		switch {
		case strings.Contains(l, "->"):
			l, n.link, _ = strings.Cut(l, "->")
		case strings.HasSuffix(l, "/"):
			n.file.Folder, n.file.Regular = true, false
			l = strings.TrimSuffix(l, "/")
		case strings.HasSuffix(l, "*"):
			n.file.Exec, n.writable, n.file.Size = true, false, 9
			l = strings.TrimSuffix(l, "*")
		case strings.HasSuffix(l, "*w"):
			n.file.Exec, n.file.Size = true, 9
			l = strings.TrimSuffix(l, "*w")
		case strings.Contains(l, "="):
			var text string
			l, text, _ = strings.Cut(l, "=")
			n.file.Size = int64(len(text))
		}
		t[l] = n
		for d := path.Dir(l); ; d = path.Dir(d) {
			if _, ok := t[d]; !ok {
				inode++
				t[d] = node{file: File{Folder: true, ID: FileID{1, inode}}}
			}
			if d == "/" {
				break
			}
		}
	}
	return t
}

// resolve follows links as the kernel does: ".." leads out of where a link led.
func (t tree) resolve(p string) string {
	at, rest := "/", strings.Split(p, "/")
	for range 400 {
		if len(rest) == 0 {
			break
		}
		name := rest[0]
		rest = rest[1:]
		next := path.Join(at, name)
		if n := t[next]; n.link != "" {
			rest = append(strings.Split(n.link, "/"), rest...)
			if next = at; strings.HasPrefix(n.link, "/") {
				next = "/"
			}
		}
		at = next
	}
	return at
}

func (t tree) Stat(p string) (File, error) {
	if !strings.HasPrefix(p, "/") {
		panic("a relative path was asked for: " + p)
	}
	real := t.resolve(p)
	n, ok := t[real]
	if l, dangles := t[path.Clean(p)]; !ok && dangles && l.link != "" {
		return File{}, &fs.PathError{Op: "stat", Path: p, Err: fs.ErrInvalid}
	}
	if !ok {
		return File{}, &fs.PathError{Op: "stat", Path: p, Err: fs.ErrNotExist}
	}
	f := n.file
	f.Real = real
	return f, nil
}

func (t tree) Writable(p string) bool {
	n, ok := t[t.resolve(p)]
	return !ok || n.writable
}

func (t tree) Names(folder string) ([]string, error) {
	real := t.resolve(folder)
	if n, ok := t[real]; !ok || !n.file.Folder {
		return nil, fs.ErrNotExist
	}
	var names []string
	for p := range t {
		if p != "/" && path.Dir(p) == real {
			names = append(names, path.Base(p))
		}
	}
	return names, nil
}

// computer is a tree with the usual programs.
func computer(more string) tree {
	var b strings.Builder
	for _, name := range strings.Fields(`cat date df du echo find git grep head hostname id ls mdfind pwd sort sw_vers tail uname uptime wc whoami rm cp mv sh bash env nice timeout nohup time stdbuf setsid sudo doas xargs awk
		sed tr cut uniq tee python3 perl curl make npm npx node sleep printf true false test basename dirname touch mkdir rmdir unlink`) {
		b.WriteString("/usr/bin/" + name + "* ")
	}
	return newTree(b.String() + "/bin->/usr/bin /opt/homebrew/bin/rg->/opt/homebrew/Cellar/ripgrep/14/bin/rg /opt/homebrew/Cellar/ripgrep/14/bin/rg*w /home/me/ /tmp/ " + more)
}

// here is where scripts of tests run.
func here(files Files) Context {
	return Context{Shell: Bash, Dir: "/home/me/proj", Home: "/home/me", Path: []string{"/home/me/bin", "/opt/homebrew/bin", "/usr/bin", "/bin"}, Files: files}
}
