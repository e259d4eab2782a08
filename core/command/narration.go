package command

// Narration reports whether the script is only an echo of plain text, with no redirect, pipe or expansion: something said to the reader, not work. echo's options (-n, -e) are plain text here.
func Narration(script string) bool {
	p := Analyse(script, Context{Shell: Bash})
	if len(p.Segments) == 0 || p.Doubts != 0 {
		return false
	}
	for i := range p.Segments {
		s := &p.Segments[i]
		if s.Join != Start && s.Join != Then || len(s.Argv) < 2 || !s.Argv[0].Is("echo") {
			return false
		}
	}
	return true
}
