package retention_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/content"
	"github.com/agent-handoff/handoff/internal/log/retention"
	"github.com/agent-handoff/handoff/settings"
	"github.com/agent-handoff/handoff/storage"
	"pgregory.net/rapid"
)

// A world is a log and a body store in memory. A process of it can be killed.
type world struct {
	records []handoff.Record
	bodies  map[string]int64 // sizes, by digest
	left    int              // how many steps the process makes before it is killed; -1 for all
}

var start = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

// views returns what the records show, and the bodies that no record needs.
func (w *world) views(t *rapid.T) (v retention.Views, unneeded []string, memory *logtest.Reference) {
	memory = logtest.NewReference()
	if err := memory.Apply(t.Context(), w.records...); err != nil {
		t.Fatal(err)
	}
	refs := new(content.References)
	for _, r := range w.records {
		refs.Add(r)
	}
	for _, value := range slices.Sorted(maps.Keys(w.bodies)) {
		b := handoff.StoredBody{Digest: handoff.Digest{Algorithm: handoff.SHA256, Value: value}, SizeBytes: w.bodies[value],
			StoredAt: start}
		if refs.Of(b.Digest) != storage.Referenced {
			unneeded = append(unneeded, value)
			continue
		}
		v.Bodies = append(v.Bodies,
			retention.Body{StoredBody: b, Records: refs.Records(b.Digest), Unknown: refs.Unknown(b.Digest)})
	}
	page, err := memory.Artifacts(t.Context(), handoff.ArtifactQuery{IncludeInactive: true})
	if err == nil {
		v.Threads, err = memory.KeptThreads(t.Context(), "")
	}
	for _, a := range slices.Backward(page.Artifacts) {
		v.Artifacts = append(v.Artifacts, retention.Of(a))
	}
	sessions, failed := memory.Sessions(t.Context(), handoff.SessionQuery{IncludeArchived: true})
	for _, s := range sessions.Sessions {
		if s.Status == handoff.Running {
			v.Open = append(v.Open, s)
		}
	}
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	return v, unneeded, memory
}

// step reports whether the process goes on.
func (w *world) step() bool {
	if w.left == 0 {
		return false
	}
	w.left--
	return true
}

// collect does what gc --collect does with a policy.
func (w *world) collect(t *rapid.T, p settings.Policy, now time.Time) storage.Retention {
	v, unneeded, _ := w.views(t)
	r := retention.Plan(p, v, now, now)
	for i, f := range retention.Facts(r, v) {
		if !w.step() {
			return r
		}
		record := handoff.Record{Version: 1, ID: fmt.Sprintf("rec_DROP%d_%d", len(w.records), i), CreatedAt: now, Fact: f}
		b, err := record.JSON()
		if err == nil {
			record, err = handoff.ParseRecord(b)
		}
		if err != nil {
			t.Fatal(err)
		}
		record.Seq = handoff.Seq(len(w.records) + 1)
		w.records = append(w.records, record)
	}
	for _, b := range r.Bodies {
		if b.Drop && w.step() {
			delete(w.bodies, b.Digest.Value)
		}
	}
	for _, value := range unneeded {
		if w.step() {
			delete(w.bodies, value)
		}
	}
	return r
}

func drawPolicy(t *rapid.T) settings.Policy {
	p := settings.Policy{KeepLast: rapid.IntRange(0, 3).Draw(t, "keep last"),
		KeepWithin: time.Duration(rapid.IntRange(0, 6).Draw(t, "keep within")) * time.Second}
	if p.IsZero() {
		p.KeepLast = 1
	}
	return p
}

