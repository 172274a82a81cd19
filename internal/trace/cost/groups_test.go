package cost

import (
	"fmt"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
)

// attempt returns work with 100 tokens, and the artifact that it published.
func attempt(work string, a handoff.Artifact) (handoff.Work, handoff.Artifact) {
	size := int64(1000)
	a.Producer, a.SizeBytes = handoff.Producer{Harness: "flue", WorkID: work}, &size
	if a.Status == "" {
		a.Status = handoff.Active
	}
	return handoff.Work{Harness: "flue", ID: work, Ended: 1, Model: gpt5, StartedAt: start, Usage: reported(80, 20)}, a
}

func made(id, channel string) (a handoff.Artifact) {
	a.ID, a.Channel, a.CreatedAt = id, channel, start
	return a
}

// TestLabelHasAttempts checks that a label has the cost of its artifact, of those
// that it replaces, and of its inputs, and that an input of two labels is shared.
func TestLabelHasAttempts(t *testing.T) {
	var s Sources
	add := func(work string, a handoff.Artifact) {
		w, a := attempt(work, a)
		s.Work, s.Artifacts = append(s.Work, w), append(s.Artifacts, a)
	}
	add("w1", made("art_design", "design"))
	first := made("art_first", "patch")
	first.Status, first.Parents = handoff.Superseded, []string{"art_design"}
	add("w2", first)
	second := made("art_second", "patch")
	second.Replaces, second.Revision, second.Labels = []string{"art_first"}, 2, []string{"chosen"}
	add("w3", second)
	review := made("art_review", "verification")
	review.Parents, review.Labels = []string{"art_design"}, []string{"final"}
	add("w4", review)
	add("w5", made("art_notes", "notes"))

	tokens := map[string]int64{}
	r := Summarize(ByLabel, Leaves(s))
	for _, row := range r.Rows {
		tokens[row.Key] = *row.Amount.TotalTokens
	}
	if tokens["patch:chosen"] != 250 || tokens["verification:final"] != 150 || len(tokens) != 2 {
		t.Errorf(
			"got %v, want 250 tokens for the patch with its first attempt and half of the design, and 150 for the review",
			tokens)
	}
	if got := value(r.Unattributed.Amount.TotalTokens); got != 100 {
		t.Errorf("got %d tokens unattributed, want those of the notes", got)
	}
	byRevision := Summarize(ByRevision, Leaves(s))
	if rows := byRevision.Rows; len(rows) != 2 || rows[0].Key != First || rows[0].Artifacts != 4 ||
		rows[1].Key != Revision || rows[1].Artifacts != 1 || rows[1].Revisions != 1 {
		t.Errorf("got %+v, want four first revisions and one that replaces another", rows)
	}
}

// TestOutcomes checks that failed work is divided by whether it left something, and that
// cancelled work is apart.
func TestOutcomes(t *testing.T) {
	var s Sources
	for _, o := range []struct {
		work   string
		failed bool
		status handoff.Status
	}{{"done", false, handoff.Active}, {"useful", true, handoff.Active}, {"useless", true, handoff.Withdrawn}} {
		a := made("art_"+o.work, "patch")
		a.Status = o.status
		w, a := attempt(o.work, a)
		w.IsError = o.failed
		s.Work, s.Artifacts = append(s.Work, w), append(s.Artifacts, a)
	}
	w, a := attempt("cancelled", made("art_cancelled", "patch"))
	w.Status = "cancelled"
	s.Work, s.Artifacts = append(s.Work, w), append(s.Artifacts, a)
	s.Work = append(s.Work, handoff.Work{Harness: "flue", ID: "silent", IsError: true, Ended: 2}) // without usage
	r := Summarize(ByOutcome, Leaves(s))
	got := map[string]int64{}
	for _, row := range r.Rows {
		got[row.Key] = value(row.Amount.TotalTokens)
	}
	if len(got) != 4 || got[Succeeded] != 100 || got[Cancelled] != 100 ||
		got[FailedUseful] != 100 || got[FailedUseless] != 100 {
		t.Errorf("got %v, want 100 tokens for each outcome", got)
	}
	if r.Total.Failed != 3 || r.Total.FailedOut != 1 {
		t.Errorf("got %d failed, %d with artifacts, want 3 and 1", r.Total.Failed, r.Total.FailedOut)
	}
}

