package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// startUps are the names below the home folder that programs run or obey when they start, of protectedNames and classicInHome.
func startUps() []string {
	documents := []string{"Desktop", "Documents", "Downloads"} // these are the person's own
	names := slices.DeleteFunc(slices.Clone(classicInHome), func(name string) bool { return slices.Contains(documents, name) })
	names = append(names, protectedNames.list...)
	slices.Sort(names)
	return slices.Compact(names)
}

// FollowStartUps returns a copy in which what the home folder's start-up files and settings lead to is protected too: ~/.zshrc may be a
// link into a folder of dotfiles, which a grant opens under its own name. Each link on the way is, and a name that is missing at its
// end. Of folders such as ~/.config/fish it follows the links in them and in the folders directly in them too. It looks at the disk as
// it is now; Start does it again. A link to a folder that holds the person's own leaves that open.
func (m Machine) FollowStartUps() Machine {
	m.Obeyed = slices.Clone(m.Obeyed)
	if m.Home == "" {
		return m
	}
	home, err := filepath.EvalSymlinks(m.Home)
	if err != nil {
		return m
	}
	open := func(path string) bool {
		return checkPath(path) != nil || covered([]string{"/dev", m.Temp, m.Caches}, path) ||
			slices.ContainsFunc([]string{home, m.Home, m.Workspace, m.Temp, m.Caches}, func(own string) bool { return within(path, own) })
	}
	for _, name := range startUps() {
		names := []string{name}
		depth := strings.Count(name, "/") + 2
		left := maxEntries
		for i := 0; i < len(names); i++ {
			path := filepath.Join(home, names[i])
			links, end := follow(home, names[i])
			for _, at := range append(links, end) {
				if at != "" && at != path && !open(at) {
					m.Obeyed = append(m.Obeyed, at)
				}
			}
			if strings.Count(names[i], "/") >= depth || end == "" || open(end) {
				continue
			}
			for _, entry := range entries(end, left) {
				left--
				if entry.Type() == os.ModeSymlink || entry.IsDir() {
					names = append(names, names[i]+"/"+entry.Name())
				}
			}
		}
	}
	slices.Sort(m.Obeyed)
	m.Obeyed = slices.Compact(m.Obeyed)
	return m
}

const (
	maxEntries = 1000 // how many entries of a folder are looked at
	maxLinks   = 40   // how many links are followed in one path, as Linux does
)

// Way follows an absolute path as the system does. It gives each link that it meets, by the path of where the link stands with the
// links before it resolved, and where it comes to: what is there, or the first name that is missing; "" if there is no end. Whoever
// can change one of these can lead the path elsewhere.
func Way(path string) (links []string, end string) {
	if !filepath.IsAbs(path) {
		return nil, ""
	}
	return follow("/", strings.TrimPrefix(filepath.Clean(path), "/"))
}

// follow goes from a folder, whose links are resolved, along a name in it. It gives each link that it met, by the real path of where
// the link stands, and where it came to: what is there, or the first name that is missing; "" if there is no end.
func follow(dir, name string) (links []string, end string) {
	rest := strings.Split(name, "/")
	for len(rest) > 0 {
		next := filepath.Join(dir, rest[0])
		rest = rest[1:]
		info, err := os.Lstat(next)
		if err != nil && len(links) == 0 {
			return nil, "" // nothing leads anywhere
		}
		if err != nil {
			return links, next
		}
		if info.Mode().Type() != os.ModeSymlink {
			dir = next
			continue
		}
		links = append(links, next)
		to, err := os.Readlink(next)
		if err != nil || len(links) > maxLinks {
			return links, ""
		}
		if filepath.IsAbs(to) {
			dir = "/"
		}
		rest = slices.Concat(strings.Split(to, "/"), rest)
	}
	return links, dir
}

// entries lists up to n entries of a folder; none if it isn't one or can't be read.
func entries(dir string, n int) []os.DirEntry {
	if n <= 0 {
		return nil
	}
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() { // opening a pipe would wait
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	list, _ := f.ReadDir(n)
	return list
}
