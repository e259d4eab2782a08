package assistant

import (
	"os"
	"path/filepath"
	"strings"
)

// known are the assistants that Handrail can set up, by their documentation in 2026.
//
// Not covered: settings of single projects and of editors' profiles, and editors that came as a Snap or Flatpak, whose settings lie
// elsewhere.
var known = []kind{
	{
		id: "claude-desktop", name: "Claude Desktop", files: []string{"{settings}/Claude/claude_desktop_config.json"},
		signs: []string{"{apps}/Claude.app"}, format: jsonFormat{}, container: "mcpServers", entry: plain,
	},
	{
		// Its servers for every project ("user scope") stand in the file that it keeps everything in, and writes often.
		id: "claude-code", name: "Claude Code", files: []string{"{claude}/.claude.json"}, terminal: true,
		signs: []string{"~/.claude", "~/.local/bin/claude"}, format: jsonFormat{}, container: "mcpServers", entry: typed,
	},
	{
		id: "cursor", name: "Cursor", files: []string{"~/.cursor/mcp.json"},
		signs: []string{"{apps}/Cursor.app"}, format: jsonFormat{lenient: true}, container: "mcpServers", entry: plain,
	},
	{
		id: "vscode", name: "Visual Studio Code", files: []string{"{settings}/Code/User/mcp.json"},
		signs: []string{"{apps}/Visual Studio Code.app"}, format: jsonFormat{lenient: true}, container: "servers", entry: typed,
	},
	{
		id: "vscode-insiders", name: "Visual Studio Code Insiders", files: []string{"{settings}/Code - Insiders/User/mcp.json"},
		signs: []string{"{apps}/Visual Studio Code - Insiders.app"}, format: jsonFormat{lenient: true}, container: "servers", entry: typed,
	},
	{
		id: "windsurf", name: "Windsurf", files: []string{"~/.codeium/windsurf/mcp_config.json"},
		signs: []string{"{apps}/Windsurf.app"}, format: jsonFormat{}, container: "mcpServers", entry: plain,
	},
	{
		id: "zed", name: "Zed", files: []string{"{xdg}/zed/settings.json"},
		signs: []string{"{apps}/Zed.app"}, format: jsonFormat{lenient: true}, container: "context_servers", entry: plain,
	},
	{
		id: "codex", name: "Codex", files: []string{"{codex}/config.toml"}, terminal: true,
		format: tomlFormat{}, container: "mcp_servers", entry: plain,
	},
	{
		id: "gemini", name: "Gemini CLI", files: []string{"~/.gemini/settings.json"}, terminal: true,
		format: jsonFormat{lenient: true}, container: "mcpServers", entry: plain,
	},
	{
		id: "lmstudio", name: "LM Studio", files: []string{"~/.lmstudio/mcp.json", "~/.cache/lm-studio/mcp.json"},
		signs: []string{"{apps}/LM Studio.app"}, format: jsonFormat{}, container: "mcpServers", entry: plain,
	},
	{
		id: "goose", name: "Goose", files: []string{"{xdg}/goose/config.yaml"},
		signs: []string{"{apps}/Goose.app"}, format: yamlFormat{}, container: "extensions", command: "cmd",
		entry: func(c Command) entry {
			return entry{{"enabled", true}, {"type", "stdio"}, {"name", entryName}, {"description", "Handrail"}, {"cmd", c.Path}, {"args", c.Args}, {"envs", nil}, {"timeout", 300}}
		},
	},
	{
		id: "cline", name: "Cline", files: []string{"{settings}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"},
		format: jsonFormat{}, container: "mcpServers", entry: typed,
	},
	{
		id: "cline-cli", name: "Cline CLI", files: []string{"~/.cline/data/settings/cline_mcp_settings.json", "~/.cline/mcp.json"}, terminal: true,
		format: jsonFormat{}, container: "mcpServers", entry: typed,
	},
}

// kind is an assistant as the table knows it. In paths, ~ and the words in braces stand for folders: see place.
type kind struct {
	id, name string
	// files are where its servers may be configured: the first that exists, else the first whose folder does.
	files []string
	// signs are other paths that show that it is installed.
	signs []string
	// terminal says that it is started anew for each session, and so needs no restart.
	terminal  bool
	format    format
	container string
	// command is the name of the value that holds the program; empty is "command".
	command string
	entry   func(Command) entry
}

func plain(c Command) entry { return entry{{"command", c.Path}, {"args", c.Args}} }

func typed(c Command) entry {
	return entry{{"type", "stdio"}, {"command", c.Path}, {"args", c.Args}}
}

// place fills in the folders of a path. {apps} can be several: a path for each.
func (c Computer) place(path string) []string {
	if rest, ok := strings.CutPrefix(path, "{apps}"); ok {
		var all []string
		for _, dir := range c.apps() {
			all = append(all, dir+rest)
		}
		return all
	}
	settings := c.folder("XDG_CONFIG_HOME", ".config")
	if c.System == "darwin" {
		settings = filepath.Join(c.Home, "Library", "Application Support")
	}
	return []string{strings.NewReplacer("~", c.Home, "{settings}", settings, "{xdg}", c.folder("XDG_CONFIG_HOME", ".config"),
		"{claude}", c.folder("CLAUDE_CONFIG_DIR", ""), "{codex}", c.folder("CODEX_HOME", ".codex")).Replace(path)}
}

// folder is the one that a variable of the environment names, else one in the home folder.
func (c Computer) folder(variable, otherwise string) string {
	if c.Env != nil {
		if dir := c.Env(variable); filepath.IsAbs(dir) {
			return filepath.Clean(dir)
		}
	}
	return filepath.Join(c.Home, otherwise)
}

func (c Computer) apps() []string {
	switch {
	case c.Applications != nil:
		return c.Applications
	case c.System == "darwin":
		return []string{"/Applications", filepath.Join(c.Home, "Applications")}
	}
	return nil
}

// file finds where an assistant's servers are configured, and whether it is installed at all. The home folder shows nothing.
func (c Computer) file(k kind) (path string, installed bool) {
	var inFolder string
	for _, f := range k.files {
		p := c.place(f)[0]
		if path == "" {
			path = p
		}
		if _, err := os.Lstat(p); err == nil {
			return p, true
		}
		if dir := filepath.Dir(p); inFolder == "" && dir != c.Home && isFolder(dir) {
			inFolder = p
		}
	}
	if inFolder != "" {
		return inFolder, true
	}
	for _, s := range k.signs {
		for _, p := range c.place(s) {
			if _, err := os.Stat(p); err == nil {
				return path, true
			}
		}
	}
	return path, false
}

func isFolder(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// Files lists all files that assistants keep their servers in, and the copies that Connect leaves beside them, on this computer: they
// hold tokens, and whoever writes to them has a program started. It looks at no disk.
func (c Computer) Files() []string {
	c = c.filled()
	var all []string
	for _, k := range known {
		for _, f := range k.files {
			p := c.place(f)[0]
			all = append(all, p, p+backupEnding)
		}
	}
	return all
}
