package command

import (
	"bytes"
	"encoding/json"
	"maps"
	"path"
	"strings"

	"golang.org/x/text/cases"
)

// Touched is a file that was made or changed.
type Touched struct {
	Path string // with "/" between its elements
	// Created says that no file had the name before.
	Created bool
	// Executable says that the file may be run now and couldn't before.
	Executable bool
	// Texts gives the content before and after, for a file of which only a part runs. ok is false where
	// it can't be told. Nil: it can't.
	Texts func() (before, after []byte, ok bool)
}

// autorun is a rule for files that something else runs later: a build, a tool that reads its settings as a program, the
// system at the next login, a person who opens it. Names are compared case-folded, as most file systems of macOS do.
type autorun struct {
	by    string   // what runs it
	names []string // patterns of path.Match for the file's name
	below []string // the folders it must stand in, the last one nearest: each a pattern of whole names. Empty: any
	// changed says, of a file that was there before, whether what runs changed; nil: any change counts.
	changed func(before, after []byte) bool
	like    []string // examples: paths that match
	unlike  []string // and some that don't
}

var autoruns = []autorun{
	{by: "npm, pnpm, yarn", names: []string{"package.json"}, changed: scriptsChanged,
		like: []string{"package.json", "web/Package.JSON"}, unlike: []string{"package.json.bak", "package-lock.json"}},
	{by: "npm, pnpm, yarn", names: []string{".npmrc", ".yarnrc*", ".pnpmfile.cjs", "pnpmfile.js"},
		like: []string{".npmrc", "app/.yarnrc.yml", ".pnpmfile.cjs"}, unlike: []string{"npmrc"}},
	{by: "programs that npm installed", names: []string{"*"}, below: []string{"node_modules", ".bin"},
		like: []string{"node_modules/.bin/eslint"}, unlike: []string{"node_modules/eslint/index.js", "bin/eslint"}},
	{by: "JavaScript tools", names: []string{"*.config.js", "*.config.ts", "*.config.mjs", "*.config.cjs", "*.config.mts", "*.config.cts", ".*rc.js", ".*rc.cjs", ".*rc.mjs", ".*rc.ts", "gulpfile.*", "gruntfile.*",
		".eslintrc*", ".prettierrc*", ".babelrc*", ".stylelintrc*", ".mocharc*", ".swcrc", "deno.json*"}, // these name programs too, whatever they are written in
		like: []string{"vite.config.ts", ".eslintrc.js", "a/jest.config.cjs", "Gruntfile.js", ".eslintrc.json", ".prettierrc"}, unlike: []string{"config.js", "vite.config.json", "prettierrc"}},
	{by: "make", names: []string{"makefile", "gnumakefile", "bsdmakefile", "*.mk", "makefile.*"},
		like: []string{"Makefile", "GNUmakefile", "src/rules.mk", "MAKEFILE", "Makefile.am"}, unlike: []string{"makefiles.txt"}},
	{by: "build tools", names: []string{"justfile", ".justfile", "taskfile.y*ml", "cmakelists.txt", "*.cmake", "meson.build", "build.gradle*", "settings.gradle*", "init.gradle*", "pom.xml", "build.xml", "build.sbt", "build.zig", "sconstruct", "sconscript", "wscript", "build.bazel", "workspace.bazel", "module.bazel", "*.bzl", "dune-project", "package.swift", "*.csproj", "*.vcxproj", "directory.build.*", "flake.nix", "shell.nix", "default.nix", "procfile", "procfile.*",
		"gradlew", "gradle-wrapper.properties", "gradle-wrapper.jar", "mvnw", "maven-wrapper.properties", "maven-wrapper.jar", ".bazelrc", "user.bazelrc", ".bazeliskrc", "build", "workspace", "module.bazel.lock", "devbox.json", "devenv.nix", "devenv.yaml", "project.clj", "deps.edn", "mix.exs", "rebar.config", "stack.yaml", "*.cabal", ".sbtopts", ".jvmopts", ".sbtrc", "*.run.xml"},
		like: []string{"justfile", "gradlew", "gradle/wrapper/gradle-wrapper.properties", ".bazelrc", "src/BUILD", "devenv.nix", "mix.exs", "CMakeLists.txt", "build.gradle.kts", "pom.xml", "app/Package.swift"}, unlike: []string{"build.txt", "builds", "gradle.properties"}},
	{by: "maven", names: []string{"*"}, below: []string{".mvn"}, like: []string{".mvn/extensions.xml", "a/.mvn/jvm.config"}, unlike: []string{"mvn/extensions.xml"}},
	{by: "bazel", names: []string{"bazel"}, below: []string{"tools"}, like: []string{"tools/bazel"}, unlike: []string{"bazel"}},
	{by: "cargo", names: []string{"build.rs", "cargo.toml"}, like: []string{"build.rs", "crates/x/Cargo.toml"}, unlike: []string{"src/builder.rs"}},
	{by: "cargo", names: []string{"config", "config.toml"}, below: []string{".cargo"}, like: []string{".cargo/config.toml", "a/.cargo/config"}, unlike: []string{"config.toml"}},
	{by: "Ruby tools", names: []string{"rakefile", "rakefile.rb", "*.rake", "gemfile", "*.gemspec", "podfile", "fastfile", "guardfile", "capfile", "dangerfile", "brewfile", "vagrantfile", ".rspec", ".rubocop.yml", ".solargraph.yml"},
		like: []string{"Rakefile", ".rubocop.yml", "Gemfile", "Vagrantfile", "ios/Podfile"}, unlike: []string{"Gemfile.lock"}},
	{by: "Python tools", names: []string{"tox.ini", "noxfile.py", "conftest.py", "setup.py", "setup.cfg", "pyproject.toml", "tasks.py", "fabfile.py", "dodo.py", "sitecustomize.py", "usercustomize.py", "*.pth", "pip.conf", "jupyter_*config.py", "ipython_config.py", ".pylintrc", "pylintrc", "ansible.cfg"},
		like: []string{"tox.ini", "venv/pip.conf", "jupyter_server_config.py", "ansible.cfg", "tests/conftest.py", "setup.py", "pyproject.toml", "venv/lib/x.pth"}, unlike: []string{"requirements.txt", "mysetup.py"}},
	{by: "git", names: []string{".gitattributes", ".gitmodules", ".pre-commit-config.y*ml", ".lefthook.*", "lefthook.*", "lefthook-local.*", ".huskyrc*", ".lintstagedrc*", ".overcommit.yml"},
		like: []string{".gitattributes", ".gitmodules", ".pre-commit-config.yaml"}, unlike: []string{".gitignore"}},
	{by: "git", names: []string{"*"}, below: []string{".husky"}, like: []string{".husky/pre-commit"}, unlike: []string{"husky/pre-commit"}},
	{by: "git", names: []string{"*"}, below: []string{".husky", "_"}, like: []string{".husky/_/h"}},
	{by: "git", names: []string{"*"}, below: []string{".githooks"}, like: []string{".githooks/pre-commit"}, unlike: []string{"githooks/pre-commit"}}, // where core.hooksPath often points
	{by: "git", names: []string{"*"}, below: []string{".lefthook", "*"}, like: []string{".lefthook/pre-commit/x.rb"}},
	{by: "Mercurial", names: []string{".hgsub", ".hgsubstate"}, like: []string{".hgsub"}, unlike: []string{".hgignore"}},
	{by: "shells and version managers", names: []string{".tool-versions", ".env.mise"}, like: []string{".tool-versions"}, unlike: []string{".nvmrc"}},
	{by: "web servers", names: []string{".htaccess", ".user.ini", "web.config"}, like: []string{".htaccess", "site/.user.ini"}, unlike: []string{".htpasswd"}},
	{by: "assistants", names: []string{"agents.md", "agents.override.md", "claude.md", "claude.local.md", "gemini.md", "qwen.md", "copilot-instructions.md", ".cursorrules", ".windsurfrules", ".goosehints", "*.prompt.md", "*.instructions.md", "*.chatmode.md"},
		like: []string{"AGENTS.md", "web/CLAUDE.md", ".github/copilot-instructions.md", ".cursorrules"}, unlike: []string{"README.md", "agents.txt"}},
	{by: "assistants", names: []string{"*"}, below: []string{".github", "hooks"}, like: []string{".github/hooks/x.json"}, unlike: []string{"hooks/x.json"}},
	{by: "assistants", names: []string{"*"}, below: []string{".claude-plugin"}, like: []string{".claude-plugin/plugin.json"}},
	{by: "CI", names: []string{"*.y*ml"}, below: []string{".github", "workflows"}, like: []string{".github/workflows/ci.yml", "x/.GitHub/Workflows/ci.YAML"}, unlike: []string{"workflows/ci.yml", ".github/labels.yml"}},
	{by: "CI", names: []string{"action.y*ml", ".gitlab-ci.y*ml", ".gitpod.y*ml", "azure-pipelines.y*ml", "jenkinsfile", "jenkinsfile.*", ".travis.yml", "appveyor.yml", "bitbucket-pipelines.yml", ".drone.y*ml", "cloudbuild.y*ml", ".woodpecker.y*ml"},
		like: []string{".gitlab-ci.yml", "azure-pipelines.yml", "Jenkinsfile"}, unlike: []string{"gitlab-ci.md"}},
	{by: "CI", names: []string{"*"}, below: []string{".circleci"}, like: []string{".circleci/config.yml"}, unlike: []string{"circleci/config.yml"}},
	{by: "docker", names: []string{"dockerfile", "dockerfile.*", "*.dockerfile", "containerfile", "compose.y*ml", "docker-compose*.y*ml", ".devcontainer.json", "docker-bake.*"},
		like: []string{"Dockerfile", "api/Dockerfile.dev", "docker-compose.override.yml", ".devcontainer.json"}, unlike: []string{".dockerignore"}},
	{by: "dev containers", names: []string{"*"}, below: []string{".devcontainer"}, like: []string{".devcontainer/devcontainer.json", ".devcontainer/setup"}, unlike: []string{"devcontainer/x"}},
	{by: "dev containers", names: []string{"devcontainer.json"}, like: []string{".devcontainer/x/devcontainer.json"}},
	{by: "whoever runs it", names: []string{"*.sh", "*.bash", "*.zsh", "*.fish", "*.ksh", "*.csh", "*.command", "*.tool", "*.ps1", "*.bat", "*.cmd", "*.scpt", "*.applescript"},
		like: []string{"run.sh", "Setup.command", "tools/build.ps1"}, unlike: []string{"run.sh.txt", "command"}},
	{by: "the desktop", names: []string{"*.desktop", "*.service", "*.timer", "*.workflow", "*.terminal"},
		like: []string{"x.desktop", "systemd/user/x.service", "x.timer"}, unlike: []string{"service.txt"}},
	{by: "the system at login", names: []string{"*.plist"}, below: []string{"launch*"}, like: []string{"Library/LaunchAgents/x.plist", "LaunchDaemons/x.plist"}, unlike: []string{"Info.plist"}},
}

