// Package kimi reads the sessions of Kimi Code and of its predecessor, Kimi CLI.
//
// A session of Kimi Code is sessions/WORKSPACE/SESSION in the home directory of the
// tool, ~/.kimi-code or $KIMI_CODE_HOME. Each of its agents has a journal,
// agents/AGENT/wire.jsonl; main is the session, the others are its subagents, as
// state.json describes. A session of Kimi CLI is sessions/HASH/ID/context.jsonl in
// ~/.kimi or $KIMI_SHARE_DIR.
//
// The journal is described by the public MoonshotAI/kimi-code
// (packages/agent-core-v2/docs/wire-manifest.d.ts), the older format by
// MoonshotAI/kimi-cli (docs/zh/customization/wire-mode.md). docs/threads.md lists the
// facts this package relies on.
package kimi

import (
	"bytes"
	"cmp"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

const prefix = "session_" // of the IDs of Kimi Code, before a UUID

// Driver returns the driver of Kimi Code.
func Driver() thread.Driver {
	const name, env = "kimi", "KIMI_CODE_HOME"
	roots := func(getenv func(string) string, home string) []string {
		return append(thread.Home(env, ".kimi-code")(getenv, home), thread.Home("KIMI_SHARE_DIR", ".kimi")(getenv, home)...)
	}
	return thread.Driver{
		Name: name, Env: env, ID: id, Roots: roots,
		Beside: []string{"state.json", "../../state.json"},
		Open: engine.Open(engine.Program{Name: name, Env: env, Open: open, Stores: []engine.Store{
			{Pattern: "sessions/*/{parent}/agents/{id}/wire.jsonl", Set: setAgent,
				Proof: "the journal is in the directory of the session"},
			{Pattern: "sessions/*/{id}/context.jsonl", Open: openOld},
		}}),
	}
}

func id(s string) (string, bool) {
	if rest, ok := strings.CutPrefix(s, prefix); ok {
		return prefix + thread.LowerUUID(rest), rest != ""
	}
	return thread.LowerUUID(s), thread.IsUUID(s)
}

// setAgent gives the main agent the ID of its session. The others have one within the session.
func setAgent(f *engine.Found) {
	if f.Local = f.ID != "main"; !f.Local {
		f.ID, f.Alias = f.Parent, strings.TrimPrefix(f.Parent, prefix)
		f.Parent, f.Proof = "", nil
	}
}

const (
	stateLen = 256 << 10 // bytes of a state.json that are read
	headLen  = 4 << 10
)

// open sets the metadata of an agent from the state of its session.
func open(w *thread.Walk, _ *engine.Found, t *thread.Thread) {
	agent := filepath.Dir(t.Source)
	dir := filepath.Dir(filepath.Dir(agent))
	state := jsonl.Value(w.Head(filepath.Join(dir, "state.json"), stateLen))
	t.Title = state.Get("title").Text()
	t.Cwd = cmp.Or(state.Get("cwd").Text(), state.Get("workDir").Text())
	t.Archived = state.Get("archived").True()
	if t.Parent != "" {
		t.Title, t.AgentRole = "", state.Get("agents", filepath.Base(agent), "labels", "profileName").Text()
	}
	for line := range bytes.Lines(w.Head(t.Source, headLen)) {
		if v := jsonl.Value(line); v.Get("type").Is("metadata") {
			t.Started = v.Get("created_at").Timestamp()
		}
		break
	}
	t.Reader = &engine.Reader{Source: engine.Lines(t.Source), New: func(s *engine.Scan) engine.Decoder {
		return &decode{Scan: s, models: map[string]string{}}
	}}
}
