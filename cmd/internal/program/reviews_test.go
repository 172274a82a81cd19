package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/candidates"
	"github.com/agent-handoff/handoff/workspace/reviews"
)

// twoMachines are two workspaces with one log in git, and what was recorded in it.
type twoMachines struct {
	*testing.T
	open     []*workspace.Workspace
	r        *rand.Rand
	ids      []string          // of artifacts
	comments map[string]string // the artifacts that comments were made on
	approved map[string]handoff.Digest
	accepted int
}

func (m *twoMachines) as(machine int, agent string) *workspace.Workspace {
	w := m.open[machine]
	p := handoff.Producer{Agent: agent, Harness: "codex", Thread: "agents://codex/" + agent, Source: handoff.FromFlag}
	return w.As(workspace.Caller{Dir: w.Root(), Producer: p})
}

// step does something on one machine, as one of three agents.
func (m *twoMachines) step(n int) {
	m.Helper()
	w := m.as(m.r.IntN(2), fmt.Sprint("agent-", m.r.IntN(3)))
	pick := func() string { return m.ids[m.r.IntN(len(m.ids))] }
	review := func(d reviews.Draft) {
		d.Via = handoff.ViaMCP
		done, err := w.Reviews().Review(m.Context(), pick(), d)
		if err != nil {
			m.Fatal(err)
		}
		if d.ReplyTo == "" {
			for _, id := range done.Comments {
				m.comments[id] = done.Artifact.ID
			}
		}
		if d.Decision == handoff.Approved {
			m.approved[done.Artifact.ID] = done.Artifact.Digest
		}
	}
	switch kind := m.r.IntN(11); {
	case len(m.ids) == 0 || kind < 4:
		d := handoff.Draft{Channel: "patch", Body: strings.NewReader(fmt.Sprintf("one\ntwo\n%d\n", n))}
		if len(m.ids) > 0 && kind > 0 {
			d.Replaces = []string{pick()}
			if kind == 1 {
				d.Resolves = []string{reviews.All}
			}
		}
		done, err := w.Publish(m.Context(), d)
		if err != nil {
			m.Fatal(err)
		}
		m.ids = append(m.ids, done.ID)
	case kind == 4:
		if _, err := w.Withdraw(m.Context(), pick(), "wrong"); err != nil {
			m.Fatal(err)
		}
	case kind == 10:
		id, over := pick(), pick()
		_, err := w.Reviews().Candidates(nil).Accept(m.Context(), id, candidates.Choice{Over: []string{over}})
		switch {
		case err == nil:
			m.accepted++
		case !errors.Is(err, handoff.Conflict) && !errors.Is(err, handoff.Invalid): // not active, or the same family
			m.Fatal(err)
		}
	case kind < 7:
		review(reviews.Draft{Lines: "2", Text: fmt.Sprint("comment ", n)})
	case kind == 7:
		review(reviews.Draft{Decision: handoff.ChangesRequested, Text: fmt.Sprint("change ", n)})
	default:
		review(reviews.Draft{Decision: []handoff.Decision{handoff.Approved, handoff.Dismissed}[kind-8]})
	}
}

// shown returns what a machine shows of reviews and comments, with their texts.
func (m *twoMachines) shown(machine int, id string) (handoff.Artifact, string) {
	m.Helper()
	w := m.open[machine]
	a, err := w.Hub().Artifact(m.Context(), id)
	if err != nil {
		m.Fatal(err)
	}
	texts, err := w.Reviews().Discussion(m.Context(), a)
	if err != nil {
		m.Fatal(err)
	}
	b, err := json.Marshal([]any{a.Status, a.ReplacedBy, a.Acceptance, a.NotChosenIn, a.Reviews, a.EarlierReview,
		a.Comments, texts})
	if err != nil {
		m.Fatal(err)
	}
	return a, string(b)
}

// TestReviewsOnTwoMachines reviews and accepts at random on two machines with a log in git: no comment
// and no text is lost, no approval is shown for other bytes, and both machines show the same.
func TestReviewsOnTwoMachines(t *testing.T) {
	t.Parallel()
	accepted := 0
	for seed := range uint64(4) {
		m := &twoMachines{T: t, r: rand.New(rand.NewPCG(31, seed)), comments: map[string]string{},
			approved: map[string]handoff.Digest{}}
		at := newMachines(t)
		for _, name := range []string{"one", "two"} {
			at.command(name) // makes the directory
			env := map[string]string{"HOME": at.home(name), "HANDOFF_LOG": at.log, "PATH": os.Getenv("PATH")}
			w, err := workspace.Open(at.work(name), workspace.Options{Backends: backends,
				Getenv: func(name string) string { return env[name] }})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			m.open = append(m.open, w)
		}
		for n := range 40 {
			m.step(n)
		}
		lost := map[string]string{}
		for id, of := range m.comments {
			lost[id] = of
		}
		for _, id := range m.ids {
			a, one := m.shown(0, id)
			_, two := m.shown(1, id)
			if one != two {
				t.Errorf("seed %d: %s differs:\n%s\n%s", seed, id, one, two)
			}
			if strings.Contains(one, "can't be read") {
				t.Errorf("seed %d: the text of a comment is lost: %s", seed, one)
			}
			for _, c := range a.Comments {
				delete(lost, c.ID)
			}
			if digest, ok := m.approved[id]; a.IsApproved(handoff.RelationOther) && (!ok || digest != a.Digest) {
				t.Errorf("seed %d: an approval of %v is shown for %v", seed, digest, a.Digest)
			}
		}
		if len(lost) > 0 {
			t.Errorf("seed %d: comments are lost: %v", seed, lost)
		}
		accepted += m.accepted
	}
	if accepted == 0 {
		t.Error("no artifact was accepted")
	}
}
