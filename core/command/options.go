package command

import (
	"fmt"
	"slices"
	"strings"
)

// optionSet holds the options of a program. It is written as a list of them:
//
//	-a --all        a flag
//	-o=FILE         takes a value: the rest of the word, or the next word
//	--output=FILE   takes a value: after "=", or the next word
//	--color[=WHEN]  may take a value, in the same word only
//	-0[=N]          may take digits in the same word; more flags may follow
//	-5              digits: a number as an option (head -5)
//	-c=CODE!        the words after it are no options
//
// A value named FILE, DIR or PATH is a path. Everything else about a value is the caller's to judge.
type optionSet struct {
	short  [128]arity
	long   []longOption
	last   string // short options after which there are none
	number bool
}

type arity uint8

const (
	unknown arity = iota
	flag
	value
	maybe
	pathValue
	pathMaybe
	digits
)

func (a arity) path() bool { return a == pathValue || a == pathMaybe }

type longOption struct {
	name string
	arity
}

// parseOptions reads a table. A test reads every one, so that this never panics.
func parseOptions(spec string) optionSet {
	o, err := readOptions(spec)
	if err != nil {
		panic(err)
	}
	return o
}

func readOptions(spec string) (o optionSet, err error) {
	for _, f := range strings.Fields(spec) {
		f, last := strings.CutSuffix(f, "!")
		name, meta, _ := strings.Cut(f, "=")
		a := flag
		switch {
		case strings.HasSuffix(name, "["):
			name, meta, a = name[:len(name)-1], strings.TrimSuffix(meta, "]"), maybe
		case meta != "":
			a = value
		}
		switch meta {
		case "FILE", "DIR", "PATH":
			a += pathValue - value
		case "N":
			if a == maybe {
				a = digits
			}
		}
		if last {
			o.last += name[1:]
		}
		switch {
		case name == "-5":
			o.number = true
		case strings.HasPrefix(name, "--") && len(name) > 2:
			o.long = append(o.long, longOption{name[2:], a})
		case len(name) == 2 && name[0] == '-':
			o.short[name[1]] = a
		default:
			return optionSet{}, fmt.Errorf("reading options: %q is none", f)
		}
	}
	return o, nil
}

// option is one that was given.
type option struct {
	// name with its dashes, long names in full
	name  string
	value Word
	// given says that there is a value; path that it is a path
	given, path bool
	// separate says that the value is a word of its own, and at is its place then
	separate bool
	at       int
}

// arguments are a program's words taken apart.
type arguments struct {
	options  []option
	operands []Word
	// first is the place of the first operand, len(words) if there is none.
	first int
	// bad names what isn't known: "" if all is.
	bad string
	// unsure says that a word that isn't known could be an option.
	unsure bool
	// ended says that there was a "--", or an option after which there are none; program that it was the latter.
	ended, program bool
}

// has reports whether one of the options was given.
func (a *arguments) has(names ...string) bool {
	for i := range a.options {
		if slices.Contains(names, a.options[i].name) {
			return true
		}
	}
	return false
}

// valueOf gives the last value of an option.
func (a *arguments) valueOf(names ...string) (Word, bool) {
	for i := len(a.options) - 1; i >= 0; i-- {
		if slices.Contains(names, a.options[i].name) && a.options[i].given {
			return a.options[i].value, true
		}
	}
	return Word{}, false
}

// parse takes words (without the program's name) apart as getopt_long does. With stop, options end at the first operand;
// else they are found after operands too, as GNU programs do. An option that isn't in the set makes it bad, but parsing
// goes on: what is found is still there.
func (o *optionSet) parse(words []Word, stop bool) arguments {
	a := arguments{first: len(words)}
	operand := func(i int) {
		switch n := len(a.operands); {
		case n == 0:
			a.first = i
			a.operands = words[i : i+1 : i+1]
		case a.first+n == i && cap(a.operands) == n: // they stand side by side so far
			a.operands = words[a.first : i+1 : i+1]
		default:
			a.operands = append(a.operands, words[i])
		}
	}
	// rest takes all words after the one at i for operands.
	rest := func(i int) {
		for i++; i < len(words); i++ {
			operand(i)
		}
	}
	for i := 0; i < len(words); i++ {
		w := words[i]
		text := w.Lead
		known := w.Doubt&open == 0
		switch {
		case a.ended:
			operand(i)
		case known && text == "--":
			a.ended = true
		case !known && (w.Splits || text == "" || text == "-"):
			a.unsure = true
			operand(i)
		case len(text) < 2 || text[0] != '-':
			if w.Splits {
				a.unsure = true
			}
			operand(i)
			if stop {
				rest(i)
				return a
			}
		case strings.HasPrefix(text, "--"):
			i = o.longOption(&a, words, i)
		default:
			i = o.cluster(&a, words, i)
		}
		if n := len(a.options); n > 0 && !a.ended && len(a.options[n-1].name) == 2 && strings.Contains(o.last, a.options[n-1].name[1:]) {
			a.ended, a.program = true, true
		}
		if stop && len(a.operands) > 0 && (a.unsure || a.ended) {
			rest(i)
			return a
		}
	}
	return a
}

