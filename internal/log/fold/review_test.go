package fold_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"pgregory.net/rapid"
)

// remarksOf computes the comments of each artifact with their states, and the last
// decision of each thread about its bytes, without regard to speed. Every reviewer of
// drawRemarks is a thread that started no other.
func remarksOf(records []handoff.Record) (states map[string]handoff.CommentState, of map[string]string,
	decisions map[string]map[string]handoff.Decision) {
	o := newOracle(records)
	states, of = map[string]handoff.CommentState{}, map[string]string{}
	decisions = map[string]map[string]handoff.Decision{}
	for _, r := range records {
		switch f := r.Fact.(type) {
		case *handoff.ArtifactCommented:
			switch {
			case f.ReplyTo == "":
				states[r.ID], of[r.ID] = handoff.CommentOpen, f.ArtifactID
			case states[f.ReplyTo] != "" && states[f.ReplyTo] != handoff.CommentWithdrawn && f.State != "":
				states[f.ReplyTo] = f.State
			}
		case *handoff.ArtifactPublished:
			for _, id := range f.Resolves {
				if states[id] == handoff.CommentOpen && !o.withdrawn[r.ID] {
					states[id] = handoff.CommentResolved
				}
			}
		case *handoff.ArtifactReviewed:
			by := decisions[f.ArtifactID]
			if by == nil {
				by = map[string]handoff.Decision{}
				decisions[f.ArtifactID] = by
			}
			switch thread := r.Producer.Thread; {
			case f.Digest != o.published[f.ArtifactID].Digest:
			case f.Decision == handoff.Dismissed:
				delete(by, thread)
			case f.Decision != handoff.Commented || by[thread] == "":
				by[thread] = f.Decision
			}
		}
	}
	return states, of, decisions
}

// drawRemarks draws a log of publications, some of names, acceptances, withdrawals, comments and reviews.
func drawRemarks(t *rapid.T) (records []handoff.Record) {
	var artifacts, comments []string
	digest := func(name string) handoff.Digest {
		return handoff.Digest{Algorithm: handoff.SHA256, Value: rapid.SampledFrom([]string{"aa", "bb"}).Draw(t, name)}
	}
	for i := range rapid.IntRange(2, 40).Draw(t, "records") {
		id, kind := fmt.Sprintf("rec_%026d", i), rapid.IntRange(0, 9).Draw(t, "kind")
		var f handoff.Fact
		switch {
		case len(artifacts) == 0 || kind < 3:
			id = fmt.Sprintf("art_%026d", i)
			p := &handoff.ArtifactPublished{Channel: "patch", Path: "a", TargetType: "file", Digest: digest("digest")}
			if len(artifacts) > 0 && rapid.Bool().Draw(t, "revises") {
				p.Replaces = []string{rapid.SampledFrom(artifacts).Draw(t, "replaced")}
			} else if rapid.Bool().Draw(t, "named") {
				p.Namespace, p.Name = "run", "a.md"
			}
			if len(comments) > 0 && rapid.Bool().Draw(t, "resolves") {
				p.Resolves = []string{rapid.SampledFrom(comments).Draw(t, "resolved")}
			}
			artifacts, f = append(artifacts, id), p
		case kind == 3 && rapid.Bool().Draw(t, "accepted"):
			f = &handoff.ArtifactAccepted{ArtifactID: rapid.SampledFrom(artifacts).Draw(t, "winner"),
				Over: rapid.SliceOfN(rapid.SampledFrom(artifacts), 1, 3).Draw(t, "over")}
		case kind == 3:
			f = &handoff.ArtifactWithdrawn{ArtifactID: rapid.SampledFrom(artifacts).Draw(t, "withdrawn")}
		case kind < 7:
			f = &handoff.ArtifactReviewed{ArtifactID: rapid.SampledFrom(artifacts).Draw(t, "reviewed"), Digest: digest("seen"),
				Via: handoff.ViaCommand, Decision: rapid.SampledFrom([]handoff.Decision{handoff.Approved,
					handoff.ChangesRequested, handoff.Commented, handoff.Dismissed}).Draw(t, "decision")}
		default:
			id = fmt.Sprintf("cmt_%026d", i)
			c := &handoff.ArtifactCommented{ArtifactID: rapid.SampledFrom(artifacts).Draw(t, "about"), Via: handoff.ViaMCP}
			if len(comments) > 0 && rapid.Bool().Draw(t, "reply") {
				c.ReplyTo = rapid.SampledFrom(comments).Draw(t, "to")
				c.State = rapid.SampledFrom([]handoff.CommentState{"", handoff.CommentOpen, handoff.CommentResolved,
					handoff.CommentWithdrawn}).Draw(t, "state")
			} else {
				comments = append(comments, id)
			}
			f = c
		}
		by := handoff.Producer{Harness: "codex",
			Thread: "agents://codex/" + rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "by")}
		records = append(records, handoff.Record{Version: 1, ID: id, Producer: by, Fact: f})
	}
	return logtest.Placed(records)
}

