package workspace_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
)

// TestAttributedFilter compares lists, their pages and counts by agent with the agents that
// PublishedBy has of all artifacts: of those whose record, call or call ID is of a subagent,
// with and without an agent in the record.
func TestAttributedFilter(t *testing.T) {
	m := newMachine(t)
	ids := m.manyPublished()
	w, err := workspace.Open(m.repo, workspace.Options{Getenv: m.getenv,
		Threads: thread.NewSet(all.Drivers(), m.getenv, m.home)})
	must(t, err)
	defer w.Close()
	want, byChannel, hidden := map[string][]string{}, map[string]map[string]int{}, map[string]int{}
	for _, id := range slices.Backward(ids) {
		shown, err := w.Show(t.Context(), id, false)
		must(t, err)
		a := shown.Artifact
		agent := a.PublishedBy().Agent
		if a.Status != handoff.Active {
			hidden[agent]++
			continue
		}
		want[agent] = append(want[agent], id)
		if byChannel[agent] == nil {
			byChannel[agent] = map[string]int{}
		}
		byChannel[agent][a.Channel]++
	}
	for _, name := range []string{"builder", "worker", "reviewer", "casey", "nobody", ""} {
		f := workspace.Filter{Producer: map[string]string{"agent": name}}
		for _, limit := range []int{0, 1, 3} {
			got, n := []string{}, 0
			for o := (workspace.ListOptions{Filter: f, Limit: limit}); ; {
				page, err := w.List(t.Context(), o)
				must(t, err)
				if limit > 0 && len(page.Artifacts) > limit {
					t.Errorf("%q, limit %d: a page has %d", name, limit, len(page.Artifacts))
				}
				for _, a := range page.Artifacts {
					got = append(got, a.ID)
				}
				if n = page.HiddenCount; page.Cursor == "" {
					break
				}
				o.Cursor = page.Cursor
			}
			if !slices.Equal(got, want[name]) {
				t.Errorf("%q, limit %d: got %v, want %v", name, limit, got, want[name])
			}
			if n != hidden[name] {
				t.Errorf("%q, limit %d: %d are hidden, want %d", name, limit, n, hidden[name])
			}
		}
		counts, err := w.Channels(t.Context(), f)
		must(t, err)
		got := map[string]int{}
		for _, c := range counts.Channels {
			if c.Count > 0 {
				got[c.Name] = c.Count
			}
		}
		if !maps.Equal(got, byChannel[name]) {
			t.Errorf("%q: channels have %v, want %v", name, got, byChannel[name])
		}
	}
}

// manyPublished publishes artifacts of main agents and subagents of three programs, and returns
// their IDs.
func (m *machine) manyPublished() (ids []string) {
	const session, codex, child = "2823d1df-720a-4c31-ac55-ae8ba7260001", "019c871c-b1f9-7f60-9c4f-000000000001",
		"019c871c-b1f9-7f60-9c4f-000000000002"
	const copilot, agentID, shell = "2823d1df-720a-4c31-ac55-ae8ba7260003", "e665cec9-903f-4916-b8f8-f6b61c9263a3",
		"5daa0bc7-5967-4125-8f70-45c7f3a6fc55"
	main, sub := m.claude(session, "", m.repo), m.claude(session, "a1b2c3", m.repo)
	m.codexThread(codex, "", m.repo)
	worker := m.codexThread(child, codex, m.repo)
	m.copilot(copilot, agentID, shell)
	inClaude := handoff.Producer{Harness: "claude-code", Session: session, Thread: main.uri}
	inCodex := handoff.Producer{Harness: "codex", Session: codex, Thread: "agents://codex/" + child}
	inCopilot := handoff.Producer{Harness: "copilot-cli", Thread: "agents://copilot/" + shell}
	random, previous := rand.New(rand.NewPCG(1, 2)), ""
	for i := range 28 {
		d := handoff.Draft{Path: fmt.Sprintf("f%d.md", i), Channel: []string{"x", "y"}[random.IntN(2)]}
		writeFile(m.t, filepath.Join(m.repo, d.Path), d.Path)
		if random.IntN(4) == 0 && previous != "" {
			d.Replaces = []string{previous}
		}
		p, by := inClaude, main
		kind := random.IntN(7)
		switch kind {
		case 0:
			by = sub
		case 1: // only the ID of the call is in the transcript
			m.calls++
			p.ToolCallID = fmt.Sprint("toolu_", m.calls)
			m.calls--
			sub.command("handoff publish "+d.Path+" -q", "done\n")
		case 2: // the thread of the record is a subagent, and no call is in the transcript
			p = inCodex
		case 3:
			p, by = inCodex, worker
		case 4:
			p = inCopilot
		case 5:
			p = handoff.Producer{}
		}
		p.Agent = []string{"", "", "builder", "worker", "casey"}[random.IntN(5)]
		previous = by.publishes(kind == 0 || kind == 3 || kind == 6, p, d)
		ids = append(ids, previous)
	}
	m.save()
	return ids
}

// publishes publishes an artifact, with a call in the transcript or without.
func (a *agent) publishes(shown bool, p handoff.Producer, d handoff.Draft) string {
	if shown {
		return a.publish(p, d)
	}
	a.tick()
	w := a.open(a.cwd)
	defer w.Close()
	done, err := w.As(workspace.Caller{Dir: a.cwd, Producer: p}).Publish(a.t.Context(), d)
	must(a.t, err)
	return done.Artifact.ID
}
