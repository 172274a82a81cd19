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
	"context"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

const (
	name   = "kimi"
	env    = "KIMI_CODE_HOME"
	prefix = "session_" // of the IDs of Kimi Code, before a UUID
	wire   = "wire.jsonl"
)

// Driver returns the driver of Kimi Code.
func Driver() thread.Driver {
	return thread.Driver{
		Name: name, Env: env, ID: id, Roots: roots,
		Beside: []string{"state.json", "../../state.json"},
		Open:   engine.Open(engine.Program{Name: name, Env: env, Find: find}),
	}
}

func id(s string) (string, bool) {
	if rest, ok := strings.CutPrefix(s, prefix); ok {
		return prefix + thread.LowerUUID(rest), rest != ""
	}
	return thread.LowerUUID(s), thread.IsUUID(s)
}

func roots(getenv func(string) string, home string) []string {
	return append(thread.Home(env, ".kimi-code")(getenv, home), thread.Home("KIMI_SHARE_DIR", ".kimi")(getenv, home)...)
}

// find finds the journals of all agents, and the sessions of Kimi CLI.
func find(_ context.Context, w *thread.Walk, roots []string) (list []*engine.Found, err error) {
	for _, root := range roots {
		sessions := filepath.Join(root, "sessions")
		for _, workspace := range w.ReadDir(sessions) {
			in := filepath.Join(sessions, workspace.Name())
			for _, e := range w.ReadDir(in) {
				if !e.Type().IsRegular() {
					list = append(list, session(w, filepath.Join(in, e.Name()))...)
				}
			}
		}
	}
	return list, nil
}

// session returns the transcripts in the directory of a session.
func session(w *thread.Walk, dir string) (list []*engine.Found) {
	base := filepath.Base(dir)
	agents := filepath.Join(dir, "agents")
	for _, e := range w.ReadDir(agents) {
		path := filepath.Join(agents, e.Name(), wire)
		if w.Stat(path) == nil {
			continue
		}
		f := &engine.Found{ID: base, Alias: strings.TrimPrefix(base, prefix), Path: path}
		if e.Name() != mainAgent {
			f = &engine.Found{ID: e.Name(), Parent: base, Path: path, Local: true,
				Proof: []string{"the journal is in the directory of the session"}}
		}
		f.Open = func(w *thread.Walk, t *thread.Thread) { open(w, t, dir, filepath.Base(filepath.Dir(t.Source))) }
		list = append(list, f)
	}
	if path := filepath.Join(dir, "context.jsonl"); list == nil && w.Stat(path) != nil {
		list = append(list, &engine.Found{ID: thread.LowerUUID(base), Path: path, Open: openOld})
	}
	return list
}

const (
	mainAgent = "main"
	stateLen  = 256 << 10 // bytes of a state.json that are read
	headLen   = 4 << 10
)

// open sets the metadata of an agent from the state of its session.
func open(w *thread.Walk, t *thread.Thread, dir, agent string) {
	state := jsonl.Value(w.Head(filepath.Join(dir, "state.json"), stateLen))
	t.Title = state.Get("title").Text()
	t.Cwd = cmp.Or(state.Get("cwd").Text(), state.Get("workDir").Text())
	t.Archived = state.Get("archived").True()
	if t.Parent != "" {
		t.Title, t.AgentRole = "", state.Get("agents", agent, "labels", "profileName").Text()
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