// RunsLater names what will run a file that was made or changed, later and outside any sandbox; "" if nothing is known
// to. It is judged by name and by the mode: a file that a program of the person's own reads and runs isn't known here.
func RunsLater(f Touched) string {
	el := strings.Split(cases.Fold().String(strings.Trim(f.Path, "/")), "/")
	if sampleHook(el) {
		return ""
	}
	for _, r := range autoruns {
		if !r.matches(el) {
			continue
		}
		if !f.Created && r.changed != nil && f.Texts != nil {
			if before, after, ok := f.Texts(); ok && !r.changed(before, after) {
				continue
			}
		}
		return r.by
	}
	if f.Executable {
		return "whoever runs it"
	}
	return ""
}

// sampleHook reports one of the hooks that Git puts into a new repository and never runs under that name.
func sampleHook(el []string) bool {
	n := len(el)
	return n > 1 && el[n-2] == "hooks" && strings.HasSuffix(el[n-1], ".sample")
}

// matches judges the folded elements of a path.
func (r autorun) matches(el []string) bool {
	name, above := el[len(el)-1], el[:len(el)-1]
	if len(above) < len(r.below) {
		return false
	}
	for i, pattern := range r.below {
		if ok, _ := path.Match(pattern, above[len(above)-len(r.below)+i]); !ok {
			return false
		}
	}
	for _, pattern := range r.names {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	return false
}

// scriptsChanged reports whether a package.json has other scripts, or other programs to install, than before. What isn't
// JSON counts as changed.
func scriptsChanged(before, after []byte) bool {
	type parts struct {
		Scripts map[string]string `json:"scripts"`
		Bin     json.RawMessage   `json:"bin"`
	}
	var b, a parts
	if json.Unmarshal(before, &b) != nil || json.Unmarshal(after, &a) != nil {
		return true
	}
	return !maps.Equal(b.Scripts, a.Scripts) || !bytes.Equal(b.Bin, a.Bin)
}
