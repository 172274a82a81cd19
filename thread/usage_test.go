package thread_test

import (
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/thread"
)

// TestTotal checks that the buckets that are part of others are not added.
func TestTotal(t *testing.T) {
	u := thread.Tokens{Input: 1, CacheRead: 20, CacheWrite: 300, CacheWrite1h: 200, Output: 4000, Reasoning: 1000}
	if got := u.Total(); got != 4321 {
		t.Errorf("got %d, want 4321", got)
	}
}

func TestMeter(t *testing.T) {
	var m thread.Meter
	one := thread.Tokens{Input: 1, Calls: 1}
	m.Add("p", "a", one, false)
	m.Add("p", "b", one, false)
	m.Add("p", "a", one, false)
	m.Add("p", "a", one, true)
	var f thread.Facts
	m.Finish(&f, thread.Gap{N: 1, Reason: "incomplete"})
	if f.Usage.Input != 3 || f.Inherited.Input != 1 || len(f.Usage.Models) != 2 || f.Usage.Models[0].Calls != 2 ||
		f.Usage.Completeness != thread.LowerBound {
		t.Errorf("got usage %+v, inherited %+v", f.Usage, f.Inherited)
	}
}

// TestMeterGaps checks that invalid numbers and an unread end are reported, and that
// every model has a name.
func TestMeterGaps(t *testing.T) {
	var m thread.Meter
	m.Add("", "", thread.Tokens{Input: 1, Calls: 1}, false)
	m.CheckCounts([]byte(`{"input":1}`))
	var f thread.Facts
	if m.Finish(&f); f.Usage.Completeness != thread.Exact || f.Warnings != nil ||
		f.Usage.Models[0].Model != thread.UnknownModel {
		t.Errorf("got %+v, %q", f.Usage, f.Warnings)
	}
	m.CheckCounts([]byte(`{"input":-1}`))
	if m.Finish(&f); f.Usage.Completeness != thread.LowerBound || len(f.Warnings) != 1 {
		t.Errorf("invalid numbers: got %+v, %q", f.Usage, f.Warnings)
	}
	f = thread.Facts{Partial: true}
	if new(thread.Meter).Finish(&f); f.Usage.Completeness != thread.NoUsage {
		t.Errorf("partial, without usage: got %+v", f.Usage)
	}
	if m.Finish(&f); f.Usage.Completeness != thread.LowerBound ||
		!strings.Contains(f.Usage.Reason, "end of the transcript") {
		t.Errorf("partial: got %+v", f.Usage)
	}
}

// TestJudge checks the completeness of a usage.
func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		calls, gap int
		want       thread.Completeness
		reason     string
	}{
		{0, 3, thread.NoUsage, "no usage is recorded"},
		{1, 0, thread.Exact, ""},
		{1, 3, thread.LowerBound, "3 lines are missing"},
	} {
		u := thread.Usage{Tokens: thread.Tokens{Calls: tt.calls}}
		u.Judge(thread.Gap{N: tt.gap, Reason: "%d lines are missing"}, thread.Gap{N: tt.gap, Reason: "another reason"})
		if u.Completeness != tt.want || u.Reason != tt.reason {
			t.Errorf("%d calls, %d missing: got %s, %q, want %s, %q", tt.calls, tt.gap, u.Completeness, u.Reason, tt.want,
				tt.reason)
		}
	}
}
