package workspace_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/news"
)

// TestAttributedNews has three threads that ended. What their subagents published counts to
// them, whatever thread the record names, and what they published without a thread in the
// record.
func TestAttributedNews(t *testing.T) {
	const claude, codex, child, grandchild = "2823d1df-720a-4c31-ac55-ae8ba7260001",
		"019c871c-b1f9-7f60-9c4f-000000000001", "019c871c-b1f9-7f60-9c4f-000000000002", "019c871c-b1f9-7f60-9c4f-000000000003"
	const copilot, agentID, shell = "2823d1df-720a-4c31-ac55-ae8ba7260003", "e665cec9-903f-4916-b8f8-f6b61c9263a3",
		"5daa0bc7-5967-4125-8f70-45c7f3a6fc55"
	m := newMachine(t)
	main, sub := m.claude(claude, "", m.repo), m.claude(claude, "a1b2c3", m.repo)
	top, worker := m.codexThread(codex, "", m.repo), m.codexThread(child, codex, m.repo)
	m.codexThread(grandchild, child, m.repo)
	m.copilot(copilot, agentID, shell)
	n := 0
	draft := func() handoff.Draft {
		n++
		d := handoff.Draft{Path: fmt.Sprintf("f%d.md", n), Channel: "x"}
		writeFile(t, filepath.Join(m.repo, d.Path), d.Path)
		return d
	}
	inCodex := func(id string) handoff.Producer {
		return handoff.Producer{Harness: "codex", Session: codex, Thread: "agents://codex/" + id}
	}
	sub.publish(handoff.Producer{Harness: "claude-code", Session: claude, Thread: main.uri}, draft())
	sub.publishes(false, handoff.Producer{Harness: "claude-code", Session: claude, Thread: sub.uri}, draft())
	main.publish(handoff.Producer{}, draft())
	main.publishes(false, handoff.Producer{}, draft()) // by a person
	worker.publish(inCodex(child), draft())
	worker.publishes(false, inCodex(grandchild), draft())
	main.publishes(false, handoff.Producer{Harness: "copilot-cli", Thread: "agents://copilot/" + shell}, draft())
	main.line("assistant", object{"id": "end", "role": "assistant", "model": "claude-opus-4-8", "stop_reason": "end_turn",
		"content": []object{{"type": "text", "text": "Done."}}, "usage": object{"input_tokens": 1, "output_tokens": 1}})
	top.item("event_msg", object{"type": "task_complete", "turn_id": "t", "last_agent_message": "Done."})
	m.save()
	w, err := workspace.Open(m.repo, workspace.Options{Getenv: m.getenv,
		Now: func() time.Time { return m.at.Add(time.Minute) }})
	must(t, err)
	defer w.Close()
	r, err := w.News(thread.NewSet(all.Drivers(), m.getenv, m.home)).Report(t.Context(), news.ReportOptions{Since: "1h"})
	must(t, err)
	got, want := map[string]int{}, map[string]int{main.uri: 3, top.uri: 2}
	for _, d := range r.Done {
		got[d.Thread] = d.Artifacts
	}
	if !maps.Equal(got, want) || r.Artifacts != n {
		t.Errorf("got %v of %d, want %v of %d; %+v", got, r.Artifacts, want, n, r.Running)
	}
}

// TestNewsSubagentSession has a session in which only a subagent of Codex published. Its main
// thread is that of the session, and has no row of its own.
func TestNewsSubagentSession(t *testing.T) {
	const codex, child = "019c871c-b1f9-7f60-9c4f-000000000001", "019c871c-b1f9-7f60-9c4f-000000000002"
	m := newMachine(t)
	top, worker := m.codexThread(codex, "", m.repo), m.codexThread(child, codex, m.repo)
	w, err := workspace.Open(m.repo, workspace.Options{Getenv: m.getenv, Now: func() time.Time { return m.at }})
	must(t, err)
	defer w.Close()
	opened, err := w.Sessions().Open(t.Context(), session.OpenOptions{Agent: handoff.SessionAgent{Name: "ada"},
		Workflow: handoff.SessionWorkflow{Name: "x"}})
	must(t, err)
	writeFile(t, filepath.Join(m.repo, "a.md"), "a")
	worker.publish(handoff.Producer{Harness: "codex", Session: opened.ID, Thread: "agents://codex/" + child},
		handoff.Draft{Path: "a.md", Channel: "x"})
	top.item("event_msg", object{"type": "task_complete", "turn_id": "t", "last_agent_message": "Done."})
	m.save()
	_, err = w.Sessions().Close(t.Context(), opened.ID, session.Completed, "")
	must(t, err)
	r, err := w.News(thread.NewSet(all.Drivers(), m.getenv, m.home)).Report(t.Context(), news.ReportOptions{Since: "1h"})
	must(t, err)
	if len(r.Done) != 1 || r.Done[0].Session != opened.ID || r.Done[0].Thread != top.uri || r.Done[0].Artifacts != 1 {
		t.Errorf("got %+v, want the session with %s", r.Done, top.uri)
	}
}

