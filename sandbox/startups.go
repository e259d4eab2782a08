package sandbox

import (
	"path/filepath"
	"slices"
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
// link into a folder of dotfiles, which a grant opens under its own name. It looks at the disk as it is now. A link to a folder that
// holds the person's own leaves that open.
func (m Machine) FollowStartUps() Machine {
	m.Obeyed = slices.Clone(m.Obeyed)
	if m.Home == "" {
		return m
	}
	home, err := filepath.EvalSymlinks(m.Home)
	if err != nil {
		return m
	}
	for _, name := range startUps() {
		path := filepath.Join(home, name)
		real, err := filepath.EvalSymlinks(path)
		if err != nil || real == path || checkPath(real) != nil || covered([]string{"/dev", m.Temp, m.Caches}, real) ||
			slices.ContainsFunc([]string{home, m.Home, m.Workspace, m.Temp, m.Caches}, func(own string) bool { return within(real, own) }) {
			continue
		}
		m.Obeyed = append(m.Obeyed, real)
	}
	slices.Sort(m.Obeyed)
	m.Obeyed = slices.Compact(m.Obeyed)
	return m
}
