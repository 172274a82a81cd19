package textfmt

import (
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
)

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"plain, 再試行 👩‍🚀":         "plain, 再試行 👩‍🚀",
		"tab\there\nand \x1b[1m": `tab\there\nand \x1b[1m`,
		"zero\u200bwidth":        `zero\u200bwidth`,
		"\u202egnp.exe":          `\u202egnp.exe`,
		"line\u2028separator":    `line\u2028separator`,
		"bad \xff byte":          `bad \xff byte`,
		"real \ufffd":            "real \ufffd",
		"C:\\path":               `C:\path`,
	} {
		if got := OneLine(in); got != want {
			t.Errorf("OneLine(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestChange has the words for each kind of change. The percentage of two lower bounds is that of
// what is recorded.
func TestChange(t *testing.T) {
	since := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	rate, cost := 0.12, 5.0
	before := trace.Usage{Usage: handoff.Usage{Cost: &cost}, Completeness: thread.LowerBound}
	for want, c := range map[string]trace.CostChange{
		"+12 % to the 7 days before":                                      {Rate: &rate},
		"recorded cost +12 % to the 7 days before; both are lower bounds": {RecordedRate: &rate, Before: before},
		"≥$5.00 in the 7 days before":                                     {Before: before},
		"no known cost in the 7 days before":                              {},
	} {
		c.Since, c.Until = since, since.AddDate(0, 0, 7)
		if got := Change(c); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 notes", 1: "1 note", 2: "2 notes"} {
		if got := Count(n, "note"); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
	if got := Size(1); got != "1 byte" {
		t.Errorf("Size(1) = %q", got)
	}
}