// TestAttributedReviews has the artifacts of a subagent and of its main agent for one task,
// whose records name the main agent. They are candidates for each other, and the lists of what
// waits for a review and of candidates have both names.
func TestAttributedReviews(t *testing.T) {
	const id = "2823d1df-720a-4c31-ac55-ae8ba7260001"
	m := newMachine(t)
	main, sub := m.claude(id, "", m.repo), m.claude(id, "a1b2c3", m.repo)
	shell := handoff.Producer{Harness: "claude-code", Session: id, Thread: main.uri, TaskID: "t1"}
	for i, a := range []*agent{main, sub} {
		name := fmt.Sprintf("f%d.md", i)
		writeFile(t, filepath.Join(m.repo, name), name)
		a.publish(shell, handoff.Draft{Path: name, Channel: "x", AskReview: true})
	}
	m.save()
	set := thread.NewSet(all.Drivers(), m.getenv, m.home)
	w, err := workspace.Open(m.repo, workspace.Options{Getenv: m.getenv, Threads: set,
		Now: func() time.Time { return m.at.Add(time.Minute) }})
	must(t, err)
	defer w.Close()
	waiting, err := w.Reviews().Waiting(t.Context(), handoff.ArtifactQuery{})
	must(t, err)
	found, err := w.Reviews().Candidates(set).Compare(t.Context(), []string{waiting.Artifacts[0].ID})
	must(t, err)
	want := []string{"builder", "claude-code"}
	var names, by []string
	for _, a := range waiting.Artifacts {
		names = append(names, a.PublishedBy().Name())
	}
	for _, c := range found.Candidates {
		by = append(by, c.By)
	}
	if !slices.Equal(names, want) || !slices.Equal(by, want) {
		t.Errorf("waiting %v, candidates %v, want %v", names, by, want)
	}
}

// TestAttributedHistory has three artifacts of a subagent, each made from the one before, whose
// records name its main agent. The history, and the hops of why for the artifact, its input and
// what was made from it, name the subagent.
func TestAttributedHistory(t *testing.T) {
	const id = "2823d1df-720a-4c31-ac55-ae8ba7260001"
	m := newMachine(t)
	main, sub := m.claude(id, "", m.repo), m.claude(id, "a1b2c3", m.repo)
	shell := handoff.Producer{Harness: "claude-code", Session: id, Thread: main.uri}
	ids := []string{}
	for i := range 3 {
		d := handoff.Draft{Path: fmt.Sprintf("f%d.md", i), Channel: "x"}
		if i > 0 {
			d.Parents = ids[i-1:]
		}
		writeFile(t, filepath.Join(m.repo, d.Path), d.Path)
		ids = append(ids, sub.publish(shell, d))
	}
	m.save()
	w, err := workspace.Open(m.repo, workspace.Options{Getenv: m.getenv,
		Threads: thread.NewSet(all.Drivers(), m.getenv, m.home)})
	must(t, err)
	defer w.Close()
	found, _ := m.why(m.repo, ids[1])
	for _, h := range found.Hops {
		if slices.Contains(ids, h.Ref) && h.Kind != trace.HopCost && h.Agent != "builder" {
			t.Errorf("why has %s %s by %q", h.Kind, h.Ref, h.Agent)
		}
	}
	history, err := w.History(t.Context(), ids[1])
	must(t, err)
	if a := history.Artifacts; len(a) != 1 || a[0].PublishedBy().Agent != "builder" {
		t.Errorf("the history has %d artifacts, or another agent than builder", len(a))
	}
}
