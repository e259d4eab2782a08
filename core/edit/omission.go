package edit

import (
	"fmt"
	"regexp"
	"strings"

	"handrail/core/hint"
)

// A placeholder is a line that says nothing but that text was left out: "// ... existing code ...", "(rest of methods
// ...)". A line counts only if all of it, comment marks and brackets aside, is such a phrase, so text in a string literal
// doesn't. Either dots or a word such as "unchanged" must mark it.
var (
	commentMark = regexp.MustCompile(`^(?://+|#+|--+|;+|%+|/\*+|\*|<!--|\{/\*|"""|'''|REM\b)|(?:\*/\}?|-->|"""|''')$`)
	dotsApart   = regexp.MustCompile(`(?:^|\s)(?:\.{2,}|…)(?:\s|$)`)
	dots        = regexp.MustCompile(`\.{2,}|…`)

	things    = `(?:code|file|functions?|methods?|class(?:es)?|content|contents|text|lines?|implementation|logic|body|imports?|section|sections|document|module|component|items?|entries|fields?|properties|definitions?|config(?:uration)?|script|list|rules?|styles?|tests?|cases?)`
	unchanged = `(?:unchanged|omitted|the same|same|as before|as is|as above|here|goes here|truncated|continues|not shown|elided|for brevity|omitted for brevity|unmodified|untouched)`
	which     = `(?:the |your |all |any |of |my )*`
	omission  = regexp.MustCompile(`^` + which + `(?:` + strings.Join([]string{
		// rest of the code, remaining methods, existing imports unchanged
		`(?:rest|remainder|remaining|existing|other|previous|original|unchanged|same|omitted|unmodified) ` + which + `(?:[\p{L}\d_]+ ){0,2}` + things + `(?: (?:is |are |remains? |stays? |goes )?` + unchanged + `)?`,
		// code omitted, methods unchanged for brevity
		things + ` (?:is |are |remains? |stays? )?` + unchanged + `(?: for brevity)?`,
		`(?:rest|remainder|remaining|existing|unchanged|omitted|snip|snipped|same as before|same as above|truncated|omitted for brevity|no changes?)(?: ` + unchanged + `)?`,
		`(?:rest|remainder) (?:is |are |remains? |stays? )?` + unchanged,
		// Thai: code as before, the rest (as before)
		`(?:โค้ด|เนื้อหา|ข้อความ|ไฟล์|ฟังก์ชัน|เมธอด|ส่วน)?(?:เดิม|ที่เหลือ|ส่วนที่เหลือ|เหมือนเดิม|คงเดิม|อื่นๆ)+(?:เหมือนเดิม|คงเดิม|ไม่เปลี่ยนแปลง|ทั้งหมด)*`,
	}, "|") + `)$`)
	marksOmission = regexp.MustCompile(`\b(?:unchanged|omitted|unmodified|untouched|the same|as before|for brevity|not shown|elided|goes here)\b`)
)

// isOmission reports whether a line only stands for text that was left out.
func isOmission(line string) bool {
	if len(line) > 200 || !strings.Contains(line, "..") && !strings.Contains(line, "…") && !marksOmission.MatchString(strings.ToLower(line)) {
		return false
	}
	s := strings.TrimSpace(line)
	for range 2 {
		s = strings.TrimSpace(commentMark.ReplaceAllString(s, ""))
		if n := len(s); n > 1 && (s[0] == '(' && s[n-1] == ')' || s[0] == '[' && s[n-1] == ']' || s[0] == '<' && s[n-1] == '>') {
			s = strings.TrimSpace(s[1 : n-1])
		}
	}
	dotted, apart := dots.MatchString(s), dotsApart.MatchString(s)
	s = strings.ToLower(strings.TrimSpace(dots.ReplaceAllString(s, " ")))
	s = strings.Trim(strings.Join(strings.Fields(s), " "), ".:,() ")
	if !strings.Contains(s, " ") {
		return apart && omission.MatchString(s) // "...rest," is JavaScript, "unchanged" a word like any other
	}
	return omission.MatchString(s) && (dotted || marksOmission.MatchString(s))
}

// checkOmission refuses new text with a placeholder line that old hasn't.
func (o Options) checkOmission(old, text string) error {
	if o.AllowPlaceholder {
		return nil
	}
	had := map[string]bool{}
	first := true
	for i, line := range strings.Split(text, "\n") {
		if !isOmission(line) {
			continue
		}
		if first {
			first = false
			for _, l := range strings.Split(lf(old), "\n") {
				if isOmission(l) {
					had[strings.TrimSpace(l)] = true
				}
			}
		}
		if !had[strings.TrimSpace(line)] {
			return hint.New("omission_placeholder", fmt.Sprintf("line %d of the new text, %s, stands for text that was left out", i+1, quote(strings.TrimSpace(line), 0))).
				Then("write that text in full, or change only the part that differs")
		}
	}
	return nil
}
