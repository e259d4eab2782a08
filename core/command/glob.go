package command

import "strings"

// pathPattern is a file name pattern of an allowlist: "*" stands for any text without a slash, "**" for any text, "**/" for
// any number of folders (none too), "?" for one byte that is no slash. Everything else stands for itself.
type pathPattern struct {
	text           string
	prefix, suffix string // what stands before the first and after the last of these
	plain          bool
}

func newPathPattern(text string) pathPattern {
	p := pathPattern{text: text}
	first := strings.IndexAny(text, "*?")
	if first < 0 {
		p.plain, p.prefix = true, text
		return p
	}
	p.prefix = text[:first]
	p.suffix = text[strings.LastIndexAny(text, "*?")+1:]
	if strings.HasSuffix(text[:len(text)-len(p.suffix)], "**") && strings.HasPrefix(p.suffix, "/") {
		p.suffix = p.suffix[1:] // "**/x" matches "x" alone too
	}
	return p
}

// match reports whether the pattern stands for s. It takes time in proportion to both lengths, multiplied.
func (p pathPattern) match(s string) bool {
	if p.plain {
		return s == p.text
	}
	if len(s) < len(p.prefix) || s[:len(p.prefix)] != p.prefix || !strings.HasSuffix(s, p.suffix) {
		return false
	}
	t := p.text
	// on[i] says that t[:i] can stand for what was read so far.
	on, next := make([]bool, len(t)+1), make([]bool, len(t)+1)
	// jump follows what may stand for nothing.
	jump := func(set []bool) {
		for i := 0; i < len(t); i++ {
			if !set[i] || t[i] != '*' {
				continue
			}
			switch {
			case strings.HasPrefix(t[i:], "**/"):
				set[i+2], set[i+3] = true, true
			case strings.HasPrefix(t[i:], "**"):
				set[i+2] = true
			default:
				set[i+1] = true
			}
		}
	}
	on[0] = true
	jump(on)
	for k := 0; k < len(s); k++ {
		clear(next)
		for i := 0; i < len(t); i++ {
			if !on[i] {
				continue
			}
			switch {
			case strings.HasPrefix(t[i:], "**"):
				next[i] = true
			case t[i] == '*':
				if s[k] != '/' && !(i > 0 && t[i-1] == '*') {
					next[i] = true
				}
			case t[i] == '?':
				if s[k] != '/' {
					next[i+1] = true
				}
			case t[i] == s[k]:
				next[i+1] = true
			}
		}
		jump(next)
		on, next = next, on
	}
	return on[len(t)]
}

// pathIndex finds the patterns that match among many. It knows them by numbers that its owner gives them.
type pathIndex struct {
	plain map[string][]int // numbers
	// globs holds patterns by what they begin with, then by what they end with. lengths are those of the beginnings.
	globs   map[string]*suffixIndex
	lengths []int
	all     []pathPattern
	numbers []int // of those in all
}

type suffixIndex struct {
	by      map[string][]int
	lengths []int
}

func newPathIndex(patterns []string, numbers []int) *pathIndex {
	x := &pathIndex{numbers: numbers, plain: make(map[string][]int), globs: make(map[string]*suffixIndex), all: make([]pathPattern, len(patterns))}
	seen := make(map[int]bool)
	for i, text := range patterns {
		p := newPathPattern(text)
		x.all[i] = p
		if p.plain {
			x.plain[text] = append(x.plain[text], numbers[i])
			continue
		}
		s := x.globs[p.prefix]
		if s == nil {
			s = &suffixIndex{by: make(map[string][]int)}
			x.globs[p.prefix] = s
			if !seen[len(p.prefix)] {
				seen[len(p.prefix)] = true
				x.lengths = append(x.lengths, len(p.prefix))
			}
		}
		if s.by[p.suffix] == nil {
			known := false
			for _, n := range s.lengths {
				known = known || n == len(p.suffix)
			}
			if !known {
				s.lengths = append(s.lengths, len(p.suffix))
			}
		}
		s.by[p.suffix] = append(s.by[p.suffix], i)
	}
	return x
}

// find calls f with the numbers of the patterns that match, some at a time, until f says that it is enough.
func (x *pathIndex) find(s string, f func(numbers []int) (enough bool)) {
	if f(x.plain[s]) {
		return
	}
	for _, n := range x.lengths {
		if n > len(s) {
			continue
		}
		g := x.globs[s[:n]]
		if g == nil {
			continue
		}
		for _, m := range g.lengths {
			if m > len(s) {
				continue
			}
			for _, i := range g.by[s[len(s)-m:]] {
				if x.all[i].match(s) && f(x.numbers[i:i+1]) {
					return
				}
			}
		}
	}
}