func (o *optionSet) longOption(a *arguments, words []Word, i int) int {
	w := words[i]
	name, attached, has := strings.Cut(w.Lead[2:], "=")
	known := w.Doubt&open == 0
	if !known && !has {
		a.unsure = true
		return i
	}
	l, why := o.find(name)
	if why != "" {
		a.bad = orFirst(a.bad, why)
		return i
	}
	opt := option{name: "--" + l.name, path: l.path()}
	switch {
	case has && l.arity == flag:
		a.bad = orFirst(a.bad, "--"+name+" takes no value")
	case has:
		opt.given = true
		opt.value = Word{Text: attached, Lead: attached, Doubt: w.Doubt, Splits: w.Splits}
		if !known {
			opt.value.Text = w.Text
		}
	case l.arity == value || l.arity == pathValue:
		if i+1 >= len(words) {
			a.bad = orFirst(a.bad, "--"+name+" needs a value")
			break
		}
		i++
		opt.given, opt.separate, opt.at, opt.value = true, true, i, words[i]
	}
	a.options = append(a.options, opt)
	return i
}

// find looks for a long option, also by an abbreviation that only one of them, or several of one kind, could mean.
func (o *optionSet) find(name string) (longOption, string) {
	var found []longOption
	for _, l := range o.long {
		if l.name == name {
			return l, ""
		}
		if strings.HasPrefix(l.name, name) {
			found = append(found, l)
		}
	}
	switch {
	case name == "" || len(found) == 0:
		return longOption{}, "--" + name + " is not an option that is known"
	case len(found) > 1:
		return longOption{}, "--" + name + " could be --" + found[0].name + " or --" + found[1].name
	}
	return found[0], ""
}

// letters holds the names of options of one letter.
var letters = func() (t [128]string) {
	for c := range t {
		t[c] = "-" + string(rune(c))
	}
	return
}()

func letter(c byte) string {
	if c < 128 {
		return letters[c]
	}
	return "-" + string(rune(c))
}

func (o *optionSet) cluster(a *arguments, words []Word, i int) int {
	w := words[i]
	known := w.Doubt&open == 0
	text := w.Lead[1:]
	if o.number && known && strings.Trim(text, "0123456789") == "" {
		a.options = append(a.options, option{name: "-5", given: true, value: literal(text)})
		return i
	}
	for j := 0; j < len(text); j++ {
		c := text[j]
		ar := unknown
		if c < 128 {
			ar = o.short[c]
		}
		if o.number && ar == unknown && c >= '0' && c <= '9' {
			continue // grep -5i
		}
		if ar == digits {
			for j+1 < len(text) && (text[j+1] >= '0' && text[j+1] <= '9') {
				j++
			}
		}
		opt := option{name: letter(c), path: ar.path()}
		switch ar {
		case unknown:
			if a.bad == "" {
				a.bad = letter(c) + " is not an option that is known"
			}
		case value, pathValue, maybe, pathMaybe:
			rest := text[j+1:]
			switch {
			case rest != "" || !known:
				opt.given = true
				opt.value = Word{Text: rest, Lead: rest, Doubt: w.Doubt, Splits: w.Splits}
				if !known {
					opt.value.Text = w.Text
				}
			case ar == maybe || ar == pathMaybe:
			case i+1 < len(words):
				i++
				opt.given, opt.separate, opt.at, opt.value = true, true, i, words[i]
			default:
				a.bad = orFirst(a.bad, opt.name+" needs a value")
			}
			a.options = append(a.options, opt)
			return i
		}
		a.options = append(a.options, opt)
	}
	if !known {
		a.unsure = true
	}
	return i
}

func orFirst(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
