// Package credential finds keys, tokens and passwords in text, so that they don't leave the computer with it.
//
//	kind, ok := credential.Find(output) // "GitHub token", true
//
// It knows the formats by which services mark what they hand out ([Kinds]), private keys with and without their frame, and
// passwords where the text itself says that they are some: in an address, an assignment, a netrc, a header. What looks like
// nothing (a plain word as a password) can't be found, nor what was encoded or cut up. Hashes, UUIDs, certificates and
// public keys are no credentials. The rules are the formats that the services publish, checked by their own marks where they
// have some; none is looked up anywhere.
package credential

import (
	"bytes"
	"encoding/base64"
	"math"
	"regexp"
	"strings"
	"unicode"
)

// kind is one kind of credential.
type kind struct {
	name string
	// marks are lower-case texts of which one stands in every credential of the kind: the pattern is tried only where it does.
	marks []string
	// pattern's last group, or all of it, is the credential.
	pattern *regexp.Regexp
	// holds looks at the credential found, and at the whole match; nil: it is one.
	holds func(secret, match string) bool
}

func rule(name, marks, pattern string, holds func(secret, match string) bool) kind {
	return kind{name, strings.Fields(marks), regexp.MustCompile(pattern), holds}
}

// end is what may not follow a token.
const end = `(?:[^A-Za-z0-9_-]|$)`

