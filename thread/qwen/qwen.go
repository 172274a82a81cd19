// Package qwen reads the chats of Qwen Code.
//
// A chat is projects/PROJECT/chats/ID.jsonl in the home directory of the tool, ~/.qwen
// or $QWEN_HOME. Its records have an envelope like that of Claude Code and messages
// like those of Gemini CLI. A subagent is projects/PROJECT/subagents/ID/agent-AGENT.jsonl.
//
// The records are described by the public QwenLM/qwen-code
// (packages/core/src/services/chatRecordingService.ts); docs/threads.md lists the
// facts this package relies on.
package qwen

import (
	"bytes"
	"path/filepath"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// Driver returns the driver of Qwen Code.
func Driver() thread.Driver {
	const name, env = "qwen", "QWEN_HOME"
	return thread.Driver{
		Name: name, Env: env, ID: thread.UUIDs, Roots: thread.Home(env, ".qwen"), Resume: []string{name, "--resume"},
		Unverified: "tested with sessions that were recorded with a scripted server, not with one of a person",
		Open: engine.Open(engine.Program{Name: name, Env: env, Open: open, Alone: true, Stores: []engine.Store{
			{Pattern: "projects/*/chats/{id}.jsonl"},
			{Pattern: "projects/*/chats/archive/{id}.jsonl"},
			{Pattern: "projects/*/subagents/{parent}/agent-{id}.jsonl",
				Proof: "the transcript is in the directory of the session"},
		}}),
	}
}

// partLen is how much of the start and of the end of a chat is read for metadata.
const partLen = 32 << 10

// open sets the metadata of a chat from its first records, and its title from the
// last one near its start or end.
func open(w *thread.Walk, _ *engine.Found, t *thread.Thread) {
	for line := range bytes.Lines(w.Head(t.Source, partLen)) {
		v := jsonl.Value(line)
		if t.Started.IsZero() {
			t.Started, t.Cwd = v.Get("timestamp").Time(), v.Get("cwd").Text()
			t.Branch, t.Version = v.Get("gitBranch").Text(), v.Get("version").Text()
			t.AgentName = v.Get("agentName").Text()
			if id := thread.LowerUUID(v.Get("sessionId").Text()); id != t.ID && t.Parent == "" && id != "" {
				t.WarnID(t.ID, id)
			}
		}
		setTitle(t, v)
	}
	for line := range bytes.Lines(w.Tail(t.Source, partLen)) {
		setTitle(t, jsonl.Value(line))
	}
	dir := filepath.Dir(t.Source)
	if t.Archived = filepath.Base(dir) == "archive"; t.Archived {
		dir = filepath.Dir(dir)
	}
	d := decode{subagent: t.Parent != "", agents: filepath.Join(filepath.Dir(dir), "subagents", t.ID)}
	t.Reader = &engine.Reader{Source: engine.Lines(t.Source), New: func(s *engine.Scan) engine.Decoder {
		d := d
		d.Scan = s
		return &d
	}}
}

func setTitle(t *thread.Thread, v jsonl.Value) {
	if title := v.Get("systemPayload", "customTitle").Text(); title != "" && v.Get("subtype").Is("custom_title") {
		t.Title = title
	}
}
