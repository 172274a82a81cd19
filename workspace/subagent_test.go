package workspace_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/workspace"
)

// TestOneSubagent has subagents that hooks, a tool and a shell record: each has one name, one
// session and one unit of work.
func TestOneSubagent(t *testing.T) {
	const root, sub = "019c871c-b1f9-7f60-9c4f-000000000001", "019c871c-b1f9-7f60-9c4f-000000000002"
	m := newMachine(t)
	m.sh(m.repo, "echo a > a.md; git add .; git commit -qm base")
	m.codexThread(root, "", m.repo)
	m.codexThread(sub, root, m.repo) // which names it worker
	m.save()
	w := m.open(m.repo)
	defer w.Close()
	_, err := w.Publish(t.Context(), handoff.Draft{Path: "a.md", Channel: "first"}) // which makes the workspace
	must(t, err)
	set := thread.NewSet(all.Drivers(), m.getenv, m.home)
	for _, tt := range []struct {
		harness, provider, kind, name string
		shell                         map[string]string
		client                        string
		meta                          map[string]any
	}{
		{"codex", "codex", "default", "worker", map[string]string{"CODEX_THREAD_ID": sub, "CODEX_SESSION_ID": root},
			"codex-mcp-client", map[string]any{"threadId": sub, "sessionId": root}},
		{"opencode", "opencode", "explore", "explore", map[string]string{"OPENCODE": "1", "OPENCODE_SESSION_ID": sub},
			"opencode", map[string]any{"ai.opencode/sessionID": sub, "ai.opencode/callID": "call1"}},
		{"kilo", "kilo", "explore", "explore", map[string]string{"KILO": "1", "OPENCODE": "1", "KILO_SESSION_ID": sub},
			"kilo", map[string]any{"ai.kilo/sessionID": sub, "ai.kilo/callID": "call1"}},
	} {
		event := trace.HookEvent{Harness: tt.harness, Provider: tt.provider, Session: root, Kind: trace.SessionStart}
		err := w.Hook(t.Context(), event, set, unsaid)
		must(t, err)
		event.Kind, event.Agent, event.AgentType, event.OwnThread = trace.AgentStart, sub, tt.kind, true
		err = w.Hook(t.Context(), event, set, unsaid)
		must(t, err)
		work, err := w.Hub().Work(t.Context(), tt.harness, sub)
		must(t, err)
		if work.Agent != tt.name {
			t.Errorf("%s: the hook recorded %q, want %q", tt.harness, work.Agent, tt.name)
		}
		getenv := func(name string) string { return tt.shell[name] }
		for by, c := range map[string]workspace.Caller{
			"shell": workspace.CallerFrom(m.repo, getenv, handoff.Producer{}),
			"tool": w.ToolCaller(t.Context(), m.repo, func(string) string { return "" }, tt.client,
				tt.meta),
		} {
			done, err := w.As(c).Publish(t.Context(),
				handoff.Draft{Path: filepath.Join(m.repo, "a.md"), Channel: tt.harness + by})
			must(t, err)
			p := done.Producer
			if p.Session != root || p.WorkID != sub || p.RunID != sub || p.Agent != tt.name ||
				p.Thread != "agents://"+tt.provider+"/"+sub {
				t.Errorf("%s, %s: got %+v, want %s in session %s, work %s", tt.harness, by, p, tt.name, root, sub)
			}
		}
		event.Kind, event.Message = trace.AgentEnd, "All of "+tt.harness+" is done."
		err = w.Hook(t.Context(), event, set, unsaid)
		must(t, err)
		page, err := w.Hub().Artifacts(t.Context(), handoff.ArtifactQuery{Channel: "handoff",
			Producer: map[string]string{"harness": tt.harness}})
		must(t, err)
		if len(page.Artifacts) != 1 || page.Artifacts[0].Producer.Agent != tt.name ||
			page.Artifacts[0].Producer.Session != root {
			t.Errorf("%s: the hook published %+v, want %s in session %s", tt.harness, page.Artifacts, tt.name, root)
		}
	}
}

// TestSubagentSession traces a file that a child thread of Codex published: the child is
// its thread, and the only session is that of the main thread.
func TestSubagentSession(t *testing.T) {
	const root, sub = "019c871c-b1f9-7f60-9c4f-000000000001", "019c871c-b1f9-7f60-9c4f-000000000002"
	m := newMachine(t)
	m.sh(m.repo, "echo a > a.md; git add .; git commit -qm base")
	m.codexThread(root, "", m.repo)
	child := m.codexThread(sub, root, m.repo)
	child.publish(handoff.Producer{Harness: "codex", Session: root, RunID: sub, WorkID: sub,
		Thread: "agents://codex/" + sub}, handoff.Draft{Path: "a.md", Channel: "x"})
	m.save()
	found, _ := m.why(m.repo, "a.md")
	var sessions, published []string
	for _, h := range found.Hops {
		switch h.Kind {
		case trace.HopSession:
			sessions = append(sessions, h.Ref)
		case trace.HopPublished:
			published = append(published, h.Agent)
		}
	}
	if !slices.Equal(sessions, []string{root}) || !slices.Equal(published, []string{"worker"}) {
		t.Errorf("got sessions %q and the publishers %q, want %q and worker", sessions, published, root)
	}
}
