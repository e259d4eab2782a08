package command

import (
	"path/filepath"
	"strings"
)

// builtins are what bash does itself when a command has that name.
var builtins = set(`. : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown echo enable
	eval exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly
	return set shift shopt source suspend test times trap true type typeset ulimit umask unalias unset wait`)

func set(words string) map[string]bool {
	m := make(map[string]bool)
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// SystemFolders hold the programs that come with the system. Only its owner can change what is in them.
var SystemFolders = []string{"/bin", "/sbin", "/usr/bin", "/usr/sbin"}

// systemRoots hold what links in SystemFolders lead to.
var systemRoots = []string{"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/libexec", "/usr/share", "/lib", "/System", "/Library/Apple", "/etc/alternatives"}

// PackageFolders hold the programs of package managers.
var PackageFolders = []string{"/opt/homebrew/bin", "/usr/local/bin", "/opt/local/bin", "/home/linuxbrew/.linuxbrew/bin", "/snap/bin"}

// program finds what a word names. shell says that a shell looks for it, so that its own commands come first.
func (s *scriptReader) program(w Word, shell bool) Program {
	name, ok := w.Literal()
	if !ok || name == "" {
		return Program{}
	}
	if strings.IndexByte(name, '/') >= 0 {
		return s.at(name)
	}
	if shell && builtins[name] {
		return Program{Name: name, Builtin: true}
	}
	p, ok := s.seen[name]
	if !ok {
		p = s.context.find(name, s.context.Path)
		s.seen[name] = p
	}
	return p
}

// at is the program at a path.
func (s *scriptReader) at(name string) Program {
	p := Program{Name: name}
	path := absolute(s.dir, name)
	if path == "" || s.context.Files == nil || s.lost {
		return p
	}
	if f, err := s.context.Files.Stat(path); err == nil && f.Regular && f.Exec {
		p.Path, p.Real, p.ID = path, f.Real, f.ID
	}
	return p
}

// find looks for a program in folders, as the shell does with PATH.
func (c *Context) find(name string, folders []string) Program {
	p := Program{Name: name, Bare: true}
	if c.Files == nil {
		return p
	}
	for _, dir := range folders {
		path := absolute(c.Dir, dir)
		if dir == "" { // an empty entry is the working folder
			path = c.Dir
		}
		if path == "" {
			continue
		}
		path = path + "/" + name
		if f, err := c.Files.Stat(path); err == nil && f.Regular && f.Exec {
			p.Path, p.Real, p.ID = path, f.Real, f.ID
			return p
		}
	}
	return p
}

// known reports whether a program is the one that its name says: of the shell, or of the system or a package manager as
// far as can be told. A name that nothing was found for counts as known, since then the shell finds nothing else.
func (p Program) known() bool {
	switch {
	case p.Name == "":
		return false
	case p.Builtin:
		return true
	case !p.Bare:
		return folderOf(p.Name, SystemFolders) || folderOf(p.Name, PackageFolders)
	case p.Path == "":
		return true
	}
	return folderOf(p.Path, SystemFolders) || folderOf(p.Path, PackageFolders)
}

func folderOf(path string, folders []string) bool {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return false
	}
	for _, f := range folders {
		if path[:i] == f {
			return true
		}
	}
	return false
}

// gnu are programs that macOS package managers install with a "g" in front.
var gnu = set(`timeout nice env stdbuf xargs find sed awk rm rmdir unlink mv cp ln install dd shred truncate tee tar cat head tail wc sort cut tr uniq grep ls date du df echo
	id whoami uname pwd test true false nohup time make split chmod chown mkdir touch stat realpath readlink basename dirname seq printf sleep tac nl fold join paste comm`)

// canonical is the name by which a program is looked up in tables of what is risky: a base name in small letters, since
// some file systems don't tell RM from rm.
func canonical(name string) string {
	if strings.IndexByte(name, '/') >= 0 {
		name = filepath.Base(name)
	}
	for i := 0; i < len(name); i++ {
		if c := name[i]; c >= 'A' && c <= 'Z' || c == '.' && strings.HasSuffix(strings.ToLower(name), ".exe") {
			name = strings.TrimSuffix(strings.ToLower(name), ".exe")
			break
		}
	}
	if len(name) > 2 && name[0] == 'g' && gnu[name[1:]] {
		return name[1:]
	}
	return name
}
