package edit

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"handrail/core/hint"
)

// seeds gives the hunks of the real cases.
func seeds(f *testing.F, add func(file []byte, hunks []Hunk)) {
	n := 0
	for _, c := range lines[editCase](f, "testdata/edits.jsonl") {
		if hunks, err := c.hunks(f); err == nil {
			add(c.file(f), hunks)
			n++
		}
	}
	if n < 100 {
		f.Fatalf("only %d seeds", n)
	}
}

// FuzzString holds string edits against strings.Replace on text with one kind of line end.
func FuzzString(f *testing.F) {
	seeds(f, func(file []byte, hunks []Hunk) {
		for _, h := range hunks {
			if h.OldString != nil && h.NewString != nil {
				f.Add(file, *h.OldString, *h.NewString, h.ReplaceAll)
			}
		}
	})
	f.Fuzz(func(t *testing.T, file []byte, old, new string, all bool) {
		r, err := Apply(file, []Hunk{{OldString: &old, NewString: &new, ReplaceAll: all}}, Options{AllowPlaceholder: true})
		before, _, enc, derr := decode(file)
		if derr != nil {
			if err == nil {
				t.Fatal("a file was changed that can't be read")
			}
			return
		}
		text, from := lf(string(before)), lf(old)
		n := 0
		if from != "" {
			n = strings.Count(text, from)
		}
		if err != nil {
			switch code := hint.Code(err); {
			case code == "not_found" && n == 0, code == "ambiguous" && n > 1 && !all:
			case code == "no_change" && from == lf(new), code == "empty_old" && from == "":
			case code == "invalid_text" && !(utf8.ValidString(old) && utf8.ValidString(new) && strings.IndexByte(old+new, 0) < 0):
			case code == "unsupported_encoding" && (enc == Legacy || enc == NotUTF8):
			default:
				t.Fatalf("%v, with %d occurrences", err, n)
			}
			return
		}
		if n != r.Replaced || n > 1 && !all {
			t.Fatalf("replaced %d of %d", r.Replaced, n)
		}
		after, _, _, err := decode(r.Text)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := lf(string(after)), strings.ReplaceAll(text, from, lf(new)); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
		// What stands before the first occurrence and after the last is the same, byte for byte.
		nrm := newBody(before, enc).normal()
		first, last := bytes.Index(nrm.b, []byte(from)), bytes.LastIndex(nrm.b, []byte(from))+len(from)
		if head := before[:nrm.offset(first)]; !bytes.HasPrefix(after, head) {
			t.Fatalf("the text before changed: %q", after)
		}
		if all && n > 1 {
			last = len(nrm.b) // occurrences may overlap: the last by another count
		}
		if tail := before[nrm.offset(last):]; !bytes.HasSuffix(after, tail) {
			t.Fatalf("the text after changed: %q", after)
		}
		checkResult(t, file, r)
	})
}

// FuzzLines holds line edits against a slice of lines.
func FuzzLines(f *testing.F) {
	seeds(f, func(file []byte, hunks []Hunk) {
		for _, h := range hunks {
			if h.LineStart != nil && h.NewString != nil {
				end := -1
				if h.LineEnd != nil {
					end = *h.LineEnd
				}
				f.Add(file, *h.NewString, *h.LineStart, end)
			}
		}
	})
	f.Fuzz(func(t *testing.T, file []byte, new string, start, end int) {
		h := Hunk{NewString: &new, LineStart: &start, LineEnd: &end}
		if end < 0 {
			h.LineEnd = nil
		}
		r, err := Apply(file, []Hunk{h}, Options{AllowPlaceholder: true})
		before, _, enc, derr := decode(file)
		if derr != nil {
			if err == nil {
				t.Fatal("a file was changed that can't be read")
			}
			return
		}
		b := newBody(before, enc)
		old := b.lines(0, len(before))
		insert := h.LineEnd == nil
		sensible := start >= 0 && start <= len(old) && (insert && new != "" || !insert && start > 0 && end >= start && end <= len(old))
		if err != nil {
			if code := hint.Code(err); sensible && code != "no_change" && code != "unsupported_encoding" && code != "invalid_text" {
				t.Fatal(err)
			}
			return
		}
		if !sensible {
			t.Fatalf("lines %d to %d of %d were changed", start, end, len(old))
		}
		after, _, _, err := decode(r.Text)
		if err != nil {
			t.Fatal(err)
		}
		var put []string
		if text := lf(new); text != "" {
			put = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		}
		from, to := start, start
		if !insert {
			from, to = start-1, end
		}
		var want []string
		for _, l := range old {
			want = append(want, strings.TrimRight(l, "\r\n"))
		}
		want = append(want[:from:from], append(put, want[to:]...)...)
		got := strings.Split(strings.TrimSuffix(lf(string(after)), "\n"), "\n")
		if len(after) == 0 {
			got = nil
		}
		if endsLine(before) == endsLine(after) && len(want) > 0 && want[len(want)-1] != "" && strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("got %q, want %q", got, want)
		}
		// Lines before and after keep their bytes. The end of the last line before may go where the last lines do.
		head := strings.Join(old[:from], "")
		if !strings.HasPrefix(string(after), strings.TrimRight(head, "\r\n")) {
			t.Fatalf("the lines before changed: %q", after)
		}
		if tail := strings.Join(old[to:], ""); !strings.HasSuffix(string(after), tail) {
			t.Fatalf("the lines after changed: %q", after)
		}
		checkResult(t, file, r)
	})
}

// FuzzBatch looks for panics and for diffs that don't tell what happened, and holds a batch against its hunks one by one.
func FuzzBatch(f *testing.F) {
	seeds(f, func(file []byte, hunks []Hunk) {
		raw, err := json.Marshal(hunks)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file, raw)
	})
	f.Fuzz(func(t *testing.T, file, raw []byte) {
		var hunks []Hunk
		if CheckArguments(raw) != nil || json.Unmarshal(raw, &hunks) != nil {
			return
		}
		r, err := Apply(file, hunks, Options{})
		step, serr := file, error(nil)
		for _, h := range hunks {
			var one Result
			if one, serr = Apply(step, []Hunk{h}, Options{}); serr != nil {
				break
			}
			step = one.Text
		}
		switch {
		case err == nil && (serr != nil || !bytes.Equal(r.Text, step)):
			t.Fatalf("the batch gives %q, one by one %q (%v)", r.Text, step, serr)
		case err == nil:
			checkResult(t, file, r)
		case serr == nil && len(hunks) > 0 && !bytes.Equal(step, file) && len(step) <= MaxBytes:
			t.Fatalf("one by one gives %q, the batch %v", step, err)
		}
	})
}

// FuzzNotFound looks for panics, and for file content that gets into a message as it is.
func FuzzNotFound(f *testing.F) {
	seeds(f, func(file []byte, hunks []Hunk) {
		for _, h := range hunks {
			if h.OldString != nil {
				f.Add(file, *h.OldString)
			}
		}
	})
	f.Fuzz(func(t *testing.T, file []byte, old string) {
		if !utf8.ValidString(old) || old == "" {
			return
		}
		b := newBody(file, "").normal().b
		if bytes.Contains(b, []byte(lf(old))) {
			return
		}
		if msg := notFound(b, old).Error(); !utf8.ValidString(msg) || len(msg) > 2000 || strings.ContainsAny(msg, "\n\x1b") {
			t.Errorf("message %q", msg)
		}
	})
}