// kinds are tried in order. Sources: the services' own descriptions of their formats.
var kinds = []kind{
	rule("private key", "private", `-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?s:.{0,300}?)[A-Za-z0-9+/]{40}`, nil),
	rule("private key", "private", `[A-Za-z0-9+/]{16}[A-Za-z0-9+/=]*(?s:.{1,120}?)-----END (?:[A-Z0-9]+ )*PRIVATE KEY`, nil),
	rule("private key", "putty-user-key-file", `PuTTY-User-Key-File-\d: \S+`, nil),
	// What a private key begins with inside its frame: OpenSSH's name, and the first fields of PKCS #1, #8 and SEC 1 (RFC 8017, 5958, 5915).
	rule("private key", "b3blbnnzac1rzxktdjea", `b3BlbnNzaC1rZXktdjEA[A-Za-z0-9+/]{20}`, nil),
	rule("private key", "ibaak", `\bMII[A-Za-z0-9+/]{2}[AQgw]IBAAK[BC][A-Za-z0-9+/]{30}`, nil),
	rule("private key", "badanbgkqhkig9w0baqefaas", `\bMII[A-Za-z0-9+/]{3,6}BADANBgkqhkiG9w0BAQEFAAS[A-Za-z0-9+/]{20}`, nil),
	rule("private key", "mhccaqeei migkageb mihcageb mighageamb mc4caqaw", `\b(?:MHcCAQEEI|MIGkAgEBBD|MIHcAgEBBE|MIGHAgEAMBMGByqGSM49|MC4CAQAwBQYDK2VwBCIEI)[A-Za-z0-9+/]{30}`, nil),
	rule("private key", "age-secret-key-1", `AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}`, nil),
	rule("AWS access key", "akia asia abia acca", `\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b`, func(s, _ string) bool { return !strings.HasSuffix(s, "EXAMPLE") && spread(s[4:]) > 2.5 }),
	rule("AWS secret key", "aws secretaccesskey secret_access_key", `(?i)(?:aws|secret_?access_?key).{0,30}?["' \t:=]((?-i:[A-Za-z0-9/+]{40}))(?:[^A-Za-z0-9/+=]|$)`,
		func(s, _ string) bool { return spread(s) > 4 && mixed(s) && !strings.HasSuffix(s, "EXAMPLEKEY") }),
	rule("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", `\b(?:gh[pousr]_[A-Za-z0-9]{36,251}|github_pat_[A-Za-z0-9_]{82})\b`, random),
	rule("GitLab token", "glpat- gldt- glrt- glptt- glft- glsoat- glcbt- glagent- gloas-", `\bgl(?:pat|dt|rt|ptt|ft|soat|cbt|agent|oas)-[A-Za-z0-9_.-]{20,}`, random),
	rule("Slack token", "xoxa- xoxb- xoxe xoxp- xoxr- xoxs- xapp-", `\bx(?:ox[abeprs](?:\.xox[bp])?|app)-[A-Za-z0-9-]{20,}`, random),
	rule("Slack webhook", "hooks.slack.com", `hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/]{30,}`, random),
	rule("Discord webhook", "/api/webhooks/", `discord(?:app)?\.com/api/webhooks/\d{17,20}/[A-Za-z0-9_-]{60,}`, nil),
	rule("Discord token", "discord bot_token bot-token", `\b([MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40})`+end, func(m, _ string) bool {
		id, err := base64.RawURLEncoding.DecodeString(m[:strings.IndexByte(m, '.')]) // a number: the user's
		return err == nil && len(id) > 15 && strings.Trim(string(id), "0123456789") == ""
	}),
	rule("Google API key", "aiza", `\bAIza[A-Za-z0-9_-]{35}`+end, func(_, m string) bool { return spread(m[4:39]) > 3 }),
	rule("Google client secret", "gocspx-", `\bGOCSPX-[A-Za-z0-9_-]{28}`, random),
	rule("Google access token", "ya29.", `\bya29\.[A-Za-z0-9_-]{30,}`, random),
	rule("Stripe key", "sk_live_ sk_test_ rk_live_ rk_test_ whsec_", `\b(?:[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{32,})`, random),
	rule("OpenAI key", "t3blbkfj", `\bsk-[A-Za-z0-9_-]{20,}T3BlbkFJ[A-Za-z0-9_-]{20,}`, nil),
	rule("API key (sk-…)", "sk-", `\bsk-(?:ant-[a-z0-9]+-[A-Za-z0-9_-]{32,}|or-v1-[0-9a-f]{64}|(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,}|[A-Za-z0-9]{32,})`+end, random),
	rule("npm token", "npm_", `\bnpm_[A-Za-z0-9]{36}\b`, random),
	rule("npm sign-in", "_authtoken _auth _password", `(?i)(?:^|[\s:])_(?:authToken|auth|password)\s*=\s*"?([A-Za-z0-9+/=_.-]{16,})`, random),
	rule("PyPI token", "pypi-ageichlwas5vcmc", `\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,}`, nil),
	rule("RubyGems key", "rubygems_", `\brubygems_[0-9a-f]{48}\b`, nil),
	rule("Docker token", "dckr_pat_ dckr_oat_", `\bdckr_[po]at_[A-Za-z0-9_-]{20,}`, random),
	rule("Hugging Face token", "hf_ api_org_", `\b(?:hf_|api_org_)[A-Za-z]{34}\b`, random),
	rule("SendGrid key", "sg.", `\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}`+end, random),
	rule("Mailgun key", "key-", `\bkey-[0-9a-f]{32}\b`, random),
	rule("Mailchimp key", "-us", `\b[0-9a-f]{32}-us\d{1,2}\b`, random),
	rule("Twilio key", "twilio", `(?i)twilio.{0,40}?\b((?-i:SK|AC)?[0-9a-f]{32})\b`, random),
	rule("Telegram bot token", ":aa", `\b\d{8,10}:AA[A-Za-z0-9_-]{33}`+end, random),
	rule("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", `\bdo[por]_v1_[0-9a-f]{64}\b`, random),
	rule("Databricks token", "dapi", `\bdapi[0-9a-f]{32}(?:-\d)?\b`, random),
	rule("Shopify token", "shpat_ shpca_ shppa_ shpss_", `\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b`, random),
	rule("Square token", "sq0atp- sq0csp-", `\bsq0(?:atp|csp)-[A-Za-z0-9_-]{22,43}`, random),
	rule("Linear key", "lin_api_", `\blin_api_[A-Za-z0-9]{40}\b`, random),
	rule("Notion token", "ntn_ secret_", `\b(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43})\b`, random),
	rule("Figma token", "figd_", `\bfigd_[A-Za-z0-9_-]{40}`, random),
	rule("Postman key", "pmak-", `\bPMAK-[0-9a-f]{24}-[0-9a-f]{34}\b`, nil),
	rule("Doppler token", "dp.", `\bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9.]{40,}`, random),
	rule("Vault token", "hvs. hvb. hvr.", `\bhv[sbr]\.[A-Za-z0-9_-]{24,}`, random),
	rule("Terraform token", ".atlasv1.", `\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}`, nil),
	rule("Grafana token", "glsa_ glc_", `\b(?:glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}|glc_[A-Za-z0-9+/=]{32,})`, random),
	rule("New Relic key", "nrak-", `\bNRAK-[A-Z0-9]{27}\b`, random),
	rule("Sentry token", "sntrys_ sntryu_", `\bsntry[su]_[A-Za-z0-9+/=_]{60,}`, random),
	rule("Supabase key", "sbp_ sb_secret_", `\b(?:sbp_[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{20,})`, random),
	rule("Atlassian token", "atatt3 atbb", `\b(?:ATATT3[A-Za-z0-9_=-]{80,}|ATBB[A-Za-z0-9]{32})`, random),
	rule("1Password secret key", "a3- ops_eyj", `\b(?:A3-[A-Z0-9]{6}-[A-Z0-9]{6}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}(?:-[A-Z0-9]{5})?\b|ops_eyJ[A-Za-z0-9+/=]{200,})`, random),
	rule("Azure key", "accountkey= sharedaccesskey=", `(?i)(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{42,}={1,2})`, random),
	rule("Azure client secret", "8q~ 7q~", `(?:^|[^A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}[78]Q~[A-Za-z0-9_~.-]{31,34}(?:[^A-Za-z0-9_~.-]|$)`, random),
	rule("JSON web token", "eyj", `\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,}`, func(_, m string) bool {
		head, err := base64.RawURLEncoding.DecodeString(m[:strings.IndexByte(m, '.')])
		return err == nil && bytes.Contains(head, []byte(`"alg"`))
	}),
	rule("password hash", ":$", `(?m)[A-Za-z_][A-Za-z0-9_.-]*:\$(?:1|2[abxy]?|5|6|7|y|apr1|argon2id?)\$[A-Za-z0-9./$,=+]{20,}`, nil),
	rule("password in a netrc", "password", `(?i)\bmachine\s+\S+\s+login\s+\S+\s+password\s+(\S{4,})`, told),
	rule("password in an address", "://", `(?i)\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@"'<>]{0,64}:([^\s/:@"'<>]{6,128})@[a-z0-9\[]`, told),
	rule("password in a header", "authorization", `(?i)\bauthorization["']?[ \t]*[:=,][ \t]*["'\x60]?(?:bearer|basic|token|apikey)[ \t]+([A-Za-z0-9._~+/=-]{16,})`, random),
	rule("password or key", "password passwd passphrase secret token apikey api_key api-key access_key access-key accesskey auth_key auth-key private_key private-key privatekey encryption_key signing_key account_key credential", assignment, told),
}

