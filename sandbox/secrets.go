package sandbox

import (
	"path/filepath"
	"slices"
)

// secretsInHome are never readable, relative to the home folder, on any system.
var secretsInHome = []string{
	// keys and sign-ins
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", "_netrc", ".npmrc", ".yarnrc.yml", ".pypirc", ".pgpass", ".my.cnf",
	".mylogin.cnf", ".s3cfg", ".boto", ".oci", ".bluemix", ".databrickscfg", ".snowflake", ".snowsql", ".kaggle", ".huggingface",
	".cache/huggingface/token", ".cache/huggingface/stored_tokens", ".git-credentials", ".config/git/credentials", ".subversion/auth", ".smbcredentials", ".vault-token",
	".terraform.d", ".terraformrc", ".gem/credentials", ".bundle/config", ".cargo/credentials", ".cargo/credentials.toml",
	".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties", ".nuget/NuGet/NuGet.Config", ".composer/auth.json", ".config/composer/auth.json",
	".config/gh", ".config/glab-cli", ".config/hub", ".config/gcloud", ".config/doctl", ".config/op", ".config/sops", ".config/rclone", ".config/containers",
	".config/pypoetry/auth.toml", ".config/heroku", ".config/netlify", ".config/stripe", ".config/flyctl", ".fly", ".config/ngrok", ".ngrok2",
	".config/age", ".age", ".putty", ".password-store", ".local/share/gopass", ".local/share/keyrings", ".local/share/kwalletd", ".pki", ".cert",
	".electrum", ".bitcoin", ".ethereum", ".config/solana", ".krb5", ".config/msmtp", ".msmtprc", ".mbsyncrc", ".fetchmailrc", ".authinfo", ".authinfo.gpg",
	// what was typed
	".bash_history", ".zsh_history", ".zsh_sessions", ".histfile", ".sh_history", ".local/share/fish/fish_history", ".python_history",
	".node_repl_history", ".mysql_history", ".psql_history", ".sqlite_history", ".rediscli_history", ".irb_history", ".lesshst", ".viminfo",
	// browsers, mail, messages
	".mozilla", ".thunderbird", ".config/google-chrome", ".config/google-chrome-beta", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge", ".config/vivaldi",
	".config/opera", ".config/Signal", ".config/Slack", ".config/discord", ".local/share/TelegramDesktop", ".local/share/evolution", ".config/evolution",
	"snap/firefox", "snap/chromium", ".var/app", ".config/1Password", ".config/Bitwarden", ".config/keepassxc",
	// assistants' own settings and sign-ins
	".claude", ".claude.json", ".codex", ".cursor", ".gemini", ".qwen", ".continue", ".windsurf", ".codeium", ".copilot", ".aider.conf.yml",
	".config/Claude", ".config/claude", ".config/Cursor", ".config/Code", ".config/github-copilot", ".config/goose", ".config/opencode", ".local/share/opencode", ".config/zed",
	".config/Code - Insiders", ".config/Windsurf", ".config/devin", ".cline", ".lmstudio/mcp.json", ".cache/lm-studio/mcp.json",
}

// secretsInHomeDarwin are the same for macOS alone. Nothing below ~/Library can be granted either.
var secretsInHomeDarwin = []string{
	"Library/Keychains", "Library/Cookies", "Library/Safari", "Library/Mail", "Library/Messages", "Library/Calendars", "Library/Reminders", "Library/Containers",
	"Library/Group Containers", "Library/Accounts", "Library/IdentityServices", "Library/HomeKit", "Library/Metadata", "Library/Suggestions",
	"Library/Biome", "Library/PersonalizationPortrait", "Library/Sharing", "Library/Passes", "Library/Health", "Library/Shortcuts", "Library/Preferences",
	"Library/Application Support/AddressBook", "Library/Application Support/CallHistoryDB", "Library/Application Support/com.apple.TCC",
	"Library/Application Support/MobileSync", "Library/Application Support/Google", "Library/Application Support/Chromium", "Library/Application Support/BraveSoftware",
	"Library/Application Support/Microsoft Edge", "Library/Application Support/Arc", "Library/Application Support/Vivaldi", "Library/Application Support/Firefox",
	"Library/Application Support/Claude", "Library/Application Support/Cursor", "Library/Application Support/Code", "Library/Application Support/Code - Insiders",
	"Library/Application Support/Windsurf", "Library/Application Support/Zed", "Library/Application Support/LM Studio", "Library/Application Support/Goose", "Library/Application Support/com.openai.chat",
	"Library/Application Support/1Password", "Library/Application Support/Bitwarden", "Library/Application Support/KeePassXC",
	"Library/Application Support/Signal", "Library/Application Support/Slack", "Library/Application Support/discord", "Library/Application Support/gcloud",
	"Library/Mobile Documents/com~apple~Passwords",
}

// systemSecrets are never readable. Most are closed to an ordinary user anyway; Handrail may run as root.
var systemSecrets = map[string][]string{
	"linux": {
		"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/security/opasswd", "/etc/krb5.keytab",
		"/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_dsa_key", "/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key",
		"/etc/ssl/private", "/etc/pki/tls/private", "/etc/NetworkManager/system-connections", "/etc/wireguard", "/etc/openvpn", "/etc/ipsec.secrets", "/etc/ppp",
		"/etc/apt/auth.conf", "/etc/apt/auth.conf.d", "/etc/mysql/debian.cnf", "/etc/kubernetes", "/etc/rancher", "/etc/letsencrypt",
	},
	"darwin": {
		"/private/etc/master.passwd", "/private/etc/sudoers", "/private/etc/sudoers.d", "/private/etc/krb5.keytab",
		"/private/etc/ssh/ssh_host_rsa_key", "/private/etc/ssh/ssh_host_dsa_key", "/private/etc/ssh/ssh_host_ecdsa_key", "/private/etc/ssh/ssh_host_ed25519_key",
		"/private/var/db/dslocal", "/private/var/root", "/private/var/vm", "/Library/Keychains", "/Library/Application Support/com.apple.TCC",
	},
}

// FollowSecrets returns a copy in which what a secret's link leads to is a secret too: ~/.ssh may be a link into a folder of
// dotfiles, which a grant opens under its own name. It looks at the disk as it is now. A link to a device, or to a folder that
// holds the person's, hides nothing and is left out.
func (m Machine) FollowSecrets() Machine {
	m.Secrets = slices.Clone(m.Secrets)
	for _, s := range m.secretPaths() {
		real, err := filepath.EvalSymlinks(s)
		if err != nil || real == s || checkPath(real) != nil || covered([]string{"/dev", m.Temp, m.Caches}, real) ||
			slices.ContainsFunc([]string{m.Home, m.Workspace, m.Temp, m.Caches}, func(own string) bool { return within(real, own) }) {
			continue
		}
		m.Secrets = append(m.Secrets, real)
	}
	return m
}

// secretPaths lists the absolute paths that the policy never opens for reading, our own files first.
func (m Machine) secretPaths() []string {
	var s []string
	if m.State != "" {
		s = append(s, m.State)
	}
	s = append(s, m.Secrets...)
	if m.Home != "" {
		for _, rel := range secretsInHome {
			s = append(s, filepath.Join(m.Home, rel))
		}
		if m.system() == "darwin" {
			for _, rel := range secretsInHomeDarwin {
				s = append(s, filepath.Join(m.Home, rel))
			}
		}
	}
	return append(s, systemSecrets[m.system()]...)
}
