package audit

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// secrets match what must not reach the log: the value of a header, variable or option that names a credential, and
// tokens that are known by their form. A secret of no known form and with no telling name is not found.
var secrets = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|$)`), "[redacted private key]"},
	{regexp.MustCompile(`(?i)\b(authorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)?\s*)[^\s"']+`), "${1}[redacted]"},
	{regexp.MustCompile(`(?i)\b(bearer\s+)[a-z0-9._~+/=-]{8,}`), "${1}[redacted]"},
	{regexp.MustCompile(`(?i)([a-z0-9_-]*(?:password|passwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential)[a-z0-9_-]*["']?\s*[=:]\s*)("[^"]*"|'[^']*'|[^\s"'&;|]+)`), "${1}[redacted]"},
	{regexp.MustCompile(`(?i)(--?(?:password|passwd|secret|token|api-?key|access-?key)(?:\s+|=))("[^"]*"|'[^']*'|[^\s"'&;|-][^\s"'&;|]*)`), "${1}[redacted]"},
	{regexp.MustCompile(`(?i)([a-z][a-z0-9+.-]*://[^/\s:@]*:)[^@\s/]+@`), "${1}[redacted]@"},
	{regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abeprs]-[A-Za-z0-9-]{10,}|sk-[A-Za-z0-9_-]{20,}|A(?:KIA|SIA)[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{30,}|hr_[A-Za-z0-9]{20,}|ya29\.[A-Za-z0-9_-]{20,}|npm_[A-Za-z0-9]{30,})`), "[redacted]"},
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`), "[redacted]"},
}

// Redact gives text without the secrets that can be told by their form.
func Redact(text string) string {
	for _, s := range secrets {
		text = s.pattern.ReplaceAllString(text, s.with)
	}
	return text
}

// clean redacts before it cuts, so that a secret that is cut in half is found too.
func clean(text string) string {
	if len(text) > 16*MaxText { // bound the work; a secret across this cut loses its form either way
		text = text[:16*MaxText]
	}
	text = Redact(strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) <= MaxText {
		return text
	}
	cut := MaxText
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

func cleanAll(texts []string) []string {
	var list []string
	for _, t := range texts {
		list = append(list, clean(t))
	}
	return list
}