// TestTraffic checks what is known of how artifacts reached other work.
func TestTraffic(t *testing.T) {
	w, read := attempt("w1", made("art_read", "design"))
	_, kept := attempt("w1", made("art_kept", "design"))
	read.UsedBy = []handoff.Use{{Harness: "flue", WorkID: "w2"}, {Harness: "flue", WorkID: "w3"},
		{Harness: "flue", WorkID: "w1"}}
	r := Summarize(ByChannel, Leaves(Sources{Work: []handoff.Work{w}, Artifacts: []handoff.Artifact{read, kept}}))
	if got := r.Total.Traffic; got.RefsPassed != 2 || value(got.BytesRead) != 2000 || value(got.BytesStayed) != 1000 {
		t.Errorf("got %+v, want two reads of 1,000 bytes by other work, and 1,000 bytes that nobody read", got)
	}
}

// TestReceipt is the receipt of a prompt with a task that publishes: IDs join, and
// the total has each token once.
func TestReceipt(t *testing.T) {
	prompt := handoff.Work{Harness: "flue", ID: "prompt-1", Kind: "prompt", Model: gpt5, StartedAt: start,
		EndedAt: start.Add(3e9), Ended: 4, Usage: reported(1000, 100)}
	task := handoff.Work{Harness: "flue", ID: "task-1", Parent: "prompt-1", Kind: "task", Model: gpt5,
		StartedAt: start.Add(1e9), EndedAt: start.Add(2e9), Ended: 3, Usage: reported(2000, 200)}
	patch := made("art_patch", "patch")
	patch.Producer = handoff.Producer{Harness: "flue", WorkID: "task-1"}
	r := NewReceipt(Leaves(Sources{Work: []handoff.Work{task, prompt}, Artifacts: []handoff.Artifact{patch}}))
	if len(r.Tasks) != 2 || r.Tasks[0].Work != "prompt-1" || r.Tasks[1].Work != "task-1" ||
		value(r.Usage.TotalTokens) != 3300 || r.Artifacts != 1 {
		t.Fatalf("got %+v, want the prompt, the task and 3,300 tokens", r)
	}
	if got := r.Tasks[1]; len(got.Artifacts) != 1 || got.Artifacts[0] != "art_patch" || got.DurationMS != 1000 ||
		got.Status != "completed" {
		t.Errorf("got %+v, want the task with its artifact", got)
	}
}

// TestSessionOfSubagent checks that a subagent keeps its own session, and has that of
// its main agent only without one.
func TestSessionOfSubagent(t *testing.T) {
	const main, own, other = "agents://claude/main", "agents://claude/main/own", "agents://claude/main/other"
	ids := map[string]string{}
	for _, l := range Leaves(Sources{
		Threads: []Conversation{{URI: own, Main: main}, {URI: other, Main: main}, {URI: main}},
		Work: []handoff.Work{{Harness: "claude", ID: "m", Thread: main, SessionID: "s1"},
			{Harness: "claude", ID: "o", Thread: own, SessionID: "s2"}},
	}) {
		ids[l.Thread] = l.Session
	}
	if ids[main] != "s1" || ids[own] != "s2" || ids[other] != "s1" {
		t.Errorf("got %v, want s1 for the main agent and the subagent without a session, and s2 for the other", ids)
	}
}

// TestShellOfSubagent has an artifact whose record names a subagent by the ID in its shells.
func TestShellOfSubagent(t *testing.T) {
	const main, sub, shell = "agents://copilot/m", "agents://copilot/m/a", "agents://copilot/s"
	s := Sources{
		Threads: []Conversation{{URI: main, Self: main},
			{URI: sub, Self: "agents://copilot/a", Shell: shell, Main: main, By: main}},
		Artifacts: []handoff.Artifact{{Record: handoff.Record{ID: "art_1", Producer: handoff.Producer{Thread: shell}}}},
	}
	s.AddMissing("missing")
	if len(s.Threads) != 2 {
		t.Errorf("threads are %+v, want none that is missing", s.Threads)
	}
	for _, l := range Leaves(s) {
		if (len(l.Artifacts) > 0) != (l.Thread == sub) {
			t.Errorf("%s has %d artifacts", l.Thread, len(l.Artifacts))
		}
	}
}

