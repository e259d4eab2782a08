package command

import (
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Normalise puts a script right that misses what the person asked for in one of a few ways that can be checked: the rules of normalising. query is the person's question in their words, English or Thai. It gives the script that is
// meant and, for each change, a sentence that says what was done and why; the script as it is and nothing where no rule holds,
// where the query is empty, or where the script isn't a pipeline of plain words. What it gives is judged like any other script.
func Normalise(p Plan, query string) (script string, notes []string) {
	query = strings.ToLower(norm.NFC.String(query))
	lines := plainPipeline(&p)
	if query == "" || lines == nil {
		return p.Script, nil
	}
	for _, rule := range normalising {
		if changed, note := rule.apply(&p, lines, query); note != "" {
			lines = changed
			notes = append(notes, note)
		}
	}
	if notes == nil {
		return p.Script, nil
	}
	var parts []string
	for _, l := range lines {
		var words []string
		for _, w := range l.words {
			words = append(words, Quote(w))
		}
		parts = append(parts, strings.Join(words, " ")+l.errors)
	}
	return strings.Join(parts, " | "), notes
}

// line is one program of a pipeline while it is put right.
type line struct {
	words  []string
	errors string // " 2>/dev/null", " 2>&1" or ""
}

// plainPipeline gives the words of a pipeline of plain words; nil if it isn't one.
func plainPipeline(p *Plan) (lines []line) {
	if p.own()&^lookTolerates != 0 || len(p.Segments) == 0 {
		return nil
	}
	for i := range p.Segments {
		s := &p.Segments[i]
		if s.Join != Start && s.Join != Pipe || len(s.Argv) == 0 {
			return nil
		}
		var l line
		for _, w := range s.Argv {
			text, ok := w.Literal()
			if !ok {
				return nil
			}
			l.words = append(l.words, text)
		}
		for _, r := range s.Redirects {
			switch {
			case r.FD == 2 && r.Kind == Truncates && r.Target.Is("/dev/null"):
				l.errors += " 2>/dev/null"
			case r.FD == 2 && r.Kind == Duplicates && r.Target.Is("1"):
				l.errors += " 2>&1"
			default:
				return nil
			}
		}
		lines = append(lines, l)
	}
	return lines
}

// normalising are the rules, in the order in which they are tried. Each has examples; a test runs them.
var normalising = []struct {
	name  string
	apply func(p *Plan, lines []line, query string) ([]line, string)
	// each is a query, the script, and what it becomes; "" if it stays.
	examples [][3]string
}{
	{"a file name ending that the question names", addEnding, [][3]string{
		{"find my PDF files", `find . -type f`, `find . -type f -iname '*.pdf'`},
		{"หาไฟล์ PDF ทั้งหมด", `find /home/me/docs`, `find /home/me/docs -iname '*.pdf'`},
		{"ขอรายการไฟล์เอ็กเซล", `find . -type f | sort`, `find . -type f '(' -iname '*.xls' -o -iname '*.xlsx' ')' | sort`},
		{"which .docx files are new?", `find . -mtime -7 -print`, `find . -mtime -7 -iname '*.docx' -print`},
		{"list all pictures in jpg", `find . 2>/dev/null`, `find . '(' -iname '*.jpg' -o -iname '*.jpeg' ')' 2>/dev/null`},
		{"find PDF files", `find . -name '*report*'`, ""},
		{"find PDF files", `find . -type d`, ""},
		{"find PDF files", `find . -size +1M -o -mtime -1`, ""},
		{"pdfs or not, which files are large?", `ls -l`, ""},
		{"find the file", `find . -type f`, ""},
		{"convert a pdf to docx: which files are there?", `find . -type f`, ""},
	}},
	{"the whole computer", wholeComputer, [][3]string{
		{"search the whole computer for invoice", `grep -rl invoice .`, `mdfind invoice`},
		{"ค้นหาคำว่า ใบเสร็จ ทั้งเครื่อง", `grep -rn ใบเสร็จ /home/me/proj`, `mdfind 'ใบเสร็จ'`},
		{"look everywhere on my Mac for invoice", `rg -l invoice`, `mdfind invoice`},
		{"search this project for invoice", `grep -rl invoice .`, ""},
		{"search the whole computer for a.b", `grep -rE 'a.*b' .`, ""},
		{"search the whole computer", `grep -rl invoice . | sort`, ""},
	}},
	{"a list that is only counted", keepList, [][3]string{
		{"list the PDF files", `find . -name '*.pdf' | wc -l`, `find . -name '*.pdf'`},
		{"ขอรายการไฟล์ทั้งหมด", `ls | wc -l`, `ls`},
		{"show me which files mention tax", `grep -rl tax . | sort | wc -l`, `grep -rl tax . | sort`},
		{"how many files are listed?", `ls | wc -l`, ""},
		{"มีรายการไฟล์กี่ไฟล์", `ls | wc -l`, ""},
		{"list the files and count them", `ls | wc -l`, ""},
		{"how long is the list?", `wc -l list.txt`, ""},
	}},
}

// endings are file types as people name them, and how such files end. Types are told from words that merely hold their
// letters.
var endings = []struct {
	named *regexp.Regexp
	globs []string
}{
	{typed(`pdfs?|พีดีเอฟ`), []string{"*.pdf"}},
	{typed(`docx|word documents?|เวิร์ด`), []string{"*.docx"}},
	{typed(`xlsx?|excel|เอ็กเซล|เอกเซล`), []string{"*.xls", "*.xlsx"}},
	{typed(`pptx?|powerpoint|พาวเวอร์พอยต์`), []string{"*.ppt", "*.pptx"}},
	{typed(`csv`), []string{"*.csv"}},
	{typed(`jpe?gs?`), []string{"*.jpg", "*.jpeg"}},
	{typed(`pngs?`), []string{"*.png"}},
	{typed(`mp3s?`), []string{"*.mp3"}},
	{typed(`mp4s?`), []string{"*.mp4"}},
	{typed(`zips?`), []string{"*.zip"}},
	{typed(`markdown|md files?`), []string{"*.md"}},
	{typed(`epubs?`), []string{"*.epub"}},
}

func typed(words string) *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[^a-z0-9])(?:` + words + `)(?:[^a-z0-9]|$)`)
}

// findNames are find's tests that say something of the name already.
var findNames = []string{"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-lname", "-ilname", "-samefile", "-inum"}

// addEnding adds the ending of the one type that the question names to a find without any test of names.
func addEnding(_ *Plan, lines []line, query string) ([]line, string) {
	var globs []string
	for _, e := range endings {
		if e.named.MatchString(query) {
			if globs != nil {
				return nil, "" // two types: which is meant can't be told
			}
			globs = e.globs
		}
	}
	words := lines[0].words
	if globs == nil || words[0] != "find" || slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains(findNames, w) || w == "-o" || w == "-or" || w == "," || w == "-prune" || w == "!" || w == "-not" || w == "("
	}) {
		return nil, ""
	}
	if i := slices.Index(words, "-type"); i >= 0 && i+1 < len(words) && words[i+1] != "f" {
		return nil, ""
	}
	at := len(words)
	for i, w := range words {
		if w == "-print" || w == "-print0" || w == "-printf" || w == "-ls" || w == "-quit" {
			at = i
			break
		}
	}
	var test []string
	for i, g := range globs {
		if i > 0 {
			test = append(test, "-o")
		}
		test = append(test, "-iname", g)
	}
	if len(globs) > 1 {
		test = slices.Concat([]string{"("}, test, []string{")"})
	}
	lines = slices.Clone(lines)
	lines[0].words = slices.Insert(slices.Clone(words), at, test...)
	return lines, "added " + strings.Join(test, " ") + ": the question names files of that type"
}

var everywhere = regexp.MustCompile(`(whole|entire) (computer|machine|mac|disk|laptop)|everywhere on (my|this|the) (mac|computer|machine|laptop)|ทั้งเครื่อง|ทั่วทั้งเครื่อง|ทั้งคอมพิวเตอร์|ทั้งแมค`)

// wholeComputer turns a search for a plain word in one folder into one by Spotlight, where there is Spotlight.
func wholeComputer(p *Plan, lines []line, query string) ([]line, string) {
	words := lines[0].words
	if len(lines) != 1 || words[0] != "grep" && words[0] != "rg" || !everywhere.MatchString(query) || p.Context.Files == nil {
		return nil, ""
	}
	if f, err := p.Context.Files.Stat("/usr/bin/mdfind"); err != nil || !f.Exec {
		return nil, ""
	}
	var text string
	for _, w := range words[1:] {
		switch {
		case strings.HasPrefix(w, "-"):
			if strings.Trim(w[1:], "rRnliHIswF") != "" {
				return nil, "" // an option that says more than where to look
			}
		case text == "":
			text = w
		}
	}
	if text == "" || strings.ContainsAny(text, `.*+?()[]{}|^$\"'`) {
		return nil, ""
	}
	return []line{{words: []string{"mdfind", text}, errors: lines[0].errors}}, "searched with mdfind in place of " + words[0] + ": the question is about the whole computer"
}

var (
	asksList  = regexp.MustCompile(`(?:^|[^a-z])(list|show me|which files|what files|name the files)(?:[^a-z]|$)|รายการ|ลิสต์|รายชื่อ|มีไฟล์อะไรบ้าง|ไฟล์ไหนบ้าง|อะไรบ้าง`)
	asksCount = regexp.MustCompile(`(?:^|[^a-z])(how many|how long|count|number of|total)(?:[^a-z]|$)|กี่|จำนวน|นับ|เท่าไร|เท่าไหร่`)
)

// keepList takes a count off the end of a list that was asked for.
func keepList(_ *Plan, lines []line, query string) ([]line, string) {
	last := lines[len(lines)-1].words
	if len(lines) < 2 || !slices.Equal(last, []string{"wc", "-l"}) || !asksList.MatchString(query) || asksCount.MatchString(query) {
		return nil, ""
	}
	return lines[:len(lines)-1], "left out wc -l: the question asks for the list, not for its length"
}
