package sandbox

import "testing"

func TestSensitive(t *testing.T) {
	for path, want := range map[string]string{
		".env": ".env", "a/.ENV": ".env", ".env.production": ".env.production", ".env.example": "", "a/.env.local.sample": "", ".env.example/x": ".env.example", "x.env": "", ".environment": "",
		"id_rsa": "id_rsa", "ID_ed25519": "id_ed25519", "id_rsa.pub": "", "server.pem": "", "slides.key": "", "a/store.p12": "store.p12", "/x/Login.Keychain-DB": "login.keychain-db",
		".ssh": ".ssh", "/home/anna/.ssh/config": ".ssh", "backup/.aws/credentials": ".aws", "x/.config/gh/hosts.yml": ".config/gh", ".config/gh": ".config/gh", ".config/ghx": "", "x/.config": "",
		"Library/Keychains/x": "library/keychains", "Library": "", "site/.claude/settings.json": ".claude", ".cursor/mcp.json": ".cursor", ".bash_history": ".bash_history", "history.txt": "",
		"dump/Cookies.sqlite": "cookies.sqlite", "Messages/chat.db": "chat.db", "terraform.tfstate": "terraform.tfstate", "main.tf": "", "": "", "/": "", "README.md": "", "src/env.go": "",
		".s\u017fh/x": ".ssh", ".s\u200bsh/x": ".ssh", "\u212aey4.db": "key4.db", "caf\u00e9/.env": ".env", "cafe\u0301/.env": ".env", "\u0e2b\u0e49\u0e2d\u0e07/.env": ".env",
	} {
		name, ok := Sensitive(path)
		if ok != (want != "") || name != want {
			t.Errorf("%q: %q, %v; want %q", path, name, ok, want)
		}
	}
}

// Every secret of a home folder is one in a copy of it.
func TestSensitiveCopies(t *testing.T) {
	for _, list := range [][]string{secretsInHome, secretsInHomeDarwin} {
		for _, s := range list {
			for _, path := range []string{s, "/mnt/backup/" + s, "old/" + s + "/x"} {
				if _, ok := Sensitive(path); !ok {
					t.Errorf("%s isn't known", path)
				}
			}
		}
	}
}
