package jsonl_test

import (
	"testing"
	"time"

	"github.com/agent-handoff/handoff/internal/jsonl"
)

func TestTimestamp(t *testing.T) {
	at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"1770091506":                  at,
		"1770091506000":               at,
		"1770091506789":               at.Add(789 * time.Millisecond),
		`"2026-02-03T05:05:06+01:00"`: at,
		"0":                           {},
		"-1":                          {},
		"null":                        {},
		`"yesterday"`:                 {},
	} {
		if got := jsonl.Value(text).Timestamp(); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}
