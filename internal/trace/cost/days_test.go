package cost

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
)

// TestDaily checks for every group that the series of a day add up to what a report by day has
// for it, and the days of a series to its row.
func TestDaily(t *testing.T) {
	s := Sources{Prices: pricer()}
	for i := range 9 {
		c := Conversation{URI: fmt.Sprint("agents://codex/", i), Completeness: thread.Exact, Last: start}
		for day := range 3 {
			r := requests([]string{"gpt-5", "gpt-5-mini", "nobodys-model"}[(i+day)%3], int64(1000*(i+1)), 10)[0]
			r.At = start.Add(time.Duration(24*day*(i%3)) * time.Hour)
			c.Requests = append(c.Requests, r)
		}
		s.Threads = append(s.Threads, c)
		if i > 0 {
			a := artifact(fmt.Sprint("art_", i), fmt.Sprint("channel-", i%7), fmt.Sprint("s", i), c.URI, "x",
				fmt.Sprint("t", i))
			a.Producer.Agent = fmt.Sprint("agent-", i)
			s.Artifacts = append(s.Artifacts, a, artifact(fmt.Sprint("art_more_", i), "notes", "", c.URI))
		}
	}
	s.Work = append(s.Work, handoff.Work{Harness: "codex", ID: "w", Thread: "agents://codex/8", Model: gpt5,
		Usage: reported(70000, 2), StartedAt: start, Ended: 1, EndedAt: start.Add(50 * time.Hour)})
	leaves := Leaves(s)
	same := func(a, b trace.Usage) bool { return math.Abs(value(a.Cost)-value(b.Cost)) < 1e-9 }
	days := map[string]trace.Usage{}
	for _, row := range Summarize(ByDay, leaves).Rows {
		days[row.Key] = row.Amount
	}
	for _, by := range Groups {
		r := Summarize(by, leaves)
		r.Divide(by, leaves, 5)
		own, sums := 0, map[string]trace.Usage{}
		for _, row := range append(slices.Clone(r.Rows), r.Unattributed, r.Others) {
			if row.Days == nil {
				continue
			}
			own++
			var sum trace.Usage
			for day, u := range row.Days {
				Add(&sum, u)
				addTo(sums, day, u)
			}
			if !same(sum, row.Amount) {
				t.Errorf("by %s: %q cost %v on all days, want %v", by, row.Key, value(sum.Cost), value(row.Amount.Cost))
			}
		}
		if most := min(5, len(r.Rows)+1) + 1; own > most || len(r.Total.Days) != len(days) {
			t.Errorf("by %s: got %d rows with days, at most %d; and %d days, want %d", by, own, most,
				len(r.Total.Days), len(days))
		}
		for day, want := range days {
			all := r.Total.Days[day]
			if !same(all, want) || !same(sums[day], want) || all.IsLowerBound() != want.IsLowerBound() {
				t.Errorf("by %s: %s cost %v, the rows %v, want %v", by, day, value(all.Cost), value(sums[day].Cost),
					value(want.Cost))
			}
		}
	}
	r := Summarize(ByChannel, leaves, "channel-1")
	r.Divide(ByChannel, leaves, 5, "channel-1")
	var sum trace.Usage
	for _, u := range r.Total.Days {
		Add(&sum, u)
	}
	if !same(sum, r.Total.Amount) || r.Others.Amount.Cost != nil {
		t.Errorf("got %+v on all days and %+v of others, want %+v of one channel", sum, r.Others, r.Total.Amount)
	}
}
