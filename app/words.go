package app

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nicksnyder/go-i18n/v2/i18n"
	"golang.org/x/text/language"

	"handrail/assets"
)

// Words says things in one language, from the message files in assets/translations. The zero Words has no language and
// can ask nothing; use [NewWords].
type Words struct {
	language string
	local    *i18n.Localizer
}

var languages = []language.Tag{language.English, language.Thai}

// NewWords gives the words of the first wanted language that there is, English when there is none. A language is a
// BCP 47 tag ("th", "en-GB") or a POSIX locale ("th_TH.UTF-8").
func NewWords(wanted ...string) Words {
	bundle := i18n.NewBundle(language.English)
	bundle.RegisterUnmarshalFunc("json", json.Unmarshal)
	for _, tag := range languages {
		if _, err := bundle.LoadMessageFileFS(assets.Translations, "translations/"+tag.String()+".json"); err != nil {
			panic(fmt.Sprintf("app: %v", err)) // embedded, and tested
		}
	}
	chosen := best(wanted)
	return Words{language: chosen.String(), local: i18n.NewLocalizer(bundle, chosen.String())}
}

func best(wanted []string) language.Tag {
	for _, name := range wanted {
		name, _, _ = strings.Cut(name, ".") // a locale's encoding
		name, _, _ = strings.Cut(name, "@") // and its modifier
		tag, err := language.Parse(name)
		if err != nil {
			continue
		}
		if _, i, confidence := language.NewMatcher(languages).Match(tag); confidence >= language.High {
			return languages[i]
		}
	}
	return language.English
}

// Fixed gives words that don't change, where those are wanted that a setting may change.
func (w Words) Fixed() func() Words { return func() Words { return w } }

// Language is the BCP 47 tag of the language, "" for the zero Words.
func (w Words) Language() string { return w.language }

// holes are the values for a message's {{.Name}} places.
type holes map[string]string

// say gives a message. Values go in as they are: they must be escaped before.
func (w Words) say(id string, values holes) string {
	return w.localize(&i18n.LocalizeConfig{MessageID: id, TemplateData: values})
}

// count gives a message in the plural form for n, with Count filled in.
func (w Words) count(id string, n int64, values holes) string {
	all := holes{"Count": groups(n)}
	for name, value := range values {
		all[name] = value
	}
	return w.localize(&i18n.LocalizeConfig{MessageID: id, TemplateData: all, PluralCount: n})
}

func (w Words) localize(config *i18n.LocalizeConfig) string {
	text, err := w.local.Localize(config)
	if err != nil {
		panic(fmt.Sprintf("app: message %s: %v", config.MessageID, err)) // a test says every message
	}
	return text
}

// spans gives a message in which **…** is bold. Stars in a value stay stars.
func (w Words) spans(id string, values holes) []Span {
	stands := make(holes, len(values)) // a value's place is held by a character that no text has
	var back []string
	for name, value := range values {
		mark := string(rune(0xFDD0 + len(stands)))
		stands[name] = mark
		back = append(back, mark, value)
	}
	fill := strings.NewReplacer(back...)
	var spans []Span
	for i, part := range strings.Split(w.say(id, stands), "**") {
		if part != "" {
			spans = append(spans, Span{Text: fill.Replace(part), Bold: i%2 == 1})
		}
	}
	return spans
}

// groups writes a number with a comma at each thousand, as English and Thai do.
func groups(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// size writes a number of bytes for a person, in units of a thousand as file managers do, rounded down.
func (w Words) size(bytes int64) string {
	if bytes < 1000 {
		return w.count("bytes", bytes, nil)
	}
	tenths, unit := bytes/100, 0
	for tenths >= 10_000 && unit < len(units)-1 {
		tenths, unit = tenths/1000, unit+1
	}
	return fmt.Sprintf("%s.%d %s", groups(tenths/10), tenths%10, units[unit])
}

var units = [...]string{"KB", "MB", "GB", "TB"}