// assignment is a name that says what its value is, and the value: in a .env, a settings file, a script, a program.
const assignment = `(?i)(?:password|passwd|passphrase|secret|secret_?key|(?:api|access|auth|private|encryption|signing|account)[_-]?key|apikey|(?:access|auth|api|bearer|refresh|session|bot)[_-]?token|token|credentials?)` +
	`(?:[_-](?:base|prod|production|dev|test|staging|live|\d))?["']?[ \t]{0,3}(?:=|:|:=|=>)[ \t]{0,3}(?:["'\x60]([^\s"'\x60]{8,200})["'\x60]|([^\s"'\x60(){}<>\[\],;|]{8,200})(?:[\s"',;]|$))`

// Kinds lists the kinds that Find knows, each once.
func Kinds() []string {
	var names []string
	seen := make(map[string]bool)
	for _, k := range kinds {
		if !seen[k.name] {
			seen[k.name] = true
			names = append(names, k.name)
		}
	}
	return names
}

// Find looks for a credential in text and names the kind of the first one found.
func Find(text []byte) (name string, ok bool) {
	kind, _, ok := find(text)
	return kind, ok
}

func find(text []byte) (name, what string, ok bool) {
	lower := lowerASCII(text)
	for i := range kinds {
		k := &kinds[i]
		for _, mark := range k.marks {
			for from := 0; ; {
				at := bytes.Index(lower[from:], []byte(mark))
				if at < 0 {
					break
				}
				at += from
				start, end := k.around(text, at)
				if what, ok := k.match(text[start:end]); ok {
					return k.name, what, true
				}
				from = max(at+len(mark), min(end, at+ahead/2)) // what may have been cut off is looked at again
			}
		}
	}
	return "", "", false
}

