// Package copilot reads the sessions of GitHub Copilot CLI.
//
// A session is the directory session-state/ID in the home directory of the tool,
// ~/.copilot or $COPILOT_HOME. Its events.jsonl has one event per line; before
// version 1.0 it was the file session-state/ID.jsonl. A subagent runs in the session
// of its parent: its events are in the same file, with an agentId.
//
// session-store.db has the requests of all sessions. They count where the events record none, as
// those of version 1.0.68.
//
// The events are described by the public github/copilot-sdk
// (nodejs/src/generated/session-events.ts); docs/threads.md lists the facts this
// package relies on, which were found in published sessions.
package copilot

import (
	"bytes"
	"cmp"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// Driver returns the driver of GitHub Copilot CLI.
func Driver() thread.Driver {
	const name, env = "copilot", "COPILOT_HOME"
	return thread.Driver{
		Name: name, Env: env, ID: thread.UUIDs, Roots: thread.Home(env, ".copilot"),
		Beside: []string{"workspace.yaml"},
		Open: engine.Open(engine.Program{Name: name, Env: env, Open: open, Inside: []string{`"agentId":`},
			Stores: []engine.Store{{Pattern: "session-state/{id}/" + events}, {Pattern: "session-state/{id}.jsonl"}}}),
	}
}

const events = "events.jsonl"

// headLen is how much of a file is read for its first event.
const headLen = 16 << 10

// open sets the metadata of a session from its first event.
func open(w *thread.Walk, _ *engine.Found, t *thread.Thread) {
	t.Reader = &engine.Reader{Source: source(t.Source), New: decoder(t.Source, t.ID, "")}
	for line := range bytes.Lines(w.Head(t.Source, headLen)) {
		v := jsonl.Value(line)
		if !v.Get("type").Is("session.start") {
			continue
		}
		data := v.Get("data")
		at := data.Get("context")
		t.Cwd, t.Branch, t.Commit = at.Get("cwd").Text(), at.Get("branch").Text(), at.Get("headCommit").Text()
		t.Repository, t.Version = at.Get("repository").Text(), data.Get("copilotVersion").Text()
		t.Started = data.Get("startTime").Time()
		if id := thread.LowerUUID(data.Get("sessionId").Text()); id != t.ID && id != "" {
			t.WarnID(t.ID, id)
		}
		break
	}
	if filepath.Base(t.Source) == events {
		t.Title = title(w.Head(filepath.Join(filepath.Dir(t.Source), "workspace.yaml"), headLen))
	}
}

// title returns the name in a workspace.yaml, which is on one line.
func title(yaml []byte) string {
	for line := range bytes.Lines(yaml) {
		name, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "name: ")
		if !ok {
			continue
		}
		if quoted, ok := strings.CutPrefix(name, "'"); ok {
			return strings.ReplaceAll(strings.TrimSuffix(quoted, "'"), "''", "'")
		}
		if name[:1] == `"` {
			return cmp.Or(jsonl.Value(name).Text(), name)
		}
		return name
	}
	return ""
}
