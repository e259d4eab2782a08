package sandbox

import "path/filepath"

// classicSystem are the folders that the profile classic closes for changes on each system.
var classicSystem = map[string][]string{
	"linux":  {"/etc", "/usr", "/boot", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt"},
	"darwin": {"/private/etc", "/usr", "/System", "/Library", "/bin", "/sbin"},
}

// classicInHome are closed for changes below the home folder: the person's documents, what runs at sign-in or with a shell.
var classicInHome = []string{
	"Desktop", "Documents", "Downloads", "Library/LaunchAgents", "Library/LaunchDaemons", "Library/Application Support/Handrail", ".config/autostart", ".config/systemd",
	".local/share/systemd", ".config/fish", ".config/environment.d", ".pam_environment", ".xprofile", ".xsession", ".xsessionrc", ".xinitrc", ".crontab",
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout",
	".kshrc", ".cshrc", ".tcshrc", ".login", ".inputrc", ".gitconfig", ".config/git", ".mcp.json", ".vscode", ".config/mcp",
}

func (m Machine) classicCloses() []string {
	s := append([]string(nil), classicSystem[m.system()]...)
	for _, rel := range classicInHome {
		if m.Home != "" {
			s = append(s, filepath.Join(m.Home, rel))
		}
	}
	return s
}

// decideClassic is the profile's order of rules: what is closed for changes, but for the workspace and the folders for
// temporary files; there, changing is allowed and deleting is not.
func (x *index) decideClassic(op Op, path, folded string) Decision {
	m := x.policy.machine
	switch {
	case op == Delete && x.roots[path] && path != m.Workspace:
		return Decision{Rule: "the session's own folder stays"}
	case m.Temp != "" && within(m.Temp, path), m.Caches != "" && within(m.Caches, path):
		return Decision{Allowed: true, Rule: "the session's own folder"}
	case within(m.Workspace, path):
		if op == Delete {
			return Decision{Rule: "classic deletes nothing in the workspace"}
		}
		return Decision{Allowed: true, Rule: "classic changes the workspace"}
	}
	if _, rule, ok := find(x.noWrite, folded); ok {
		return Decision{Rule: rule}
	}
	return Decision{Allowed: true, Rule: "classic allows what it doesn't name"}
}
