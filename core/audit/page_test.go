package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// filled makes a log with n records; some are longer than what is read at once.
func filled(t testing.TB, n int) (*Log, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	l, err := Open(path, path+".anchor", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	for i := range n {
		r := Record{Kind: Result, Text: fmt.Sprint(i)}
		if i%50 == 49 {
			for range 100 {
				r.Paths = append(r.Paths, strings.Repeat("/long", 300))
			}
		}
		if err := l.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	return l, path
}

// However the log is cut into pages, they give every record once, the newest first.
func TestPage(t *testing.T) {
	for _, n := range []int{0, 1, 2, 120} {
		l, _ := filled(t, n)
		for _, c := range []struct{ most, size int }{{1, 1}, {1, 1 << 20}, {7, 1 << 20}, {1000, 1}, {1000, 1000}, {1000, 1 << 30}, {0, 0}} {
			var got []string
			pages := 0
			for before := int64(0); ; {
				records, next, err := l.Page(before, c.most, c.size)
				if err != nil {
					t.Fatal(err)
				}
				if len(records) > max(1, c.most) {
					t.Fatalf("%d records in a page of %d", len(records), c.most)
				}
				for _, r := range records {
					got = append(got, r.Text)
				}
				if pages++; next == 0 || pages > 500 {
					break
				}
				before = next
			}
			for i := range got {
				if got[i] != fmt.Sprint(n-1-i) {
					t.Fatalf("%d records, %+v: record %d from the end is %s", n, c, i, got[i])
				}
			}
			if len(got) != n {
				t.Errorf("%d records, %+v: %d", n, c, len(got))
			}
		}
	}
}

// What is torn or foreign is passed over, also at the end, and a line without end is an error.
func TestPageOfJunk(t *testing.T) {
	l, path := filled(t, 3)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fmt.Fprint(f, "\n\n", lines[0], "{}\n\x00junk\n", lines[1], lines[2], `{"seq":4`)
	records, next, err := l.Page(0, 100, 1<<20)
	if err != nil || next != 0 || len(records) != 3 || records[0].Text != "2" || records[2].Text != "0" {
		t.Errorf("%v, %d, %+v", err, next, records)
	}
	fmt.Fprint(f, strings.Repeat("x", 2*maxLine), "\n")
	if records, _, err := l.Page(0, 100, 1<<20); err == nil {
		t.Errorf("%d records", len(records))
	}
}
