package jsonl_test

import (
	"testing"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
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
		`"2261-12-31T23:59:59Z"`:      time.Date(2261, 12, 31, 23, 59, 59, 0, time.UTC),
		`"2261-12-31T23:59:59-12:00"`: {}, // the year 2262 in UTC, which nanoseconds can't express
		`"1677-12-31T23:59:59Z"`:      {},
		`"0000-01-01T00:00:00+12:00"`: {},
		"253402300800000":             {},
		"9223372036854775807":         {},
		"1e300":                       {},
	} {
		if got := jsonl.Value(text).Timestamp(); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

func TestAmount(t *testing.T) {
	for text, want := range map[string]float64{"1.5": 1.5, "-1": 0, "null": 0, `"1"`: 0, "1e999": 1 << 48, "-1e999": 0,
		"1e308": 1 << 48} {
		if got := jsonl.Value(text).Amount(); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}