// TestReviews compares the comments and reviews of each artifact with a second computation.
func TestReviews(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := drawRemarks(t)
		m, o := memoryOf(t, records), newOracle(records)
		states, of, decisions := remarksOf(records)
		for _, id := range o.order {
			a, err := m.Artifact(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]handoff.CommentState{}
			earlier := o.before(id)
			for c, state := range states {
				later := a.Status == handoff.Active && slices.Contains(earlier, of[c]) && state == handoff.CommentOpen
				if of[c] == id || later {
					want[c] = state
				}
			}
			got := map[string]handoff.CommentState{}
			for _, c := range a.Comments {
				got[c.ID] = c.State
			}
			if !maps.Equal(got, want) {
				t.Fatalf("comments of %s: %v, want %v", id, got, want)
			}
			o.checkDecisions(t, a, decisions, earlier)
		}
	})
}

// before returns what an artifact replaces or was the head of its name before it,
// directly or through others.
func (o oracle) before(id string) (list []string) {
	p := o.published[id]
	direct := slices.Clone(p.Replaces)
	for _, b := range o.order[:slices.Index(o.order, id)] {
		if q := o.published[b]; p.Name != "" && q.Name == p.Name && q.Namespace == p.Namespace {
			direct = append(direct, b)
		}
	}
	for _, b := range direct {
		list = append(append(list, b), o.before(b)...)
	}
	return list
}

func (o oracle) checkDecisions(t *rapid.T, a handoff.Artifact, decisions map[string]map[string]handoff.Decision,
	earlier []string) {
	got := map[string]handoff.Decision{}
	for _, r := range a.Reviews {
		got[r.By.Thread] = r.Decision
	}
	if want := decisions[a.ID]; !maps.Equal(got, want) {
		t.Fatalf("decisions about %s: %v, want %v", a.ID, got, want)
	}
	reviewed := slices.ContainsFunc(earlier, func(id string) bool {
		for thread, d := range decisions[id] {
			if d != handoff.Commented && o.threads[id] != thread {
				return true
			}
		}
		return false
	})
	reviewed = reviewed && a.Status == handoff.Active && !a.IsReviewed()
	if (a.EarlierReview != nil) != reviewed {
		t.Fatalf("%s: earlier review %v, want one: %v", a.ID, a.EarlierReview, reviewed)
	}
	if a.IsApproved() {
		for _, r := range a.Reviews {
			if r.Decision == handoff.Approved && r.By.Relation == handoff.RelationOther {
				return
			}
		}
		t.Fatalf("%s is approved by nobody: %+v", a.ID, a.Reviews)
	}
}

