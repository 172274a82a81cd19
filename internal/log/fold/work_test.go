package fold_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"github.com/agent-handoff/handoff/internal/trace/cost"
	"github.com/agent-handoff/handoff/trace"
	"pgregory.net/rapid"
)

// TestWorkLoss checks for any part of the records about several units of work, in any
// order and repeated: equal sets give equal work, each token of an end that is there is
// counted once, and a lost start or end is visible.
func TestWorkLoss(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var records []handoff.Record
		started, ended, want := map[string]bool{}, map[string]bool{}, int64(0)
		add := func(r handoff.Record) {
			r.Seq = handoff.Seq(len(records) + 1)
			r.ID = fmt.Sprintf("rec_%02d", r.Seq)
			r.Producer.Harness = "flue"
			records = append(records, r)
		}
		for i := range rapid.IntRange(1, 6).Draw(t, "units") {
			id, tokens := fmt.Sprint("w", i), int64(100*(i+1))
			for range rapid.IntRange(0, 2).Draw(t, "starts") {
				started[id] = true
				add(handoff.Record{Fact: &handoff.WorkStarted{
					WorkID: id, ParentWorkID: fmt.Sprint("w", rapid.IntRange(0, 6).Draw(t, "parent"))}})
			}
			if rapid.Bool().Draw(t, "end is there") {
				ended[id] = true
				want += tokens
				add(handoff.Record{Fact: &handoff.WorkEnded{WorkID: id, Usage: &handoff.Usage{Input: &tokens, TotalTokens: &tokens},
					UsageSource: handoff.UsageFromHarness}})
			}
			if rapid.Bool().Draw(t, "end without usage") {
				ended[id] = true
				add(handoff.Record{Fact: &handoff.WorkEnded{WorkID: id, Status: "completed"}})
			}
		}
		if len(records) == 0 {
			return
		}
		roots := rollup(t, records)
		repeated := rapid.SliceOf(rapid.SampledFrom(records)).Draw(t, "repeated")
		again := rollup(t, rapid.Permutation(slices.Concat(records, repeated)).Draw(t, "order"))
		if !reflect.DeepEqual(roots, again) {
			t.Fatalf("in another order, with repetitions: %+v, want %+v", again, roots)
		}
		var total int64
		var see func(n *trace.Node)
		see = func(n *trace.Node) {
			if id := n.Work.ID; (n.Work.Started != 0) != started[id] || (n.Work.Ended != 0) != ended[id] {
				t.Fatalf("%+v: start recorded %t, end recorded %t", n.Work, started[id], ended[id])
			}
			for _, c := range n.Children {
				see(c)
			}
		}
		for _, n := range roots {
			see(n)
			if n.Total.TotalTokens != nil {
				total += *n.Total.TotalTokens
			}
		}
		if total != want {
			t.Fatalf("the roots have %d tokens, want %d", total, want)
		}
	})
}

// rollup folds records and returns the trees of their work.
func rollup(t *rapid.T, records []handoff.Record) []*trace.Node {
	index := logtest.NewReference()
	for i, r := range records {
		r.Seq = handoff.Seq(i + 1)
		if err := index.Apply(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	work, err := index.WorkIn(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range work { // positions in the log differ; whether there are any does not
		work[i].Started, work[i].Ended = min(work[i].Started, 1), min(work[i].Ended, 1)
	}
	return cost.Rollup(work, func(w handoff.Work) trace.Usage { return cost.OfWork(w, nil) })
}

// TestWorkOrder checks that the order in which records about work arrive does not
// matter, and which of several ends counts.
func TestWorkOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var records []handoff.Record
		seen := map[string]bool{}
		for _, r := range logtest.DrawRecords(t) {
			if seen[r.ID] {
				continue // a retry, which Apply of the package skips
			}
			seen[r.ID] = true
			switch f := r.Fact.(type) {
			case *handoff.WorkStarted:
				f.WorkID = "w"
				records = append(records, r)
			case *handoff.WorkEnded:
				f.WorkID = "w"
				records = append(records, r)
			}
		}
		view := func(records []handoff.Record) handoff.Work {
			var w handoff.Work
			for _, r := range records {
				fold.ApplyWork(&w, r)
			}
			return w
		}
		want, got := view(records), view(rapid.Permutation(records).Draw(t, "order"))
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("in another order: %+v, want %+v", got, want)
		}
		for _, r := range records {
			if f, ok := r.Fact.(*handoff.WorkEnded); ok && f.UsageSource == handoff.UsageFromHarness &&
				want.UsageSource != handoff.UsageFromHarness {
				t.Fatalf("the usage of the harness in %s does not count: %+v", r.ID, want)
			}
		}
	})
}

// TestLateAfterCancel publishes before and after the work, and what it is part of, was
// cancelled. The text does not state that a session ended: the work of one that is not recorded
// was cancelled.
func TestLateAfterCancel(t *testing.T) {
	index := logtest.NewReference()
	by := func(work string) handoff.Producer { return handoff.Producer{Harness: "h", WorkID: work} }
	published := func(id, work string) handoff.Record {
		return handoff.Record{ID: id, Producer: by(work), Fact: &handoff.ArtifactPublished{Channel: "c", Path: id}}
	}
	for i, r := range []handoff.Record{
		{ID: "1", Producer: by("s"), Fact: &handoff.WorkStarted{WorkID: "s"}},
		{ID: "2", Producer: by("p"), Fact: &handoff.WorkStarted{WorkID: "p", ParentWorkID: "s"}},
		published("before", "p"),
		{ID: "4", Producer: by("s"), Fact: &handoff.WorkEnded{WorkID: "s", Status: "cancelled"}},
		published("own", "s"), published("part", "p"), published("other", "x"),
		{ID: "8", Producer: by("s"), Fact: &handoff.WorkEnded{WorkID: "s", Usage: &handoff.Usage{},
			UsageSource: handoff.UsageFromHarness}},
		{ID: "named", Producer: handoff.Producer{Harness: "h", WorkID: "s", Session: "no session of this log"},
			Fact: &handoff.ArtifactPublished{Channel: "c", Path: "named"}},
	} {
		r.Seq = handoff.Seq(i + 1)
		if err := index.Apply(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[string]string{"own": "published after its work was cancelled",
		"named": "published after the end of its session, or after its work was cancelled"} {
		a, err := index.Artifact(context.Background(), id)
		if list := a.Notices(); err != nil || list[0].Code != handoff.NoticeLate || list[0].Text != want {
			t.Errorf("%s has the notices %v, %v; want %q", id, list, err, want)
		}
	}
	for id, late := range map[string]bool{"named": true, "before": false, "own": true, "part": true, "other": false} {
		if a, err := index.Artifact(context.Background(), id); err != nil || a.Late != late {
			t.Errorf("%s: late is %t, %v, want %t", id, a.Late, err, late)
		}
	}
}