// TestPlan compares, over random histories and policies, what is dropped with a naive
// model, and collects with a process that is killed after each number of steps: afterwards
// nothing protected is gone, the next run completes what was left, and another one drops
// nothing.
func TestPlan(t *testing.T) {
	drops := 0
	property := func(t *rapid.T) {
		w := &world{records: logtest.DrawRecords(t), bodies: map[string]int64{}, left: -1}
		for i, value := range []string{"ab", "cd", "ef"} {
			w.bodies[strings.Repeat(value, 32)] = int64(i + 1)
		}
		for i, r := range w.records {
			if f, ok := r.Fact.(*handoff.ArtifactPublished); ok && f.Digest.Value != "" {
				f.Kept = rapid.IntRange(0, 3).Draw(t, "not kept") > 0
				if rapid.Bool().Draw(t, "a body of its own") {
					f.Digest.Value = strings.Repeat(fmt.Sprintf("%02x", i), 32)
					w.bodies[f.Digest.Value] = int64(i%3 + 1)
				}
			}
		}
		p, now := drawPolicy(t), start.Add(time.Duration(rapid.IntRange(0, 8).Draw(t, "now"))*time.Second)
		v, _, memory := w.views(t)
		got := retention.Plan(p, v, now, now.Add(time.Hour))
		want := naive(t, p, v, memory, now)
		for _, b := range got.Bodies {
			if want[b.Digest.Value] != b.Drop {
				t.Fatalf("%v: body %.4s: drop %v (%s), want %v", p, b.Digest.Value, b.Drop, b.Reason, want[b.Digest.Value])
			}
			if b.Drop {
				drops++
			}
		}
		now = now.Add(time.Hour)
		killed := &world{records: slices.Clone(w.records), bodies: maps.Clone(w.bodies),
			left: rapid.IntRange(0, 6).Draw(t, "steps")}
		for _, w := range []*world{w, killed} {
			w.collect(t, p, now)
			w.left = -1
			w.collect(t, p, now)
			protected(t, v, w)
			if again := w.collect(t, p, now); again.DropBytes != 0 {
				t.Fatalf("%v: another run drops %+v", p, again.Bodies)
			}
		}
		if !maps.Equal(w.bodies, killed.bodies) {
			t.Fatalf("%v: bodies %v after a kill, want %v", p, killed.bodies, w.bodies)
		}
	}
	for range 9 { // 100 histories may have nothing that goes
		if rapid.Check(t, property); drops > 0 {
			return
		}
	}
	t.Error("nothing was ever dropped")
}

// TestPlanFirstOfFamily keeps an artifact that has a name and is the first of its family:
// only one of the family is newer, although two of its name are.
func TestPlanFirstOfFamily(t *testing.T) {
	v := retention.Views{Artifacts: []retention.Artifact{
		{ID: "art_1", Name: "s\x00a.md", Status: handoff.Superseded},
		{ID: "art_2", Status: handoff.Active, Replaces: []string{"art_1"}},
		{ID: "art_3", Name: "s\x00a.md", Status: handoff.Superseded},
		{ID: "art_4", Name: "s\x00a.md", Status: handoff.Active}}}
	for i, a := range v.Artifacts {
		v.Artifacts[i].Seq, v.Artifacts[i].CreatedAt = handoff.Seq(i+1), start
		v.Bodies = append(v.Bodies, retention.Body{Records: []string{a.ID},
			StoredBody: handoff.StoredBody{Digest: logtest.DigestOf(a.ID), SizeBytes: 1, StoredAt: start}})
	}
	for last, want := range map[int]string{1: "art_1 art_3", 2: "", 3: ""} {
		var got []string
		for _, b := range retention.Plan(settings.Policy{KeepLast: last}, v, start, start.Add(time.Hour)).Bodies {
			if b.Drop {
				got = append(got, b.Artifact)
			}
		}
		if slices.Sort(got); strings.Join(got, " ") != want {
			t.Errorf("keep-last %d drops %v, want %q", last, got, want)
		}
	}
}

// protected checks that no body is gone which an active artifact, or one that has a label, claims
// or reviews or was accepted, has.
func protected(t *rapid.T, before retention.Views, w *world) {
	stored := map[string]bool{}
	for _, b := range before.Bodies {
		for _, id := range b.Records {
			for _, a := range before.Artifacts {
				if a.ID == id && a.Status != handoff.Withdrawn &&
					(a.Status == handoff.Active || len(a.Labels) > 0 || a.Claims || a.Reviewed || a.Accepted) {
					stored[b.Digest.Value] = true
				}
			}
		}
	}
	for value := range stored {
		if _, ok := w.bodies[value]; !ok {
			t.Fatalf("the body %.4s is gone, which is protected", value)
		}
	}
	refs := new(content.References)
	for _, r := range w.records {
		refs.Add(r)
	}
	for d, id := range refs.Needed() {
		if _, ok := w.bodies[d.Value]; !ok {
			for _, b := range before.Bodies {
				if b.Digest == d {
					t.Fatalf("check would miss the body %.4s of %s", d.Value, id)
				}
			}
		}
	}
}

