package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
)

// cacheVariables name the folders below Machine.Caches where package managers and compilers keep what they download or make. Their
// usual places are below the home folder, where a command can't write, and where what it wrote would be used outside.
var cacheVariables = []struct{ name, dir string }{
	{"XDG_CACHE_HOME", "xdg"},
	{"npm_config_cache", "npm"}, {"YARN_CACHE_FOLDER", "yarn"}, {"npm_config_store_dir", "pnpm"}, {"BUN_INSTALL_CACHE_DIR", "bun"}, {"DENO_DIR", "deno"},
	{"PIP_CACHE_DIR", "pip"}, {"UV_CACHE_DIR", "uv"}, {"POETRY_CACHE_DIR", "poetry"},
	{"GOPATH", "go"}, {"GOMODCACHE", "go/pkg/mod"}, {"GOCACHE", "go-build"},
	{"CARGO_HOME", "cargo"}, {"GRADLE_USER_HOME", "gradle"}, {"NUGET_PACKAGES", "nuget"}, {"COMPOSER_HOME", "composer"}, {"PUB_CACHE", "pub"},
	{"CCACHE_DIR", "ccache"}, {"HOMEBREW_CACHE", "homebrew"},
}

// Environment gives the variables that a command under the policy needs to find its folders: PATH, HOME, TMPDIR, those of the
// caches, and a few that keep tools from asking or from writing where they can't. It holds no secret, and nothing of our own
// environment. Later entries of the caller's win.
func (p Policy) Environment() []string {
	m := p.machine
	env := []string{
		"PATH=" + strings.Join(m.searchPath(), ":"), "HOME=" + m.Home, "TMPDIR=" + m.Temp,
		"GIT_TERMINAL_PROMPT=0", "npm_config_update_notifier=false", "HOMEBREW_NO_AUTO_UPDATE=1", "PIP_DISABLE_PIP_VERSION_CHECK=1",
	}
	if p.profile == readOnly {
		env = append(env, "GIT_OPTIONAL_LOCKS=0") // git status writes otherwise
	}
	if m.system() == "darwin" {
		env = append(env, "DYLD_USE_DTRACE=0") // asks for a device that is closed
	}
	if m.Caches != "" {
		for _, v := range cacheVariables {
			env = append(env, v.name+"="+filepath.Join(m.Caches, v.dir))
		}
		// Go makes its module cache read-only, so that nothing could clean it up.
		env = append(env, "GOFLAGS=-modcacherw")
		if m.Home != "" {
			env = append(env, "RUSTUP_HOME="+filepath.Join(m.Home, ".rustup"))
		}
	}
	if p.Allows(SSHAgent) && m.SSHAgent != "" {
		env = append(env, "SSH_AUTH_SOCK="+m.SSHAgent)
	}
	if p.Allows(Docker) && m.Docker != "" {
		env = append(env, "DOCKER_HOST=unix://"+m.Docker)
	}
	return env
}

// searchPath is PATH for commands. On macOS the developer folder's tools stand before /usr/bin, where placeholders of the same
// names would look for them in ways that the sandbox doesn't have.
func (m Machine) searchPath() []string {
	path := slices.DeleteFunc(slices.Clone(m.Path), func(dir string) bool { return checkPath(dir) != nil || strings.Contains(dir, ":") })
	if m.system() == "darwin" && m.Developer != "" {
		at := slices.Index(path, "/usr/bin")
		if at < 0 {
			at = len(path)
		}
		path = slices.Insert(path, at, filepath.Join(m.Developer, "usr/bin"))
	}
	return path
}

// placeholders are the tools in /usr/bin of a Mac that only look for the developer tools. Without these, running one opens a
// window that offers to install them.
var placeholders = []string{
	"ar", "as", "bison", "c++", "cc", "clang", "clang++", "cpp", "flex", "g++", "gcc", "git", "gm4", "gnumake", "install_name_tool", "ld", "lipo", "lldb", "m4", "make", "nm",
	"otool", "pip3", "python3", "ranlib", "size", "strings", "strip", "svn", "swift", "swiftc", "xcodebuild", "xcrun",
}