// What is looked at before and after a mark, in bytes.
const (
	behind = 400
	ahead  = 800
)

// around gives the text around a mark that a credential of the kind can take up: the line, or more of a kind that has several.
func (k *kind) around(text []byte, at int) (start, end int) {
	start, end = max(0, at-behind), min(len(text), at+ahead)
	if k.name == "private key" || strings.HasSuffix(k.name, "netrc") {
		return start, end
	}
	start += bytes.LastIndexByte(text[start:at], '\n') + 1
	if n := bytes.IndexByte(text[at:end], '\n'); n >= 0 {
		end = at + n
	}
	return start, end
}

func (k *kind) match(text []byte) (what string, ok bool) {
	for _, m := range k.pattern.FindAllSubmatchIndex(text, -1) {
		match := string(text[m[0]:m[1]])
		secret := match
		for g := 2; g+1 < len(m); g += 2 {
			if m[g] >= 0 {
				secret = string(text[m[g]:m[g+1]])
			}
		}
		if k.holds == nil || k.holds(secret, match) {
			return match, true
		}
	}
	return "", false
}

// lowerASCII makes capital letters small, and leaves every byte at its place.
func lowerASCII(text []byte) []byte {
	lower := bytes.Clone(text)
	for i, c := range lower {
		if c >= 'A' && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	return lower
}

// random reports whether a token could have been drawn: one that is made of few different characters, or counts up, is an
// example.
func random(secret, _ string) bool {
	return spread(secret) > 2.8 && !strings.Contains(strings.ToLower(secret), "example") && !strings.Contains(strings.ToLower(secret), "xxxx") && !strings.Contains(secret, "....")
}

// told reports whether a value of which the text says that it is a password could be one, and no name, call, place-holder or
// example in its stead.
func told(secret, match string) bool {
	low := strings.ToLower(secret)
	for _, p := range placeholders {
		if strings.Contains(low, p) {
			return false
		}
	}
	if strings.ContainsAny(secret, "$<>{}()[]*%\\") || strings.Contains(secret, "//") && !strings.Contains(match, "@") || strings.Contains(secret, "::") {
		return false
	}
	digits, lowers, uppers, marks := count(secret)
	switch {
	case lowers+uppers == 0 || digits == 0 && marks == 0:
		return false // words are names of something more often than passwords
	case digits == 0 && strings.Trim(secret, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-/:,;=") == "":
		return false // a path, a name with dots, a key in a list of texts
	case spread(secret) < 2.5:
		return false
	}
	return len(secret) < 16 && (digits > 0) || spread(secret) > 3
}

// placeholders are parts of values that stand in a password's place.
var placeholders = []string{"example", "placeholder", "changeme", "change-me", "change_me", "xxxx", "your", "dummy", "redacted", "...", "todo", "fixme", "password", "passwd", "secret", "token", "sample", "insert", "process.env", "os.environ", "getenv", "privatekey", "publickey", "testkey", "brokenkey", "1024key", "2048key"}

func count(s string) (digits, lowers, uppers, marks int) {
	for _, r := range s {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsUpper(r):
			uppers++
		case unicode.IsLetter(r):
			lowers++
		default:
			marks++
		}
	}
	return
}

func mixed(s string) bool {
	digits, lowers, uppers, _ := count(s)
	return digits > 0 && lowers > 0 && uppers > 0
}

// spread is Shannon's entropy of the characters, in bits each.
func spread(s string) float64 {
	var n [256]float64
	for i := 0; i < len(s); i++ {
		n[s[i]]++
	}
	sum := 0.0
	for _, c := range n {
		if c > 0 {
			p := c / float64(len(s))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}
