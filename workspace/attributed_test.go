package workspace_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
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
	m.why(m.repo, "a.md") // which makes the index

	w := m.open(m.repo)
	defer w.Close()
	set := thread.NewSet(all.Drivers(), m.getenv, m.home)
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