// naive returns what a policy drops, by digest: each rule by itself, from full views.
func naive(t *rapid.T, p settings.Policy, v retention.Views, memory *logtest.Reference, now time.Time) map[string]bool {
	ctx := t.Context()
	page, err := memory.Artifacts(ctx, handoff.ArtifactQuery{IncludeInactive: true})
	if err != nil {
		t.Fatal(err)
	}
	drop := map[string]bool{}
	for _, b := range v.Bodies {
		stays := b.Unknown || len(b.Records) == 0
		for _, id := range b.Records {
			a, err := memory.Artifact(ctx, id)
			if err != nil {
				stays = stays || naiveThread(p, v, page.Artifacts, id, now)
				continue
			}
			stays = stays || naiveArtifact(ctx, p, a, page.Artifacts, v.Open, memory, now)
		}
		drop[b.Digest.Value] = !stays
	}
	return drop
}

// inOpen reports whether an open session or run published or used an artifact.
func inOpen(a handoff.Artifact, open []handoff.Session) bool {
	for _, s := range open {
		if a.Producer.Session == s.ID || a.Producer.RunID == s.ID ||
			slices.ContainsFunc(a.UsedBy, func(u handoff.Use) bool { return u.Session == s.ID || u.RunID == s.ID }) {
			return true
		}
	}
	return false
}

func naiveArtifact(ctx context.Context, p settings.Policy, a handoff.Artifact, all []handoff.Artifact,
	open []handoff.Session, memory *logtest.Reference, now time.Time) bool {
	live := slices.ContainsFunc(a.Comments, func(c handoff.Comment) bool { return c.State != handoff.CommentWithdrawn })
	if a.Status != handoff.Superseded || inOpen(a, open) || len(a.Claims) > 0 || a.Attestation != nil ||
		len(a.Reviews) > 0 || live || a.Acceptance != nil || len(a.Labels) > 0 {
		return true
	}
	for _, other := range all {
		for _, c := range other.Claims {
			for _, e := range c.Evidence {
				if e.Artifact == a.ID && other.Status != handoff.Withdrawn {
					return true
				}
			}
		}
		if other.Status == handoff.Active && slices.Contains(other.Parents, a.ID) {
			return true
		}
	}
	newer := func(q handoff.ArtifactQuery) (n int) {
		q.IncludeInactive, q.After = true, a.Seq
		page, _ := memory.Artifacts(ctx, q)
		for _, other := range page.Artifacts {
			if other.Status != handoff.Withdrawn {
				n++
			}
		}
		return n
	}
	family, _ := memory.Artifacts(ctx, handoff.ArtifactQuery{Family: a.ID, IncludeInactive: true})
	rank := 1 << 30
	if a.Name == "" || len(family.Artifacts) > 1 {
		rank = newer(handoff.ArtifactQuery{Family: a.ID})
	}
	if a.Name != "" {
		rank = min(rank, newer(handoff.ArtifactQuery{Name: a.Name, Namespace: a.Namespace}))
	}
	return rank < p.KeepLast || p.KeepWithin > 0 && a.CreatedAt.After(now.Add(-p.KeepWithin))
}

func naiveThread(p settings.Policy, v retention.Views, all []handoff.Artifact, record string,
	now time.Time) bool {
	i := slices.IndexFunc(v.Threads, func(t handoff.KeptThread) bool { return t.RecordID == record })
	if i < 0 {
		return true // of a comment
	}
	t := v.Threads[i]
	for _, a := range all {
		for _, c := range a.Claims {
			for _, e := range c.Evidence {
				if e.Thread == t.Thread && a.Status != handoff.Withdrawn {
					return true
				}
			}
		}
	}
	return p.KeepLast > 0 || p.KeepWithin > 0 && t.KeptAt.After(now.Add(-p.KeepWithin))
}
