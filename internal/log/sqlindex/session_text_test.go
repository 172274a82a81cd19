package sqlindex_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/sqlindex"
	"pgregory.net/rapid"
)

// TestSearchSessions compares searches of sessions, which started in any order, with a look at each.
func TestSearchSessions(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := open(t, filepath.Join(t.TempDir(), "index.db"), "log1")
		n := rapid.IntRange(1, 80).Draw(rt, "sessions")
		isLate := rapid.Bool().Draw(rt, "in any order")
		random := rand.NewChaCha8([32]byte{1})
		var records []handoff.Record
		var all []handoff.Session
		for i := range n {
			start := time.Unix(int64(i/2), 0)
			if isLate {
				start = time.Unix(int64(rapid.IntRange(0, n).Draw(rt, "start")), 0)
			}
			s := handoff.Session{ID: fmt.Sprint("session-", i), OpenedAt: start, Opened: handoff.Seq(len(records) + 1)}
			s.Workflow.Name = rapid.SampledFrom([]string{"build", "build test", "test"}).Draw(rt, "workflow")
			add := func(f handoff.Fact) {
				r, err := handoff.NewRecord(start, random, handoff.Producer{}, f)
				if err != nil {
					t.Fatal(err)
				}
				records = append(records, r)
			}
			add(&handoff.SessionOpened{SessionID: s.ID, Folder: s.ID, Workflow: s.Workflow, StartedAt: start})
			if s.Archived = rapid.IntRange(0, 3).Draw(rt, "archived") == 0; s.Archived {
				add(&handoff.SessionArchived{SessionID: s.ID})
			}
			all = append(all, s)
		}
		if err := x.Apply(rt.Context(), logtest.Placed(records)...); err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(all, func(a, b handoff.Session) int { return b.Order().Compare(a.Order()) })
		for _, q := range []sqlindex.Query{{Text: "build"}, {Text: "test*"}, {Text: "build test"}, {Text: "absent"}} {
			q.Limit, q.IncludeInactive = rapid.IntRange(0, 20).Draw(rt, "limit"), rapid.Bool().Draw(rt, "all")
			var want, got []string
			for _, s := range all {
				words := strings.Fields(s.Workflow.Name)
				has := func(word string) bool { return slices.Contains(words, strings.TrimSuffix(word, "*")) }
				if (q.IncludeInactive || !s.Archived) && (q.Limit == 0 || len(want) < q.Limit) &&
					!slices.ContainsFunc(strings.Fields(q.Text), func(word string) bool { return !has(word) }) {
					want = append(want, s.ID)
				}
			}
			found, err := x.SearchSessions(rt.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range found {
				got = append(got, m.Session.ID)
			}
			if !slices.Equal(got, want) {
				rt.Fatalf("SearchSessions(%+v) = %q, want %q", q, got, want)
			}
		}
	})
}

// BenchmarkSearchSessions searches 16,700 sessions with 200,000 records: for a word that no session
// has, that one has, that the oldest have, that each 40th has, and that all have.
func BenchmarkSearchSessions(b *testing.B) {
	x := open(b, filepath.Join(b.TempDir(), "index.db"), "log1")
	seq, batch := handoff.Seq(0), []handoff.Record(nil)
	apply := func() {
		if err := x.Apply(b.Context(), batch...); err != nil {
			b.Fatal(err)
		}
		batch = batch[:0]
	}
	for r := range logtest.Sessions(b, time.Unix(1_700_000_000, 0), 16_700) {
		seq++
		r.Seq = seq
		if batch = append(batch, r); len(batch) == 4096 {
			apply()
		}
	}
	apply()
	search := func(b *testing.B, text string) {
		if _, err := x.SearchSessions(b.Context(), sqlindex.Query{Text: text, Limit: 31}); err != nil {
			b.Fatal(err)
		}
	}
	search(b, "intake") // stores the texts
	for _, c := range []struct{ name, text string }{{"absent", "quokka"}, {"rare", "00000abc"}, {"oldest", "000000*"},
		{"some", "intake-7"}, {"common", "intake"}, {"two", "intake alex"}} {
		b.Run(c.name, func(b *testing.B) {
			used, n := processorTime(b), 0
			for b.Loop() {
				search(b, c.text)
				n++
			}
			b.ReportMetric(float64((processorTime(b)-used).Microseconds())/1000/float64(n), "cpu-ms")
		})
	}
}

// processorTime returns what this process has used.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
