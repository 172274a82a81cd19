package retention_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/internal/log/localstate"
	"github.com/agent-handoff/handoff/internal/log/logcopy"
	"github.com/agent-handoff/handoff/internal/log/retention"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/settings"
	"github.com/agent-handoff/handoff/storage"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/reviews"
	"github.com/agent-handoff/handoff/workspace/store"
	"pgregory.net/rapid"
)

// A place is a workspace on disk.
type place struct {
	dir string
	now time.Time
}

func newPlace(t *rapid.T, top string, now time.Time) *place {
	dir, err := os.MkdirTemp(top, "place")
	must(t, err)
	must(t, os.Mkdir(filepath.Join(dir, ".git"), 0o755))
	return &place{dir, now}
}

// in opens the workspace as a process of a session, "" for none, and closes it afterwards.
func (p *place) in(t *rapid.T, session string, do func(*workspace.Workspace) error) {
	w, err := workspace.Open(p.dir, workspace.Options{Now: func() time.Time { return p.now },
		Getenv: func(name string) string {
			return map[string]string{"HANDOFF_WORKSPACE": p.dir, "HANDOFF_SESSION": session}[name]
		}})
	must(t, err)
	defer w.Close()
	must(t, do(w))
}

func (p *place) side(t *rapid.T) logcopy.Side {
	must(t, localstate.NewDir(filepath.Join(p.dir, ".handoff"), nil).Create(t.Context()))
	l := filelog.Open(filepath.Join(p.dir, ".handoff"), rand.Reader)
	return logcopy.Side{Log: l, Bodies: l.Bodies()}
}

// world returns what is stored.
func (p *place) world(t *rapid.T) *world {
	w, side := &world{bodies: map[string]int64{}}, p.side(t)
	for r, err := range side.Log.Read(t.Context(), 0) {
		must(t, err)
		w.records = append(w.records, r)
	}
	for b, err := range side.Bodies.(handoff.BodyLister).List(t.Context()) {
		must(t, err)
		w.bodies[b.Digest.Value] = b.SizeBytes
	}
	return w
}

// collect collects with a policy, twice, and returns what was dropped first: what the naive
// model drops, nothing that is protected, and everything that goes.
func (p *place) collect(t *rapid.T, policy settings.Policy) (first storage.Retention) {
	before, _, memory := p.world(t).views(t)
	want := naive(t, policy, before, memory, p.now)
	p.in(t, "", func(w *workspace.Workspace) error {
		for _, by := range retention.GroupedBy {
			g, err := w.Store().Garbage(t.Context(), store.GarbageOptions{By: by})
			must(t, err)
			want := retention.Usage(before, by)
			if len(g.Usage) < len(want) || !slices.Equal(g.Usage[:len(want)], want) {
				t.Fatalf("by %s: gc lists %+v, want %+v", by, g.Usage, want)
			}
		}
		for again := range 2 {
			g, err := w.Store().Garbage(t.Context(), store.GarbageOptions{Policy: policy, Collect: true})
			must(t, err)
			if again == 0 {
				first = *g.Retention
			} else if n := g.Retention.Drops(); n > 0 {
				t.Fatalf("%v: another run drops %d bodies: %+v", policy, n, g.Retention.Bodies)
			}
		}
		report, err := w.Store().Check(t.Context())
		if !report.OK() {
			t.Fatalf("%v: check finds %+v", policy, report.Findings)
		}
		return err
	})
	after := p.world(t)
	for _, b := range first.Bodies {
		_, stored := after.bodies[b.Digest.Value]
		if b.Drop != want[b.Digest.Value] || stored == b.Drop {
			t.Fatalf("%v: body %.4s of %s: drop %v (%s), stored: %v, want drop %v", policy, b.Digest.Value, b.Artifact,
				b.Drop, b.Reason, stored, want[b.Digest.Value])
		}
	}
	protected(t, before, after)
	return first
}

// copied returns a copy of the log, as log copy makes it.
func (p *place) copied(t *rapid.T, top string) *place {
	to := newPlace(t, top, p.now)
	done, err := logcopy.Copy(t.Context(), p.side(t), to.side(t), logcopy.Options{})
	must(t, err)
	withdrawn := map[string]bool{}
	for _, r := range p.world(t).records {
		if f, ok := r.Fact.(*handoff.ArtifactWithdrawn); ok {
			withdrawn[f.ArtifactID] = true
		}
	}
	for _, id := range done.Missing {
		if !withdrawn[id] {
			t.Fatalf("the copy misses the body of %s", id)
		}
	}
	return to
}

// imported returns another workspace that imported the exports of sessions.
func (p *place) imported(t *rapid.T, top string, sessions []string) *place {
	to := newPlace(t, top, p.now)
	for _, id := range sessions {
		file := filepath.Join(to.dir, id+".tar")
		p.in(t, "", func(w *workspace.Workspace) error {
			_, err := w.Sessions().Export(t.Context(), id, file)
			return err
		})
		to.in(t, "", func(w *workspace.Workspace) error {
			_, err := w.Sessions().Import(t.Context(), file)
			return err
		})
	}
	return to
}