// TestRates checks which part of the input was read from a cache, and what an active artifact
// cost. What is not known has no rate.
func TestRates(t *testing.T) {
	made := func(id string, active int) *Made {
		return &Made{Production: &handoff.Production{Key: id, Count: 1, Active: active}}
	}
	leaf := Leaf{Thread: "agents://claude/1", Portions: []Portion{{Amount: trace.Usage{Completeness: thread.Exact,
		Usage: handoff.Usage{Input: n(10), CacheRead: n(180), CacheWrite: n(10), Output: n(500), Cost: dollars(6)}}}}}
	leaf.Artifacts = []*Made{made("a", 1), made("b", 0), made("c", 1)}
	sum := Summarize(BySession, []Leaf{leaf}).Total
	if sum.CacheRate == nil || *sum.CacheRate != 0.9 || *sum.CostPerArtifact != 2 || *sum.CostPerActive != 3 {
		t.Errorf("got the rates %v %v %v, want 0.9, 2, 3", sum.CacheRate, sum.CostPerArtifact, sum.CostPerActive)
	}
	leaf.Portions[0].Amount.CacheRead, leaf.Artifacts = nil, []*Made{made("b", 0)}
	if sum = Summarize(BySession, []Leaf{leaf}).Total; sum.CacheRate != nil || sum.CostPerActive != nil {
		t.Errorf("got the rates %v %v, want none", sum.CacheRate, sum.CostPerActive)
	}
}

func dollars(v float64) *float64 { return &v }

// TestChange compares two periods, unless one of them has no cost or only one is a lower bound.
func TestChange(t *testing.T) {
	used := func(cost float64) trace.Usage {
		return trace.Usage{Usage: handoff.Usage{TotalTokens: n(5), Cost: &cost}, Completeness: thread.Exact}
	}
	bound := used(5)
	bound.Completeness, bound.Reason = thread.LowerBound, "a line is damaged"
	other := used(5.6)
	other.Completeness, other.Reason = thread.LowerBound, "requests for titles are missing"
	partly := other
	Add(&partly, trace.Usage{Completeness: thread.NoUsage, Reason: "the transcript is missing"})
	boundUnpriced := other
	boundUnpriced.Unpriced = []string{"x"}
	unpriced := used(5)
	unpriced.Unpriced = []string{"x", "y"}
	missing := trace.Usage{Completeness: thread.NoUsage, Reason: "the transcript is missing"}
	none := trace.Usage{Completeness: thread.NoUsage}
	for _, tt := range []struct {
		name        string
		now, before trace.Usage
		want        string
	}{
		{"more", used(5.6), used(5), "0.12"},
		{"less", used(2), used(5), "-0.60"},
		{"the same", used(5), used(5), "0.00"},
		{"nothing before", used(5), none, "nothing was used in the period before"},
		{"nothing now", none, used(5), "nothing was used in the period"},
		{"a lower bound now", bound, used(5), "the cost of the period is a lower bound: a line is damaged"},
		{"a lower bound before", used(5), bound, "the cost of the period before is a lower bound: a line is damaged"},
		{"two lower bounds", other, bound,
			"the cost of the period is a lower bound: requests for titles are missing, recorded 0.12"},
		{"a part without usage", partly, bound,
			"the cost of the period is a lower bound: a part has no usage: the transcript is missing"},
		{"a part without usage before", bound, partly, "the cost of the period is a lower bound: a line is damaged"},
		{"a lower bound without a price", boundUnpriced, bound,
			"the cost of the period is a lower bound: no price is known of x"},
		{"a lower bound without a price before", bound, boundUnpriced,
			"the cost of the period is a lower bound: a line is damaged"},
		{"without a price", unpriced, used(5), "the cost of the period is a lower bound: no price is known of x, y"},
		{"missing before", used(5), missing, "the cost of the period before is a lower bound: the transcript is missing"},
		{"for nothing", used(5), used(0), "the period before cost nothing"},
	} {
		c := trace.CostChange{Before: tt.before}
		Change(&c, tt.now)
		got := c.Reason
		if c.Rate != nil {
			got += fmt.Sprintf("%.2f", *c.Rate)
		}
		if c.RecordedRate != nil {
			got += fmt.Sprintf(", recorded %.2f", *c.RecordedRate)
		}
		if got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}
