package tool

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"handrail/core/approval"
	"handrail/core/search"
)

// slowSearch is an index whose searches take too long.
type slowSearch struct{ *world }

func (slowSearch) Find(context.Context, search.Query) ([]search.Hit, search.Status, error) {
	return []search.Hit{{Path: "/x", Text: "quokka"}}, search.Status{}, context.DeadlineExceeded
}

func (slowSearch) Chosen() ([]string, error) { return []string{"/"}, nil }

// A search that was stopped says so, and gives nothing.
func TestSearchTooSlow(t *testing.T) {
	w := newWorld(t, true)
	defer w.close()
	w.gate.Search = slowSearch{w}
	got := w.play(`{"rag_search": {"query": "quokka"}}`)
	if !strings.Contains(got, "too_slow") || strings.Contains(got, "/x") {
		t.Error(got)
	}
}

// later is a person who answers when told.
type later struct {
	asked  atomic.Int32
	answer chan func(approval.Request) approval.Decision
}

func (p *later) Ask(ctx context.Context, r approval.Request) approval.Decision {
	p.asked.Add(1)
	select {
	case answer := <-p.answer:
		return answer(r)
	case <-ctx.Done():
		return approval.Decision{}
	}
}

// A search that waits too long for the person says so, and the next one gets the answer: nobody is asked twice. What the person
// allows holds though no call waits.
func TestSearchWaitsForThePerson(t *testing.T) {
	for _, c := range []struct {
		name         string
		answer       func(approval.Request) approval.Decision
		first, after string
	}{
		{"no", func(approval.Request) approval.Decision { return approval.Refuse(approval.Refused, "dialog", "") }, "[refused]", "[no_index]"},
		{"yes", func(r approval.Request) approval.Decision { return approval.Allow(r, "dialog") }, "lease.txt:1", "lease.txt:1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, true)
			defer w.close()
			w.put("w/lease.txt", []byte("the lease\n"))
			p := &later{answer: make(chan func(approval.Request) approval.Decision)}
			w.gate.Queue = approval.NewQueue(p, nil)
			w.gate.testOnlyAnswerBy = 1
			const call = `{"rag_search": {"query": "lease"}}`
			for range 3 {
				if got := w.play(call); !strings.Contains(got, "[approval_pending]") {
					t.Fatal(got)
				}
			}
			w.gate.testOnlyAnswerBy = ages
			p.answer <- c.answer
			for i, want := range []string{c.first, c.after, c.after} {
				if got := w.play(call); !strings.Contains(got, want) {
					t.Errorf("call %d after the answer: %s", i+1, got)
				}
			}
			if n := p.asked.Load(); n != 1 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

// What the system's index is asked is made of words, whatever a query holds.
func TestSpotlightQuery(t *testing.T) {
	for query, want := range map[string]string{
		"when does the lease end":   `(kMDItemTextContent == "lease*"cd || kMDItemFSName == "*lease*"cd) && (kMDItemTextContent == "end*"cd || kMDItemFSName == "*end*"cd)`,
		"สัญญา":                     `(kMDItemTextContent == "สัญญา*"cd || kMDItemFSName == "*สัญญา*"cd)`,
		`x" || kMDItemFSName == "*`: `(kMDItemTextContent == "x*"cd || kMDItemFSName == "*x*"cd) && (kMDItemTextContent == "kmditemfsname*"cd || kMDItemFSName == "*kmditemfsname*"cd)`,
		"น้ำตก ABC":                 `(kMDItemTextContent == "abc*"cd || kMDItemFSName == "*abc*"cd) && (kMDItemTextContent == "น้ำตก*"cd || kMDItemFSName == "*น้ำตก*"cd)`,
		"-onlyin /":                 `(kMDItemTextContent == "onlyin*"cd || kMDItemFSName == "*onlyin*"cd)`,
	} {
		if got := spotlightQuery(search.Words(query), " && "); got != want {
			t.Errorf("%s:\n%s, want\n%s", query, got, want)
		}
	}
	for r := range rune(0x3000) {
		for _, w := range search.Words("a" + string(r) + "b") {
			if strings.ContainsAny(w, "\"\\*?'()&|=<>- \n\x00") {
				t.Errorf("%q is a word", w)
			}
		}
	}
}
