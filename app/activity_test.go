package app

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"handrail/core/audit"
)

// call makes the records of a call from its first one's number on.
func call(seq uint64, id string, records ...audit.Record) []audit.Record {
	for i := range records {
		records[i].Seq, records[i].Call, records[i].Time = seq+uint64(i), id, noon.Add(time.Duration(seq+uint64(i))*time.Second)
		records[i].Client, records[i].Tool = "Claude", "bash"
	}
	return records
}

var booked = slices.Concat(
	[]audit.Record{{Seq: 1, Time: noon, Kind: audit.Note, Text: audit.Started}},
	call(2, "a", audit.Record{Kind: audit.Question, Text: "edit_folder"}, audit.Record{Kind: audit.Decision, Text: "edit_folder", By: "dialog", Outcome: "allowed"},
		audit.Record{Kind: audit.Intent, Text: "rm old", Paths: []string{"/w/old"}, By: "dialog on /w"}, audit.Record{Kind: audit.Result, Text: "rm old", Outcome: "ok", Changes: []string{"c1"}, RunsLater: []string{"/w/Makefile"}}),
	call(6, "b", audit.Record{Kind: audit.Question, Text: "network"}, audit.Record{Kind: audit.Decision, Text: "network", Outcome: "refused", By: "dialog"}, audit.Record{Kind: audit.Result, Text: "curl", Outcome: "refused"}),
	call(9, "c", audit.Record{Kind: audit.Intent, Text: "รูปถ่าย Make"}),
	[]audit.Record{{Seq: 10, Time: noon.Add(time.Minute), Kind: audit.Note, Text: "not undone c1", Outcome: "changed"}},
)

func saysBook(b *Book) string {
	var s strings.Builder
	for _, e := range b.Found() {
		fmt.Fprintf(&s, "%s %s %s by=%s changes=%v later=%v %v\n", e.Call, e.Text, e.Outcome, e.By, e.Changes, e.RunsLater, e.At.Equal(noon) || e.At.After(noon))
	}
	return s.String()
}

// However the records come, the entries are the same.
func TestBook(t *testing.T) {
	const want = " not undone c1 failed by= changes=[] later=[] true\n" +
		"c รูปถ่าย Make running by= changes=[] later=[] true\n" +
		"b curl refused by=dialog changes=[] later=[] true\n" +
		"a rm old done by=dialog on /w changes=[c1] later=[/w/Makefile] true\n" +
		" started done by= changes=[] later=[] true\n"
	back := slices.Clone(booked)
	slices.Reverse(back)
	for cut := range len(booked) + 1 {
		for size := 1; size < 5; size++ {
			var b Book
			for page := range slices.Chunk(back[len(booked)-cut:], size) {
				b.Older(page)
			}
			for page := range slices.Chunk(booked[cut:], size) {
				b.Newer(page)
				b.Newer(page) // what comes twice counts once
			}
			if got := saysBook(&b); got != want {
				t.Fatalf("%d older ones, by %d:\n%s", cut, size, got)
			}
			if b.Newest() != 10 || b.All() != 5 || !slices.Equal(b.Clients(), []string{"Claude"}) {
				t.Fatalf("newest %d, %d entries, clients %v", b.Newest(), b.All(), b.Clients())
			}
		}
	}
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		filter Filter
		want   string
	}{
		{Filter{}, "not undone c1|รูปถ่าย Make|curl|rm old|started"},
		{Filter{Client: "Claude"}, "รูปถ่าย Make|curl|rm old"},
		{Filter{Client: "claude"}, ""},
		{Filter{Sort: Commands}, "รูปถ่าย Make|curl|rm old"},
		{Filter{Sort: Own}, "not undone c1|started"},
		{Filter{Sort: Reads}, ""},
		{Filter{Outcome: OutcomeRefused}, "curl"},
		{Filter{Outcome: OutcomeRunning}, "รูปถ่าย Make"},
		{Filter{Text: "  MAKE "}, "รูปถ่าย Make|rm old"},
		{Filter{Text: "makefile /w/old"}, "rm old"},
		{Filter{Text: "รูป"}, "รูปถ่าย Make"},
		{Filter{Text: "make", Outcome: OutcomeDone, Sort: Commands, Client: "Claude"}, "rm old"},
	} {
		for _, live := range []bool{false, true} {
			var b Book
			b.Find(c.filter)
			back := slices.Clone(booked)
			slices.Reverse(back)
			if live {
				b.Newer(booked)
			} else {
				b.Older(back)
			}
			var got []string
			for _, e := range b.Found() {
				got = append(got, e.Text)
			}
			if strings.Join(got, "|") != c.want {
				t.Errorf("%+v: %q, want %q", c.filter, got, c.want)
			}
		}
	}
}

func TestExport(t *testing.T) {
	var b strings.Builder
	e := &Entry{At: noon, Client: "=cmd|'/c calc'!A0\u202e", Tool: "bash", Text: "a,\"b\"\nc", Paths: []string{"/x", "/y z"}, Outcome: OutcomeDone, Detail: "+1"}
	must(t, NewWords("en").Export(&b, []*Entry{e}))
	const want = "When,Who,Program,Tool,What,Where,Allowed by,Result,More\n2026-03-04T12:00:00Z,'=cmd|'/c calc'!A0⟨U+202E⟩,,bash,\"a,\"\"b\"\"⟨U+000A⟩c\",/x /y z,,done,'+1\n"
	if b.String() != want {
		t.Errorf("%s", b.String())
	}
}

// Whatever a record holds, what is shown of it is escaped.
func TestEntryIsEscaped(t *testing.T) {
	const odd = "\u202e\x1b\u0430x\u200b"
	var b Book
	b.Older([]audit.Record{{Seq: 1, Kind: audit.Result, Call: odd, Session: odd, Client: odd, Program: odd, Tool: odd, Text: odd, Paths: []string{odd}, By: odd, Outcome: odd, Detail: odd, RunsLater: []string{odd}}})
	e := b.Found()[0]
	for _, language := range tongues {
		w := NewWords(language)
		who, tool, what := w.EntryLines(e)
		text := who + tool + what + w.Result(e)
		for _, f := range w.EntryFacts(e) {
			text += f.Value
		}
		if n := strings.Count(text, "⟨U+202E⟩"); n < 11 {
			t.Errorf("%d of its fields are shown", n)
		}
		for _, r := range text {
			if r != '\n' && deceives(r) && r != '…' {
				t.Errorf("U+%04X", r)
			}
		}
	}
}

// A window's first sight of a log of 100,000 records is its first page; its floor is a log of one page.
func BenchmarkBook(b *testing.B) {
	var all []audit.Record
	for i := range 50_000 {
		all = append(all, call(uint64(2*i+1), fmt.Sprint(i), audit.Record{Kind: audit.Intent, Text: fmt.Sprint("make ", i)}, audit.Record{Kind: audit.Result, Text: fmt.Sprint("make ", i), Outcome: "ok"})...)
	}
	slices.Reverse(all)
	b.Run("100,000 records", func(b *testing.B) {
		for b.Loop() {
			var book Book
			for page := range slices.Chunk(all, 2000) {
				book.Older(page)
			}
		}
	})
	var book Book
	book.Older(all)
	b.Run("a search in them", func(b *testing.B) {
		for b.Loop() {
			book.Find(Filter{Text: "make 4242"})
		}
	})
}
