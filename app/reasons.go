package app

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"handrail/assets"
)

// The core says in English why the person is asked. What it can say stands, with places for names, in the English messages that
// begin with "why_"; so the same can be said in another language. What isn't there stays English.

// reason is a sentence that the core can say.
type reason struct {
	id    string
	says  *regexp.Regexp
	holes []string
	fixed int // bytes that are no holes
}

var hole = regexp.MustCompile(`\{\{\.(\w+)\}\}`)

// reasons are all of them, those with the most words of their own first; doubts are what "it holds …" lists, by their English words.
var reasons = sync.OnceValues(func() (list []reason, doubts map[string]string) {
	text, err := assets.Translations.ReadFile("translations/en.json")
	var messages map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(text, &messages)
	}
	if err != nil {
		panic(fmt.Sprintf("app: %v", err)) // embedded, and tested
	}
	doubts = make(map[string]string)
	for id, raw := range messages {
		var says string
		if json.Unmarshal(raw, &says) != nil {
			continue // it has a plural, and is none of these
		}
		if strings.HasPrefix(id, "doubt_") {
			doubts[says] = id
		}
		if !strings.HasPrefix(id, "why_") {
			continue
		}
		r := reason{id: id, fixed: len(hole.ReplaceAllString(says, ""))}
		var b strings.Builder
		at := 0
		for _, m := range hole.FindAllStringSubmatchIndex(says, -1) {
			b.WriteString(regexp.QuoteMeta(says[at:m[0]]) + `(.+)`)
			r.holes = append(r.holes, says[m[2]:m[3]])
			at = m[1]
		}
		r.says = regexp.MustCompile(`(?s)\A` + b.String() + regexp.QuoteMeta(says[at:]) + `\z`)
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b reason) int { return b.fixed - a.fixed })
	return list, doubts
})

// reason says what the core said, in the person's language, with everything in it escaped.
func (w Words) reason(text string) string {
	if w.language == "en" {
		return Escape(text)
	}
	list, doubts := reasons()
	for _, r := range list {
		m := r.says.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		values := make(holes)
		for i, name := range r.holes {
			switch found := m[i+1]; name {
			case "Reason":
				values[name] = w.reason(found)
			case "Doubts":
				var said []string
				for part := range strings.SplitSeq(found, ", ") {
					if id := doubts[part]; id != "" {
						part = w.say(id, nil)
					} else {
						part = Escape(part)
					}
					said = append(said, part)
				}
				values[name] = strings.Join(said, ", ")
			default:
				values[name] = Escape(found)
			}
		}
		return w.say(r.id, values)
	}
	return Escape(text)
}

// reasons are lines of a list, a reason each.
func (w Words) reasons(texts []string) string {
	var lines []string
	for _, t := range texts {
		lines = append(lines, "• "+w.reason(t))
	}
	return strings.Join(lines, "\n")
}
