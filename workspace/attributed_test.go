package workspace_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/trace/pullrequest"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/lineage"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/news"
	"github.com/agent-handoff/handoff/workspace/work"
)

// TestAttributed shows artifacts whose records name the main thread, a subagent by the
// ID of its shells, and a thread without a transcript.
func TestAttributed(t *testing.T) {
	const session, codex, child = "2823d1df-720a-4c31-ac55-ae8ba7260001", "019c871c-b1f9-7f60-9c4f-000000000001",
		"019c871c-b1f9-7f60-9c4f-000000000002"
	const copilot, agentID, shell = "2823d1df-720a-4c31-ac55-ae8ba7260003", "e665cec9-903f-4916-b8f8-f6b61c9263a3",
		"5daa0bc7-5967-4125-8f70-45c7f3a6fc55"
	m := newMachine(t)
	m.sh(m.repo, "echo a > a.md; echo b > b.md; echo c > c.md; echo d > d.md; echo e > e.md; git add .; git commit -qm base")
	main, sub := m.claude(session, "", m.repo), m.claude(session, "a1b2c3", m.repo)
	m.codexThread(codex, "", m.repo)
	worker := m.codexThread(child, codex, m.repo)
	worker.item("turn_context", object{"model": "gpt-5"})
	used := object{"input_tokens": 1000, "output_tokens": 10, "total_tokens": 1010}
	worker.item("event_msg", object{"type": "token_count",
		"info": object{"total_token_usage": used, "last_token_usage": used}})

	ids := map[string]string{
		"by": sub.publish(handoff.Producer{Harness: "claude-code", Session: session, Thread: main.uri},
			handoff.Draft{Path: "a.md", Channel: "a"}),
		"codex": worker.publish(handoff.Producer{Harness: "codex", Session: child, Thread: "agents://codex/" + child},
			handoff.Draft{Path: "b.md", Channel: "b"}),
		"copilot": main.publish(handoff.Producer{Harness: "copilot-cli", Thread: "agents://copilot/" + shell},
			handoff.Draft{Path: "c.md", Channel: "c"}),
		"absent": main.publish(handoff.Producer{Harness: "codex", Thread: "agents://codex/" + session},
			handoff.Draft{Path: "d.md", Channel: "d"}),
		"person": m.published("e.md"),
	}
	main.call("Agent", object{"prompt": "publish a.md"}, ids["by"], false)
	m.copilot(copilot, agentID, shell)
	m.save()

	set := thread.NewSet(all.Drivers(), m.getenv, m.home)
	w, err := workspace.Open(m.repo, workspace.Options{Getenv: m.getenv, Threads: set})
	must(t, err)
	defer w.Close()
	for name, want := range map[string]string{
		"by": `{"source":"transcript","thread":"` + sub.uri + `","session":"` + session +
			`","agent":"builder","model":{"id":"claude-opus-4-8"}}`,
		"codex": `{"source":"transcript","thread":"` + worker.uri + `","session":"` + codex +
			`","agent":"worker","model":{"provider":"openai","id":"gpt-5"}}`,
		"copilot": `{"source":"transcript","thread":"agents://copilot/` + copilot + "/" + agentID + `","session":"` + copilot +
			`","agent":"reviewer","model":{"provider":"p","id":"m"}}`,
		"absent": "no thread",
		"person": "",
	} {
		shown, err := w.Show(t.Context(), ids[name], false)
		must(t, err)
		must(t, w.AddTranscripts(t.Context(), set, &shown))
		got := ""
		if by := shown.Artifact.Attributed; by != nil {
			uri, err := thread.ParseURI(by.Thread)
			must(t, err)
			if _, err := set.Open(t.Context(), uri); err != nil {
				t.Errorf("%s: %s can't be opened: %v", name, by.Thread, err)
			}
			by.Thread, _, _ = strings.Cut(by.Thread, "#")
			b, err := json.Marshal(by)
			must(t, err)
			got = string(b)
		}
		if uri, err := thread.ParseURI(shown.Artifact.Producer.Thread); err == nil && !shown.NoThread {
			if _, err := set.Open(t.Context(), uri); err != nil {
				t.Errorf("%s: the recorded %s can't be opened: %v", name, uri, err)
			}
		}
		if shown.NoThread {
			got += "no thread"
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// TestAttributedEverywhere has an artifact that the shell of a subagent of Claude Code
// published as its main agent. Lists, groups, costs and receipts have the same producer as
// its own page, before there is an index of threads, and after a later publication.
func TestAttributedEverywhere(t *testing.T) {
	const session = "2823d1df-720a-4c31-ac55-ae8ba7260001"
	m := newMachine(t)
	m.sh(m.repo, "echo a > a.md; echo b > b.md; echo c > c.md; git add .; git commit -qm base")
	main, sub := m.claude(session, "", m.repo), m.claude(session, "a1b2c3", m.repo)
	shell := handoff.Producer{Harness: "claude-code", Session: session, Thread: main.uri}
	own := main.publish(shell, handoff.Draft{Path: "b.md", Channel: "x"})
	m.published("c.md")
	by := sub.publish(shell, handoff.Draft{Path: "a.md", Channel: "x"})
	main.call("Agent", object{"prompt": "publish a.md"}, by, false)
	m.save()

	set := thread.NewSet(all.Drivers(), m.getenv, m.home)
	open := func() *workspace.Workspace {
		w, err := workspace.Open(m.repo, workspace.Options{Getenv: m.getenv, Now: func() time.Time { return m.at },
			Threads: set})
		must(t, err)
		return w
	}
	check := func(id string) {
		t.Helper()
		w := open()
		defer w.Close()
		page, err := w.List(t.Context(), workspace.ListOptions{})
		must(t, err)
		names := map[string]string{}
		for _, a := range page.Artifacts {
			names[a.ID] = a.PublishedBy().Name()
		}
		if names[id] != "builder" || names[own] != "claude-code" {
			t.Errorf("the list has %v", names)
		}
		for _, limit := range []int{0, 1} {
			f := workspace.ListOptions{Filter: workspace.Filter{Producer: map[string]string{"agent": "builder"}}, Limit: limit}
			page, err = w.List(t.Context(), f)
			must(t, err)
			if len(page.Artifacts) == 0 || page.Artifacts[0].ID != id {
				t.Errorf("--agent builder: got %v, want %s", page.Artifacts, id)
			}
		}
		found, err := w.Search(t.Context(), workspace.SearchOptions{Text: "md"})
		must(t, err)
		for _, match := range found.Matches {
			if a := match.Artifact; a.ID == id && a.PublishedBy().Agent != "builder" {
				t.Errorf("search has %s by %s", id, a.PublishedBy().Name())
			}
		}
		shown, err := w.Show(t.Context(), id, false)
		must(t, err)
		must(t, w.AddTranscripts(t.Context(), set, &shown))
		receipt := ""
		for _, row := range shown.Receipt.Tasks {
			receipt += fmt.Sprint(row.Agent, row.Artifacts)
		}
		if by := shown.Artifact.Attributed; by == nil || by.Agent != "builder" || !strings.HasPrefix(receipt, "builder[") ||
			!strings.Contains(receipt, id) {
			t.Errorf("show has %+v and the receipt %s", by, receipt)
		}
	}
	check(by)
	w := open()
	r, err := w.Work(set).Cost(t.Context(), work.CostOptions{By: "agent"})
	w.Close()
	must(t, err)
	got := map[string]int{}
	for _, row := range r.Rows {
		got[row.Key] = row.Artifacts
	}
	if want := map[string]int{"builder": 1, "claude-code": 1}; !maps.Equal(got, want) {
		t.Errorf("cost by agent has artifacts %v, want %v", got, want)
	}
	again := sub.publish(shell, handoff.Draft{Path: "c.md", Channel: "x"})
	m.save()
	check(again)
}

// TestAttributedEvents has an artifact that a subagent published as its main agent, and its
// revision. Events, lineage, the comment on a pull request and news have the name of the
// subagent. An event of a publication is not delayed until transcripts are read.
func TestAttributedEvents(t *testing.T) {
	const session = "2823d1df-720a-4c31-ac55-ae8ba7260001"
	m := newMachine(t)
	m.sh(m.repo, "echo a > a.md; git add .; git commit -qm base")
	main, sub := m.claude(session, "", m.repo), m.claude(session, "a1b2c3", m.repo)
	shell := handoff.Producer{Harness: "claude-code", Session: session, Thread: main.uri}
	id := sub.publish(shell, handoff.Draft{Path: "a.md", Channel: "x", AskReview: true})
	main.call("Agent", object{"prompt": "publish a.md"}, id, false)
	m.save()

	set := thread.NewSet(all.Drivers(), m.getenv, m.home)
	published := m.at
	open := func() *workspace.Workspace {
		w, err := workspace.Open(m.repo, workspace.Options{Getenv: m.getenv, Now: func() time.Time { return m.at },
			Threads: set})
		must(t, err)
		return w
	}
	events := func() map[string]string {
		w := open()
		defer w.Close()
		names := map[string]string{}
		note := func(where string, a handoff.Artifact, err error) {
			must(t, err)
			names[where] = a.PublishedBy().Name()
		}
		a, err := w.Wait(t.Context(), workspace.WatchOptions{})
		note("wait", a, err)
		a, err = w.Wait(t.Context(), workspace.WatchOptions{After: "0"})
		note("wait --after", a, err)
		there, _, err := workspace.Barrier{Refs: []string{id}}.Wait(t.Context(), w)
		note("wait REF", there[0], err)
		for a, err := range w.Watch(t.Context(), workspace.WatchOptions{After: "0"}) {
			note("watch", a, err)
			break
		}
		return names
	}
	want := func(got map[string]string, name string) {
		t.Helper()
		for where, is := range got {
			if is != name {
				t.Errorf("%s has %q, want %q", where, is, name)
			}
		}
	}
	m.at = published
	want(events(), "claude-code")
	if _, err := os.Stat(filepath.Join(m.home, "cache/handoff/threads")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an event of a new artifact reads transcripts: %v", err)
	}
	m.at = published.Add(time.Minute)
	want(events(), "builder")

	w := open()
	defer w.Close()
	near, err := w.Surrounding(t.Context(), id, lineage.NearOptions{Hops: 1, Limit: 10})
	must(t, err)
	behind, err := pullrequest.Find(t.Context(), w.Hub(), pullrequest.Request{Named: []string{id}})
	must(t, err)
	must(t, w.Work(set).Attribute(t.Context(), behind.Artifacts))
	report, err := w.News(set).Report(t.Context(), news.ReportOptions{})
	must(t, err)
	board, err := report.Board("agent")
	must(t, err)
	got := map[string]string{"lineage": near.Nodes[0].Agent, "the need": "none", "the lane": "none"}
	for _, n := range report.Needs {
		if n.Ref == id {
			got["the need"] = n.By
		}
	}
	for _, l := range board {
		if len(l.Review) > 0 {
			got["the lane"] = l.Key
		}
	}
	want(got, "builder")
	if comment := pullrequest.Comment(behind); !strings.Contains(comment, "by `builder`") {
		t.Errorf("the comment has no builder:\n%s", comment)
	}
}

// TestCostBehind warns while artifacts of subagents may count to their main agents, because
// many transcripts are not in the index of threads.
func TestCostBehind(t *testing.T) {
	const session = "2823d1df-720a-4c31-ac55-ae8ba7260001"
	m := newMachine(t)
	m.sh(m.repo, "echo a > a.md; git add .; git commit -qm base")
	main := m.claude(session, "", m.repo)
	for i := range threadindex.Quick + 1 {
		m.codexThread(fmt.Sprintf("019c871c-b1f9-7f60-9c4f-%012d", i), "", m.repo)
	}
	set := thread.NewSet(all.Drivers(), m.getenv, m.home)
	warned := func() bool {
		w := m.open(m.repo)
		defer w.Close()
		r, err := w.Work(set).Cost(t.Context(), work.CostOptions{By: "agent"})
		must(t, err)
		return slices.ContainsFunc(r.Warnings, func(s string) bool { return strings.Contains(s, "since they were indexed") })
	}
	m.save()
	if m.published("a.md"); warned() {
		t.Error("warned without an artifact of a thread")
	}
	main.publish(handoff.Producer{Harness: "claude-code", Session: session, Thread: main.uri},
		handoff.Draft{Path: "a.md", Channel: "x"})
	m.save()
	if !warned() {
		t.Errorf("no warning with %d transcripts that are not indexed", threadindex.Quick+2)
	}
	m.why(m.repo, "a.md")
	if warned() {
		t.Error("warned with a complete index")
	}
}

// TestNestedRun publishes in a session that a thread opened for another agent: the receipt
// does not name the thread after that agent.
func TestNestedRun(t *testing.T) {
	const uuid = "2823d1df-720a-4c31-ac55-ae8ba7260001"
	m := newMachine(t)
	m.sh(m.repo, "echo a > a.md; git add .; git commit -qm base")
	main := m.claude(uuid, "", m.repo)
	w := m.open(m.repo)
	in := w.As(workspace.Caller{Dir: m.repo, Producer: handoff.Producer{Harness: "claude-code", Thread: main.uri}})
	opened, err := in.Sessions().Open(t.Context(), session.OpenOptions{Agent: handoff.SessionAgent{Name: "nested"},
		Workflow: handoff.SessionWorkflow{Name: "w"}})
	must(t, err)
	w.Close()
	id := main.publish(handoff.Producer{Harness: "claude-code", Agent: "nested", Session: opened.ID, Thread: main.uri},
		handoff.Draft{Path: "a.md", Channel: "x"})
	m.save()

	w = m.open(m.repo)
	defer w.Close()
	shown, err := w.Show(t.Context(), id, false)
	must(t, err)
	must(t, w.AddTranscripts(t.Context(), thread.NewSet(all.Drivers(), m.getenv, m.home), &shown))
	if tasks := shown.Receipt.Tasks; len(tasks) != 1 || tasks[0].Thread != main.uri || tasks[0].Agent != "" {
		t.Errorf("got %+v, want the thread without an agent", tasks)
	}
}

// published returns the ID of a file that a person publishes.
func (m *machine) published(path string) string {
	w := m.open(m.repo)
	defer w.Close()
	done, err := w.As(workspace.Caller{Dir: m.repo}).Publish(m.t.Context(),
		handoff.Draft{Path: path, Channel: "person"})
	must(m.t, err)
	return done.Artifact.ID
}

// copilot records a session of Copilot CLI with a subagent, whose shells have an ID of
// their own.
func (m *machine) copilot(session, agent, shell string) {
	path := filepath.Join(".copilot/session-state", session, "events.jsonl")
	event := func(kind, by string, data object) {
		e := object{"type": kind, "timestamp": m.tick(), "id": kind + by, "data": data}
		if by != "" {
			e["agentId"] = by
		}
		m.record(path, e)
	}
	event("session.start", "", object{"sessionId": session, "copilotVersion": "1.0.102", "context": object{"cwd": m.repo}})
	event("user.message", "", object{"content": "design it"})
	event("subagent.started", agent, object{"toolCallId": "call1", "agentName": "task", "agentDisplayName": "reviewer"})
	event("user.message", agent, object{"content": "review it"})
	event("session.usage_record", agent, object{"usage": object{"model": "m", "modelProvider": "p", "inputTokens": 5,
		"outputTokens": 1, "accounting": object{"sourceSessionId": shell}}})
}