// draw publishes, withdraws, labels and reviews artifacts in sessions, and returns the
// sessions. Some of them end.
func (p *place) draw(t *rapid.T) (sessions []string) {
	for i := range 2 {
		id := fmt.Sprintf("a000000%d-0000-4000-8000-000000000000", i)
		sessions = append(sessions, id)
		p.in(t, "", func(w *workspace.Workspace) error {
			_, err := w.Sessions().Open(t.Context(), session.OpenOptions{ID: id,
				Agent: handoff.SessionAgent{Name: "alex"}, Workflow: handoff.SessionWorkflow{Name: "w"}})
			return err
		})
	}
	var ids []string
	in := append([]string{""}, sessions...)
	for step := range rapid.IntRange(6, 12).Draw(t, "steps") {
		p.now = p.now.Add(time.Minute)
		p.in(t, rapid.SampledFrom(in).Draw(t, "session"), func(w *workspace.Workspace) (err error) {
			op := rapid.IntRange(0, 8).Draw(t, "operation")
			if op < 5 || len(ids) == 0 {
				own := fmt.Sprint("step ", step)
				content := rapid.SampledFrom([]string{"shared", own, own, own}).Draw(t, "content")
				d := handoff.Draft{Channel: "patch", Keep: handoff.KeepAlways, Body: strings.NewReader(content)}
				if len(ids) > 0 && op > 0 {
					d.Replaces = []string{rapid.SampledFrom(ids[max(0, len(ids)-2):]).Draw(t, "replaces")}
				}
				if len(ids) > 0 && op == 1 {
					d.Parents = []string{rapid.SampledFrom(ids).Draw(t, "parent")}
				}
				if op == 4 {
					d.Claims = []handoff.Claim{{Text: "it works"}}
				}
				a, err := w.Publish(t.Context(), d)
				ids = append(ids, a.ID)
				return err
			}
			id := rapid.SampledFrom(ids).Draw(t, "artifact")
			switch op {
			case 5, 6:
				_, err = w.Label(t.Context(), id, "draft")
			case 7:
				_, err = w.Reviews().Review(t.Context(), id, reviews.Draft{Decision: handoff.ChangesRequested, Text: "why?",
					User: "ann", Via: handoff.ViaCommand})
			case 8:
				_, err = w.Withdraw(t.Context(), id, "wrong")
			}
			return err
		})
	}
	for _, id := range sessions {
		if rapid.IntRange(0, 3).Draw(t, "ends") > 0 {
			p.in(t, "", func(w *workspace.Workspace) error {
				_, err := w.Sessions().Close(t.Context(), id, session.Completed, "")
				return err
			})
		}
	}
	return sessions
}

func must(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestPlanOfCopies collects with random policies in workspaces with random histories, in
// copies of their logs, and in workspaces that imported their sessions, before and after
// the originals were collected. Everywhere nothing protected is dropped, what is dropped
// equals the naive model, another run drops nothing, and check finds nothing.
func TestPlanOfCopies(t *testing.T) {
	most, checked := 3, 0 // each check opens several workspaces
	if os.Getenv("HANDOFF_LONG") != "" {
		most = 1000
	}
	dropped := map[string]int{}
	top := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		if checked++; checked > most {
			return
		}
		dir, err := os.MkdirTemp(top, "check")
		must(t, err)
		defer os.RemoveAll(dir)
		here := newPlace(t, dir, time.Now())
		sessions := here.draw(t)
		here.now = here.now.Add(3 * time.Hour) // no body is younger than an hour
		policy := drawPolicy(t)
		if policy.KeepWithin = 0; rapid.IntRange(0, 3).Draw(t, "by age") == 0 {
			policy.KeepWithin = 3*time.Hour + time.Duration(rapid.IntRange(0, 8).Draw(t, "minutes"))*time.Minute
		}
		if policy.IsZero() {
			policy.KeepLast = 1
		}
		before := here.copied(t, dir).collect(t, policy)
		imported := here.imported(t, dir, sessions).collect(t, policy)
		original := here.collect(t, policy)
		if got, want := fmt.Sprint(drops(before)), fmt.Sprint(drops(original)); got != want {
			t.Fatalf("%v: the copy drops %s, want %s", policy, got, want)
		}
		if n := drops(here.copied(t, dir).collect(t, policy)); len(n) > 0 {
			t.Fatalf("%v: a copy of what was collected drops %v", policy, n)
		}
		here.imported(t, dir, sessions).collect(t, policy)
		dropped["original"] += len(drops(original))
		dropped["imported"] += len(drops(imported))
	})
	t.Log("dropped bodies: ", dropped)
}

// drops returns the digests of the bodies that go.
func drops(r storage.Retention) (list []string) {
	for _, b := range r.Bodies {
		if b.Drop {
			list = append(list, b.Digest.Value)
		}
	}
	return list
}
