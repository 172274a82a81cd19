package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/session"
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
	session  string          // some artifacts are published in it
	exported map[string]bool // the artifacts of the session
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
	switch kind := m.r.IntN(14); {
	case len(m.ids) == 0 || kind < 4:
		d := handoff.Draft{Channel: "patch", Body: strings.NewReader(fmt.Sprintf("one\ntwo\n%d\n", n))}
		if len(m.ids) > 0 && kind > 0 {
			d.Replaces = []string{pick()}
			if kind == 1 {
				d.Resolves = []string{reviews.All}
			}
		}
		inSession := m.r.IntN(3) == 0
		if inSession {
			caller := w.Caller()
			caller.Producer.Session = m.session
			w = w.As(caller)
		}
		done, err := w.Publish(m.Context(), d)
		if err != nil {
			m.Fatal(err)
		}
		m.ids = append(m.ids, done.ID)
		m.exported[done.ID] = inSession
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
	case kind == 11 && len(m.comments) > 0:
		m.answer(w, n)
	case kind > 10 || kind < 7:
		review(reviews.Draft{Lines: "2", Text: fmt.Sprint("comment ", n)})
	case kind == 7:
		review(reviews.Draft{Decision: handoff.ChangesRequested, Text: fmt.Sprint("change ", n)})
	default:
		review(reviews.Draft{Decision: []handoff.Decision{handoff.Approved, handoff.Dismissed}[kind-8]})
	}
}

// answer replies to a comment, resolves it or opens it again.
func (m *twoMachines) answer(w *workspace.Workspace, n int) {
	m.Helper()
	ids := slices.Sorted(maps.Keys(m.comments))
	id := ids[m.r.IntN(len(ids))]
	d := reviews.Draft{Via: handoff.ViaMCP, Text: fmt.Sprint("answer ", n)}
	switch n % 3 {
	case 0:
		d.ReplyTo = id
	case 1:
		d.Resolve = []string{id}
	case 2:
		d.Reopen = []string{id}
	}
	if _, err := w.Reviews().Review(m.Context(), m.comments[id], d); err != nil {
		m.Fatal(err)
	}
}

// checkCopies compares a copy of the log with the log, and imports the session into a workspace of
// another log: it has the same comments, and no approval counts there.
func (m *twoMachines) checkCopies(at machines) {
	m.Helper()
	server := filepath.Join(at.dir, "copy.git")
	if out, err := exec.Command("git", "init", "-q", "--bare", server).CombinedOutput(); err != nil {
		m.Fatalf("%v: %s", err, out)
	}
	at.run("one", "log", "copy", at.log, "git:"+server)
	m.openAt(at, "copy", "git:"+server)
	m.openAt(at, "other", "")
	file := filepath.Join(at.dir, "session.tar")
	if _, err := m.open[0].Sessions().Export(m.Context(), m.session, file); err != nil {
		m.Fatal(err)
	}
	if _, err := m.open[3].Sessions().Import(m.Context(), file); err != nil {
		m.Fatal(err)
	}
	for _, id := range m.ids {
		a, one := m.shown(0, id)
		if _, copied := m.shown(2, id); copied != one {
			m.Errorf("%s differs in the copy of the log:\n%s\n%s", id, one, copied)
		}
		if !m.exported[id] {
			continue
		}
		b, _ := m.shown(3, id)
		if b.IsApproved() || b.Digest != a.Digest {
			m.Errorf("%s is approved after its import, or has other bytes: %v, %v", id, b.Reviews, b.Digest)
		}
		want, got := m.texts(0, a), m.texts(3, b)
		for comment, text := range want {
			if m.comments[comment] == id && got[comment] != text {
				m.Errorf("comment %s on %s is %q after the import, want %q", comment, id, got[comment], text)
			}
		}
	}
}

// texts returns the comments on an artifact and the answers to them, by their IDs.
func (m *twoMachines) texts(machine int, a handoff.Artifact) map[string]string {
	m.Helper()
	list, err := m.open[machine].Reviews().Discussion(m.Context(), a)
	if err != nil {
		m.Fatal(err)
	}
	all := map[string]string{}
	for _, c := range list {
		all[c.ID] = c.Text // its state can be that of a revision outside the session
		for _, r := range c.Replies {
			all[c.ID] += "\n" + r.Text
		}
	}
	return all
}

// openAt opens the workspace of a machine with a log, its own one without.
func (m *twoMachines) openAt(at machines, name, log string) {
	m.Helper()
	at.command(name) // makes the directory
	env := map[string]string{"HOME": at.home(name), "HANDOFF_LOG": log, "PATH": os.Getenv("PATH")}
	w, err := workspace.Open(at.work(name), workspace.Options{Backends: backends,
		Getenv: func(name string) string { return env[name] }})
	if err != nil {
		m.Fatal(err)
	}
	m.Cleanup(func() { w.Close() })
	m.open = append(m.open, w)
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
// and no text is lost, no approval is shown for other bytes, and both machines show the same, as does a
// copy of the log. A session that is imported elsewhere has its comments, and no approval counts.
func TestReviewsOnTwoMachines(t *testing.T) {
	t.Parallel()
	accepted, seeds := 0, uint64(1)
	steps := 20
	if os.Getenv("HANDOFF_LONG") != "" {
		seeds, steps = 4, 40
	}
	for seed := range seeds {
		m := &twoMachines{T: t, r: rand.New(rand.NewPCG(31, seed)), comments: map[string]string{},
			approved: map[string]handoff.Digest{}, exported: map[string]bool{}}
		at := newMachines(t)
		for _, name := range []string{"one", "two"} {
			m.openAt(at, name, at.log)
		}
		opened, err := m.open[0].Sessions().Open(t.Context(), session.OpenOptions{
			Agent: handoff.SessionAgent{Name: "alex"}, Workflow: handoff.SessionWorkflow{Name: "reviews"}})
		if err != nil {
			t.Fatal(err)
		}
		m.session = opened.ID
		for n := range steps {
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
		if seed == 0 || os.Getenv("HANDOFF_LONG") != "" {
			m.checkCopies(at)
		}
		accepted += m.accepted
	}
	if accepted == 0 {
		t.Error("no artifact was accepted")
	}
}
