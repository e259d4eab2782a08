package sandbox

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// systemReads are the folders of the system and of software installed for everyone. What doesn't exist is left out. On macOS not
// all of /System: the home folders can also be reached below /System/Volumes/Data.
var systemReads = map[string][]string{
	"linux": {
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store", "/nix/var/nix/profiles", "/gnu/store",
		"/run/current-system", "/home/linuxbrew/.linuxbrew", "/snap", "/var/lib/alternatives", "/var/lib/ca-certificates", "/sys/devices/system",
	},
	"darwin": {
		"/System/Library", "/System/Applications", "/System/Cryptexes", "/System/iOSSupport", "/System/Volumes/Preboot/Cryptexes", "/usr", "/bin", "/sbin", "/opt/homebrew", "/opt/local", "/nix/store", "/private/etc", "/private/var/db/timezone", "/private/var/select",
		"/private/var/db/xcode_select_link", "/private/var/db/dyld", "/Library/Apple", "/Library/Frameworks", "/Library/Developer/CommandLineTools", "/Library/Fonts",
		"/Library/Java", "/Library/Perl", "/Library/Ruby", "/Library/Filesystems/NetFSPlugins", "/Library/Preferences/Logging",
	},
}

// devices that any program may open, by system. Decide knows no other; a command also has terminals and memory of its own,
// and on Linux the entries in /proc of its own processes.
var (
	readDevices = map[string][]string{
		"linux":  {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"},
		"darwin": {"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"},
	}
	writeDevices = map[string][]string{
		"linux":  {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"},
		"darwin": {"/dev/null", "/dev/zero"},
	}
)

// toolsInHome are folders below the home folder where tools are commonly installed. What is secret in them stays closed.
var toolsInHome = []string{
	".local/bin", ".local/lib", ".local/pipx", ".local/share/pipx", ".local/share/uv", ".local/share/mise", ".local/share/fnm", ".local/share/pnpm",
	".local/state/fnm_multishells", ".cargo/bin", ".rustup", ".nvm", ".fnm", ".volta", ".nodenv", ".npm-global", ".bun", ".deno", ".pyenv", ".rye", ".pixi", ".rbenv", ".rvm",
	".asdf", ".proto", ".sdkman", ".jenv", ".goenv", ".gvm", "go", "sdk", ".juliaup", ".ghcup", ".opam", ".dotnet", ".nix-profile", "miniconda3", "anaconda3", "miniforge3", "mambaforge",
	"flutter", "Library/pnpm", "Library/Application Support/fnm", "Library/Python",
}

func (m Machine) system() string {
	if m.System != "" {
		return m.System
	}
	return runtime.GOOS
}

// toolRoots lists the folders of installed tools that aren't the system's: the usual ones below the home folder, and the
// roots of the PATH's other folders (the parent of a bin folder, so that a tool finds its libraries).
func (m Machine) toolRoots() []string {
	var roots []string
	if m.Home != "" {
		for _, rel := range toolsInHome {
			roots = append(roots, filepath.Join(m.Home, rel))
		}
	}
	if m.Developer != "" {
		roots = append(roots, m.Developer)
	}
	for _, dir := range m.Path {
		if checkPath(dir) != nil || m.tooWide(dir) || covered(roots, dir) || covered(systemReads[m.system()], dir) ||
			covered([]string{m.State, m.Workspace, m.Temp}, dir) {
			continue
		}
		if parent := filepath.Dir(dir); (filepath.Base(dir) == "bin" || filepath.Base(dir) == "shims") && !m.tooWide(parent) {
			dir = parent
		}
		roots = append(roots, dir)
	}
	slices.Sort(roots)
	return slices.Compact(roots)
}

// tooWide reports whether a folder on PATH says nothing of tools: it holds the home folder or our own, is one of the
// catch-alls below the home folder, or stands at the top of the file system.
func (m Machine) tooWide(dir string) bool {
	if strings.Count(dir, "/") < 2 || within(dir, m.Home) || within(dir, m.State) || within(dir, m.Workspace) || within(dir, m.Temp) {
		return true
	}
	rel, ok := strings.CutPrefix(dir, m.Home+"/")
	return ok && (slices.Contains([]string{".local", ".local/share", ".config", ".cache", "Library", "Library/Application Support", ".cargo"}, rel) ||
		slices.ContainsFunc(secretsInHome, func(s string) bool { return within(s, rel) || within(rel, s) }))
}

// covered reports whether path lies in one of the folders.
func covered(folders []string, path string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return within(f, path) })
}
