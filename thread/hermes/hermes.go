// Package hermes reads the sessions of Hermes Agent.
//
// Sessions and messages are rows of the SQLite database state.db in the home directory
// of the tool, ~/.hermes or $HERMES_HOME, and in its profiles. A session may name a
// parent: as a subagent, as a branch, or as the continuation after a compression.
//
// The schema is described by the public NousResearch/hermes-agent
// (hermes_state_common.py); docs/threads.md lists the facts this package relies on.
package hermes

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

const (
	name = "hermes"
	env  = "HERMES_HOME"
)

// Driver returns the driver of Hermes Agent.
func Driver() thread.Driver {
	return thread.Driver{
		Name: name, Env: env, ID: id, Roots: thread.Home(env, ".hermes"),
		Open: engine.Open(engine.Program{Name: name, Env: env, Find: find}),
	}
}

// id reports whether s has the form DATE_TIME_SUFFIX.
func id(s string) (string, bool) {
	const form = "20060102_150405_"
	if len(s) <= len(form) {
		return s, false
	}
	_, err := time.Parse(form, s[:len(form)])
	return s, err == nil && strings.Trim(s[len(form):], "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}

var sessions = engine.Table{
	Name: "sessions", Need: []string{"id"}, Order: "started_at DESC, rowid DESC",
	Want: []string{
		"parent_session_id", "model", "model_config", "title", "cwd", "git_branch", "started_at", "ended_at", "end_reason",
		"archived", "session_key",
		"input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens", "api_call_count",
		"billing_provider", "estimated_cost_usd", "actual_cost_usd",
	},
}

var messages = engine.Table{
	Name: "messages", Need: []string{"session_id", "role", "content"}, Where: "session_id = ?", Order: "rowid",
	Want: []string{"tool_call_id", "tool_calls", "tool_name", "timestamp", "finish_reason", "reasoning",
		"reasoning_content", "_compressed_summary", "display_kind"},
}

// find finds the sessions in the databases of the tool and of its profiles.
func find(ctx context.Context, w *thread.Walk, roots []string) (list []*engine.Found, err error) {
	for _, root := range roots {
		dirs := []string{root}
		profiles := filepath.Join(root, "profiles")
		for _, e := range w.ReadDir(profiles) {
			if !e.Type().IsRegular() {
				dirs = append(dirs, filepath.Join(profiles, e.Name()))
			}
		}
		for _, dir := range dirs {
			if path := filepath.Join(dir, "state.db"); w.Stat(path) != nil {
				found, failed := database(ctx, path)
				list, err = append(list, found...), errors.Join(err, failed)
			}
		}
	}
	return list, err
}

// A session is a row of the table of sessions.
type session struct {
	jsonl.Value
	parent, end string
}

// continues reports whether a session is the same thread after its parent ended by
// reason: it did not start before. A delegated one is a subagent whatever its parent did.
func (s session) continues(parent session) bool {
	config := jsonl.Value(s.Get("model_config").Text())
	switch {
	case config.Get("_delegate_from").Kind() != jsonl.Absent:
		return false
	case config.Get("_branched_from").Kind() != jsonl.Absent:
		return true
	case parent.end != "compression" && parent.end != "branched":
		return false
	}
	return s.Get("started_at").Float() >= parent.Get("ended_at").Float()
}

func database(ctx context.Context, path string) (list []*engine.Found, err error) {
	var rows []session
	byID := map[string]session{}
	err = engine.Database(path).Each(ctx, sessions, nil, func(row jsonl.Value) {
		s := session{Value: row, parent: row.Get("parent_session_id").Text(), end: row.Get("end_reason").Text()}
		byID[row.Get("id").Text()] = s
		rows = append(rows, s)
	})
	for _, s := range rows {
		f := &engine.Found{ID: s.Get("id").Text(), Path: path}
		config := jsonl.Value(s.Get("model_config").Text())
		forked := ""
		switch {
		case s.parent == "" || s.parent == f.ID:
		case s.continues(byID[s.parent]):
			forked = s.parent
		case config.Get("_reset_from").Kind() != jsonl.Absent:
		default:
			f.Parent, f.Proof = s.parent, []string{"sessions.parent_session_id is the parent"}
		}
		f.Open = func(_ *thread.Walk, t *thread.Thread) { s.open(t, forked) }
		list = append(list, f)
	}
	return list, err
}

func (s session) open(t *thread.Thread, forked string) {
	t.Title, t.Cwd, t.Branch, t.ForkedFrom = s.Get("title").Text(), s.Get("cwd").Text(), s.Get("git_branch").Text(), forked
	t.Started, t.Archived = clock(s.Get("started_at")), s.Get("archived").Int() != 0
	t.Reader = engine.SessionReader(engine.Database(t.Source), sessions, messages, t.ID,
		func(scan *engine.Scan) engine.Decoder { return &decode{Scan: scan, session: s} })
}

// clock returns the time of a number of seconds with a fraction, the zero time for 0.
func clock(v jsonl.Value) time.Time {
	const latest = 1e11
	s := v.Float()
	if !(s > 0 && s < latest) {
		return time.Time{}
	}
	whole, fraction := math.Modf(s)
	return time.Unix(int64(whole), int64(fraction*1e6)*1000).UTC()
}