// TestRelations relates reviewers to authors.
func TestRelations(t *testing.T) {
	claude := func(thread string) handoff.Producer {
		return handoff.Producer{Harness: "claude-code", Thread: "agents://claude/" + thread, Source: handoff.FromHarness}
	}
	person := handoff.Producer{Harness: "unknown", Source: handoff.FromNone}
	inRun := handoff.Producer{Harness: "codex", Thread: "agents://codex/r", Session: "run-of-a",
		Source: handoff.FromHarness}
	worker := handoff.Producer{Harness: "codex", Thread: "agents://codex/w", WorkID: "task", Source: handoff.FromHarness}
	lead := handoff.Producer{Harness: "codex", Thread: "agents://codex/lead"}
	codexSub := handoff.Producer{Harness: "codex", Thread: "agents://codex/sub", Session: "root", RunID: "sub"}
	named := handoff.Producer{Harness: "x", Agent: "sh", Session: "s", Source: handoff.FromEnvironment}
	child := claude("c")
	child.ParentSession = "a"
	for _, tt := range []struct {
		author, reviewer handoff.Producer
		via              string
		want             handoff.Relation
	}{
		{claude("a"), claude("a"), handoff.ViaCommand, handoff.RelationSelf},
		{claude("a"), claude("b"), handoff.ViaCommand, handoff.RelationOther},
		{claude("a"), claude("a/sub"), handoff.ViaMCP, handoff.RelationSelf},
		{claude("a/sub"), claude("a"), handoff.ViaMCP, handoff.RelationLead},
		{claude("a/one"), claude("a/two"), handoff.ViaMCP, handoff.RelationOther},
		{claude("a"), child, handoff.ViaCommand, handoff.RelationSelf},
		{child, claude("a"), handoff.ViaCommand, handoff.RelationLead},
		{claude("a"), inRun, handoff.ViaCommand, handoff.RelationSelf},
		{inRun, claude("a"), handoff.ViaCommand, handoff.RelationLead},
		{lead, worker, handoff.ViaCommand, handoff.RelationSelf},
		{worker, lead, handoff.ViaCommand, handoff.RelationLead},
		{handoff.Producer{Harness: "codex", Thread: "agents://codex/root", Session: "root"}, codexSub, handoff.ViaCommand,
			handoff.RelationSelf},
		{codexSub, handoff.Producer{Harness: "codex", Thread: "agents://codex/root", Session: "root"}, handoff.ViaCommand,
			handoff.RelationLead},
		{named, handoff.Producer{Harness: "zz", Agent: "sh", Session: "s"}, handoff.ViaCommand, handoff.RelationSelf},
		{named, handoff.Producer{Harness: "x", Agent: "sh"}, handoff.ViaCommand, handoff.RelationUnknown},
		{named, handoff.Producer{Harness: "x", Session: "s"}, handoff.ViaCommand, handoff.RelationUnknown},
		{named, handoff.Producer{Harness: "x", Agent: "ann", Session: "s"}, handoff.ViaCommand, handoff.RelationOther},
		{claude("a"), person, handoff.ViaTerminal, handoff.RelationHuman},
		{person, person, handoff.ViaTerminal, handoff.RelationHuman},
		{claude("a"), person, handoff.ViaCommand, handoff.RelationUnknown},
		{person, claude("a"), handoff.ViaCommand, handoff.RelationUnknown},
		{claude("a"), claude("b"), "pulls/7", handoff.RelationImported},
		{claude("a"), claude("b"), "", handoff.RelationImported},
	} {
		m := logtest.NewReference()
		facts := []struct {
			by handoff.Producer
			f  handoff.Fact
		}{
			{claude("a"), &handoff.SessionOpened{SessionID: "run-of-a"}},
			{worker, &handoff.WorkStarted{WorkID: "task", ParentWorkID: "lead-task", Thread: "agents://codex/w"}},
			{handoff.Producer{Harness: "codex"}, &handoff.WorkStarted{WorkID: "lead-task", Thread: "agents://codex/lead"}},
			{tt.author, &handoff.ArtifactPublished{Channel: "patch", Path: "a", TargetType: "file"}},
			{tt.reviewer, &handoff.ArtifactReviewed{ArtifactID: "r3", Decision: handoff.Approved, Via: tt.via}},
		}
		for i, f := range facts {
			r := handoff.Record{Version: 1, Seq: handoff.Seq(i + 1), ID: fmt.Sprint("r", i), Producer: f.by, Fact: f.f}
			if err := m.Apply(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		a, err := m.Artifact(t.Context(), "r3")
		if err != nil || len(a.Reviews) != 1 {
			t.Fatalf("reviews %+v, %v, want one", a.Reviews, err)
		}
		if got := a.Reviews[0].By.Relation; got != tt.want {
			t.Errorf("author %s, reviewer %s via %q: %s, want %s", tt.author.Thread, tt.reviewer.Thread, tt.via, got, tt.want)
		}
		if got, want := a.IsApproved(), tt.want == handoff.RelationHuman || tt.want == handoff.RelationOther; got != want {
			t.Errorf("%s: approved = %v, want %v", tt.want, got, want)
		}
	}
}
