package app

import (
	"strings"
	"testing"

	"handrail/core/approval"
)

// The parts of a command are marked, and all of its text stays.
func TestMarks(t *testing.T) {
	c := &approval.Command{Deletes: []string{"old", "a.txt"}, Files: []approval.File{{Path: "/usr/bin/timeout"}, {Path: "/usr/bin/make"}}}
	for _, row := range []struct{ text, want string }{
		{"ls -l", "<p:ls> -l"},
		{"/usr/bin/timeout 60 /usr/bin/make -C site all && /bin/rm -r old", "<p:/usr/bin/timeout> 60 <p:/usr/bin/make> -C site all && <p:/bin/rm> -r <d:old>"},
		{"cat b | sort > c.txt 2>&1", "<p:cat> b | <p:sort> <r:>> <r:c.txt> <r:2>&><r:1>"},
		{"make>a.txt", "<p:make><r:>><d:a.txt>"},
		{"echo x >> log; rm 'a.txt'", "<p:echo> x <r:>>> <r:log>; <p:rm> <d:'a.txt'>"},
		{"A=1 B=2 run x", "A=1 B=2 <p:run> x"},
		{"if true; then\n  ls\nfi", "if <p:true>; then\n  <p:ls>\nfi"},
		{"echo 'a > b; rm old' \"c | d\"", "<p:echo> 'a > b; rm old' \"c | d\""},
		{"echo a\\;b # rm old\nls", "<p:echo> a\\;b # rm old\n<p:ls>"},
		{"< in wc", "<r:<> <r:in> <p:wc>"},
		{"ls &> all", "<p:ls> <r:&>> <r:all>"},
		{"(cd x; ls)", "(<p:cd> x; <p:ls>)"},
		{"echo 'open", "<p:echo> 'open"},
		{"", ""}, {"\\", "<p:\\>"}, {">", "<r:>>"}, {"\n\n", "\n\n"},
	} {
		f := Fact{Value: row.text, Marks: marks(row.text, c)}
		var b strings.Builder
		for i, parts := range f.Parts() {
			if i > 0 {
				b.WriteByte('\n')
			}
			for _, p := range parts {
				if p.As == "" {
					b.WriteString(p.Text)
				} else {
					b.WriteString("<" + string(p.As[:1]) + ":" + p.Text + ">")
				}
			}
		}
		if got := b.String(); got != row.want {
			t.Errorf("%q: %s, want %s", row.text, got, row.want)
		}
	}
}

func FuzzMarks(f *testing.F) {
	for _, q := range questions {
		if c := q.request.Command; c != nil {
			f.Add(c.Runs, c.Text)
		}
	}
	f.Add("a 'b\\", "b")
	f.Fuzz(func(t *testing.T, text, deletes string) {
		fact := Fact{Value: escapeDiff(text)}
		fact.Marks = marks(fact.Value, &approval.Command{Deletes: []string{deletes}})
		var lines []string
		for _, parts := range fact.Parts() {
			var b strings.Builder
			for _, p := range parts {
				b.WriteString(p.Text)
			}
			lines = append(lines, b.String())
		}
		if got := strings.Join(lines, "\n"); got != fact.Value {
			t.Errorf("%q is shown as %q", fact.Value, got)
		}
	})
}
