package tool

import (
	"context"
	"strings"
	"testing"

	"handrail/core/search"
)

// A search that was stopped says so, and gives nothing.
func TestSearchTooSlow(t *testing.T) {
	w := newWorld(t, true)
	defer w.close()
	w.gate.Search = func(context.Context, search.Query) ([]search.Hit, search.Status, error) {
		return []search.Hit{{Path: "/x", Text: "quokka"}}, search.Status{}, context.DeadlineExceeded
	}
	got := w.play(`{"rag_search": {"query": "quokka"}}`)
	if !strings.Contains(got, "too_slow") || strings.Contains(got, "/x") {
		t.Error(got)
	}
}
