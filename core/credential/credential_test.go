package credential

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// made puts a credential together, so that no file of this repository holds one.
func made(parts ...string) string { return strings.Join(parts, "") }

// letters are drawn once and for all: as spread as a real token's.
const letters = "q7Zr2LmX9tVb4KdW8nPs3HyJ6cGfA5eRuTkBvNxM1oQiSwDzYjCgFhEaUl0pO"

// one is a credential of each kind.
var one = []struct{ kind, text string }{
	{"private key", made("-----BEGIN RSA PRIVATE", " KEY-----\nMIIEpAIBAAK", strings.Repeat(letters, 2), "\n-----END")},
	{"private key", made("-----BEGIN OPENSSH PRIVATE", " KEY-----\r\n", letters)},
	{"private key", made("-----BEGIN PGP PRIVATE", " KEY BLOCK-----\nVersion: GnuPG v2\n\n", letters)},
	{"private key", made(letters, "\n", letters[:20], "==\n-----END EC PRIVATE", " KEY-----")},
	{"private key", made("k.pem:1:-----BEGIN PRIVATE", " KEY-----\nk.pem:2:", letters)},
	{"private key", made("PuTTY-User-Key-", "File-3: ssh-ed25519")},
	{"private key", made("b3BlbnNzaC1rZXkt", "djEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW")},
	{"private key", made("MIIEpAIB", "AAKCAQEA", letters)},
	{"private key", made("MIIEvQIBADANBgkqh", "kiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC", letters)},
	{"private key", made("MHcCAQ", "EEI", letters)},
	{"private key", made("MC4CAQAwBQYD", "K2VwBCIEI", letters)},
	{"private key", made("AGE-SECRET-", "KEY-1", strings.Repeat("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 2)[:58])},
	{"AWS access key", made("AKI", "AQ7ZR2LMX4TVBHKDW")},
	{"AWS access key", made("aws_access_key_id = ASI", "AQ7ZR2LMX4TVBHKDW")},
	{"AWS secret key", made("aws_secret_access_key=", letters[:40])},
	{"AWS secret key", made(`"SecretAccessKey": "`, letters[:38], `/+"`)},
	{"GitHub token", made("ghp", "_", letters[:36])},
	{"GitHub token", made("https://x:gho", "_", letters[:36], "@github.com")},
	{"GitHub token", made("github", "_pat_", letters[:22], "_", letters[:59])},
	{"GitLab token", made("glp", "at-", letters[:20])},
	{"Slack token", made("xox", "b-123456789012-1234567890123-", letters[:24])},
	{"Slack webhook", made("https://hooks.", "slack.com/services/T12345678/B12345678/", letters[:24])},
	{"Discord webhook", made("https://discord.com/api/", "webhooks/123456789012345678/", letters, letters)},
	{"Discord token", made("discord.login: MTIzNDU2Nzg5MDEyMzQ1Njc4", ".", letters[:6], ".", letters[:30])},
	{"Google API key", made("AI", "za", letters[:35])},
	{"Google client secret", made("GOC", "SPX-", letters[:28])},
	{"Google access token", made("ya", "29.", letters)},
	{"Stripe key", made("sk_", "live_", letters[:24])},
	{"OpenAI key", made("sk-", "proj-", letters[:40], "T3Blbk", "FJ", letters[:40])},
	{"API key (sk-…)", made("sk-", "ant-api03-", letters, letters[:33])},
	{"npm token", made("np", "m_", letters[:36])},
	{"npm sign-in", made("//registry.example/:_auth", "Token=", letters[:36])},
	{"PyPI token", made("pypi-AgEIcHlw", "aS5vcmc", letters)},
	{"RubyGems key", made("rubygems", "_", strings.Repeat("0123456789abcdef", 3))},
	{"Docker token", made("dckr", "_pat_", letters[:27])},
	{"Hugging Face token", made("hf", "_", "qZrLmXtVbKdWnPsHyJcGfAeRuTkBvNxMoQ")},
	{"SendGrid key", made("S", "G.", letters[:22], ".", letters[:43])},
	{"Mailgun key", made("ke", "y-", "0f1e2d3c4b5a69788796a5b4c3d2e1f0")},
	{"Mailchimp key", made("0f1e2d3c4b5a69788796a5b4c3d2e1f0", "-us12")},
	{"Twilio key", made("twilio_sid = S", "K0f1e2d3c4b5a69788796a5b4c3d2e1f0")},
	{"Telegram bot token", made("123456789", ":AA", letters[:33])},
	{"DigitalOcean token", made("dop", "_v1_", strings.Repeat("0f1e2d3c4b5a6978", 4))},
	{"Databricks token", made("da", "pi0f1e2d3c4b5a69788796a5b4c3d2e1f0")},
	{"Shopify token", made("shp", "at_0f1e2d3c4b5a69788796a5b4c3d2e1f0")},
	{"Square token", made("sq0", "atp-", letters[:22])},
	{"Linear key", made("lin_", "api_", letters[:40])},
	{"Notion token", made("nt", "n_", letters[:44])},
	{"Figma token", made("fig", "d_", letters[:40])},
	{"Postman key", made("PM", "AK-0f1e2d3c4b5a69788796a5b4-0f1e2d3c4b5a69788796a5b4c3d2e1f0aa")},
	{"Doppler token", made("dp", ".pt.", letters[:43])},
	{"Vault token", made("hv", "s.", letters[:30])},
	{"Terraform token", made(letters[:14], ".atlas", "v1.", letters, letters[:10])},
	{"Grafana token", made("gl", "sa_", letters[:32], "_0f1e2d3c")},
	{"New Relic key", made("NR", "AK-", "Q7ZR2LMX9TVB4KDW8NPS3HYJ6CG")},
	{"Sentry token", made("sntr", "ys_", letters)},
	{"Supabase key", made("sb", "p_0f1e2d3c4b5a69788796a5b4c3d2e1f001234567")},
	{"Atlassian token", made("ATA", "TT3", letters, letters)},
	{"1Password secret key", made("A", "3-Q7ZR2L-MX9TVB-4KDW8-NPS3H-YJ6CG-FA5ER")},
	{"Azure key", made("DefaultEndpointsProtocol=https;Account", "Key=", letters, letters[:25], "==")},
	{"Azure client secret", made("Abc8", "Q~", letters[:34])},
	{"JSON web token", made("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9", ".eyJzdWIiOiIxMjM0NTY3ODkwIn0", ".", letters[:43])},
	{"password hash", made("root:", "$6$", "q7Zr2LmX$", letters, ":19000:0:99999:7:::")},
	{"password hash", made("ann:", "$2y$", "10$", letters[:53])},
	{"password in a netrc", made("machine example.com login ann pass", "word h3rring!x")},
	{"password in an address", made("postgres://ann:", "h3rring!x", "@db.internal:5432/app")},
	{"password in an address", made("redis://:", "q7Zr2LmX9t", "@10.0.0.3:6379")},
	{"password in a header", made(`curl -H "Authorization: `, "Bearer ", letters[:30], `"`)},
	{"password or key", made("DB_PASS", "WORD=h3rring!x")},
	{"password or key", made("export MY_API_", "KEY=", letters[:24])},
	{"password or key", made(`  "client_sec`, `ret": "`, letters[:24], `",`)},
	{"password or key", made("pass", "word: Tr0ub4dor&3")},
	{"password or key", made(`const apiKe`, `y = '`, letters[:20], `'`)},
	{"password or key", made("config.yml:12:  secret_key", "_base: 0f1e2d3c4b5a69788796a5b4c3d2e1f0")},
}

func TestFind(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range one {
		for _, around := range []string{"%s", "before\n%s\nafter", "path/to/file.txt:12:%s", "\t%s "} {
			text := fmt.Sprintf(strings.ReplaceAll(around, "%s", "%[1]s"), c.text)
			kind, ok := Find([]byte(text))
			if !ok || kind != c.kind {
				t.Errorf("%s: %q, %v in %.60q", c.kind, kind, ok, text)
			}
		}
		seen[c.kind] = true
	}
	for _, k := range Kinds() {
		if !seen[k] {
			t.Errorf("no example of %s", k)
		}
	}
	fmt.Printf("credential kinds: %d, examples: %d\n", len(Kinds()), len(one))
}

func TestFindNothing(t *testing.T) {
	for _, s := range []string{
		"", "commit 9fceb02d0ae598e95dc970b74767f19372d61af8", "id: 123e4567-e89b-12d3-a456-426614174000", "sha256:" + strings.Repeat("0f1e2d3c4b5a6978", 4),
		"golang.org/x/text v0.21.0 h1:zyQAAVrwaneQ066sspRyJaG9VNi/YJ1NfzcGB3hZ/qo=", `"integrity": "sha512-` + letters + letters[:25] + `=="`,
		"data:image/png;base64," + strings.Repeat(letters, 3), "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + letters[:40] + " ann@laptop",
		"-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBa\n", "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA" + letters,
		"write -----BEGIN RSA PRIVATE" + " KEY----- in front", "password: hunter", "password = os.Getenv(\"DB_PASSWORD\")", "password: ${DB_PASSWORD}", "password=<your password>", "token := parser.next(tok1)",
		"api_key: YOUR_API_KEY_1", "secret = \"changeme1\"", "http://user:password@example.com/", "https://github.com/a/b:c@d", "git@github.com:ann/site.git", "AKIAIOSFODNN7EXAMPLE",
		"if password != confirmPassword {", "the password is at least 8 characters", "tokens: 4096", "max_tokens=1000", "passwordHash string", "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "class=\"sk-spinner-double-bounce\"",
		"key-value stores", "PASS TestFoo (0.00s)", "Secret: kubernetes.io/service-account", "ทดสอบรหัสผ่าน", "token.IDENT: true", "secret: /run/secrets/db", "Authorization: Bearer <token>",
	} {
		if kind, ok := Find([]byte(s)); ok {
			t.Errorf("%q is called a %s", s, kind)
		}
	}
}

// maxFalse is how many findings may be false, at most, of 10,000 lines.
const maxFalse = 1

// The Go source tree: more than a million lines with hashes, keys of tests, base64, sums of modules. Every finding but a private
// key, of which its tests hold some, counts as false.
func TestFalsePositives(t *testing.T) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(strings.TrimSpace(string(out)), "src")
	lines, files, keys := 0, 0, 0
	var found []string
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 {
			return nil
		}
		files++
		lines += bytes.Count(data, []byte("\n"))
		if _, _, ok := find(data); !ok { // then no line of it has one either
			return nil
		}
		before := keys
		for line := range bytes.Lines(data) {
			if kind, what, ok := find(line); ok {
				if kind == "private key" {
					keys++
					continue
				}
				found = append(found, fmt.Sprintf("%s: %s: %.120s", strings.TrimPrefix(path, root), kind, what))
			}
		}
		if kind, _, _ := find(data); kind == "private key" && keys == before { // one of several lines
			keys++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if lines < 1_000_000 {
		t.Fatalf("only %d lines in %s", lines, root)
	}
	rate := float64(len(found)) * 10_000 / float64(lines)
	fmt.Printf("credential false positives: %d in %d lines of %d files (%.3f in 10,000); private keys of tests: %d\n", len(found), lines, files, rate, keys)
	if rate > maxFalse {
		t.Errorf("%.2f false findings in 10,000 lines", rate)
	}
	for _, f := range found {
		t.Log(f)
	}
}

func FuzzFind(f *testing.F) {
	for _, c := range one {
		f.Add(c.text, "before ", " after")
	}
	f.Fuzz(func(t *testing.T, text, before, after string) {
		kind, ok := Find([]byte(text))
		if !ok {
			return
		}
		if kind == "" {
			t.Fatal("a kind without a name")
		}
		// A line before or after hides nothing.
		if _, still := Find([]byte(before + "\n" + text + "\n" + after)); !still {
			t.Fatalf("%q is found alone only", text)
		}
	})
}
