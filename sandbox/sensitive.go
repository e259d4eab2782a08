package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Names that commonly hold a secret wherever they lie, beside those of secretsInHome. All are lower-case; fold brings what a
// file system might take for them to that form.
var (
	sensitiveNames = &names{list: []string{
		// keys and sign-ins
		"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", ".htpasswd", ".vault_pass", ".vault-pass", "master.key",
		"secrets.json", "secrets.yml", "secrets.yaml", "secrets.toml", "client_secret.json", "client_secrets.json", "service-account.json", "serviceaccount.json",
		"application_default_credentials.json", "terraform.tfstate", "terraform.tfstate.backup", "wp-config.php", ".env", ".envrc",
		// what browsers and messengers keep
		"logins.json", "key3.db", "key4.db", "signons.sqlite", "cookies.sqlite", "cookies.binarycookies", "login data", "chat.db", "keychain-2.db",
	}}
	sensitiveEndings = &names{list: []string{".kdbx", ".kdb", ".keychain", ".keychain-db", ".agilekeychain", ".opvault", ".1pif", ".p12", ".pfx", ".jks", ".keystore", ".ppk", ".ovpn", ".mobileconfig",
		".before-handrail"}} // copies of assistants' settings
	// harmlessEnv are the endings of files that show how a .env is written.
	harmlessEnv = []string{".example", ".sample", ".template", ".dist"}
)

// sensitiveInHome are the paths of secretsInHome, folded and by their first element: they are as secret in a copy of a home
// folder.
var sensitiveInHome = sync.OnceValue(func() map[string][]string {
	m := make(map[string][]string)
	for _, s := range slices.Concat(secretsInHome, secretsInHomeDarwin) {
		s = fold(s)
		first, rest, _ := strings.Cut(s, "/")
		m[first] = append(m[first], rest)
	}
	return m
})

// Sensitive reports whether path names something that commonly holds a secret, wherever it lies: a key, a sign-in, a .env,
// an assistant's settings, a shell's history, a copy of such a folder; and which part of it says so. Letter case and the ways to
// write a letter in Unicode make no difference. The path may be relative. It says nothing of what is in the file.
func Sensitive(path string) (name string, ok bool) {
	el := strings.Split(fold(path), "/")
	for i, e := range el {
		switch {
		case e == "":
			continue
		case sensitiveNames.has(e), sensitiveEndings.has(filepath.Ext(e)):
			return e, true
		case strings.HasPrefix(e, ".env.") && !(i == len(el)-1 && slices.ContainsFunc(harmlessEnv, func(end string) bool { return strings.HasSuffix(e, end) })):
			return e, true
		}
		for _, rest := range sensitiveInHome()[e] {
			if rest == "" {
				return e, true
			}
			n := strings.Count(rest, "/") + 1
			if i+n < len(el) && strings.Join(el[i+1:i+1+n], "/") == rest {
				return e + "/" + rest, true
			}
		}
	}
	return "", false
}

// CloseSensitive returns a policy under which what Sensitive names is closed outside the system's own folders.
//
// On Linux a command finds such a file empty, if it lies among the first files of a folder that is open (sensitiveEntries,
// sensitiveCovers) and not in node_modules or a Git folder.
func (p Policy) CloseSensitive() Policy {
	p.sensitive = true
	return p
}

// closes reports whether a path is closed by CloseSensitive.
func (p Policy) closes(path string) (rule string, ok bool) {
	if !p.sensitive || covered(systemReads[p.machine.system()], path) {
		return "", false
	}
	name, ok := Sensitive(path)
	return "secrets are kept under such a name: " + name, ok
}

// sensitivePatterns are regular expressions for the paths that Sensitive names, and those for what it leaves out.
func sensitivePatterns() (closed, open []string) {
	const below = "(/.*)?$"
	for _, g := range groups(sensitiveNames.list) {
		closed = append(closed, "/("+g+")"+below)
	}
	for _, g := range groups(sensitiveEndings.list) {
		closed = append(closed, "/[^/]*("+g+")"+below)
	}
	var home []string
	for first, rests := range sensitiveInHome() {
		for _, rest := range rests {
			home = append(home, strings.TrimSuffix(first+"/"+rest, "/"))
		}
	}
	for _, g := range groups(home) {
		closed = append(closed, "/("+g+")"+below)
	}
	env := "/" + foldedRegex(".env.")
	closed = append(closed, env+"[^/]*"+below)
	for _, end := range harmlessEnv {
		open = append(open, env+"([^/]*[.])?"+strings.TrimPrefix(foldedRegex(end), "[.]")+"$")
	}
	return closed, open
}
