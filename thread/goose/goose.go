// Package goose reads the sessions of Goose.
//
// Sessions and messages are rows of the SQLite database sessions/sessions.db in the
// data directory of the tool, ~/.local/share/goose, $XDG_DATA_HOME/goose or
// $GOOSE_PATH_ROOT/data. Before, a session was sessions/ID.jsonl there: a line with its
// description, and one for each message.
//
// The schema and the parts of a message are described by the public block/goose
// (crates/goose/src/session/session_manager.rs and migrations.rs); docs/threads.md lists
// the facts this package relies on.
package goose

import (
	"bytes"
	"cmp"
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

const (
	name = "goose"
	env  = "GOOSE_PATH_ROOT"
)

// Driver returns the driver of Goose.
func Driver() thread.Driver {
	return thread.Driver{
		Name: name, Env: env, ID: id, Roots: roots,
		Unverified: "the format is from the public source; the one published database has no messages",
		Open: engine.Open(engine.Program{Name: name, Env: env, Find: find,
			Stores: []engine.Store{{Pattern: "sessions/{id}.jsonl", Rank: 1, Open: openFile}}}),
	}
}

// id reports whether s has the form DATE_NUMBER.
func id(s string) (string, bool) {
	const date = "20060102_"
	if len(s) <= len(date) {
		return s, false
	}
	_, err := time.Parse(date, s[:len(date)])
	return s, err == nil && strings.Trim(s[len(date):], "0123456789") == ""
}

func roots(getenv func(string) string, home string) []string {
	if dir := getenv(env); dir != "" {
		return []string{filepath.Join(dir, "data")}
	}
	return []string{thread.DataHome(getenv, home, name)}
}

var sessions = engine.Table{
	Name: "sessions", Need: []string{"id"}, Order: "created_at DESC, rowid DESC",
	Want: []string{
		"name", "description", "session_type", "working_dir", "created_at", "updated_at", "archived_at", "parent_session_id",
		"provider_name", "model_config_json",
		"accumulated_input_tokens", "accumulated_output_tokens", "accumulated_cache_read_tokens",
		"accumulated_cache_write_tokens", "accumulated_cost",
	},
}

var messages = engine.Table{
	Name: "messages", Need: []string{"session_id", "role", "content_json"}, Where: "session_id = ?", Order: "rowid",
	Want: []string{"created_timestamp", "message_id", "metadata_json"},
}

// find finds the sessions of the database, which are preferred to the files of old versions.
func find(ctx context.Context, w *thread.Walk, roots []string) (list []*engine.Found, err error) {
	for _, root := range roots {
		if path := filepath.Join(root, "sessions", "sessions.db"); w.Stat(path) != nil {
			err = engine.Database(path).Each(ctx, sessions, nil,
				func(row jsonl.Value) { list = append(list, found(row, path)) })
		}
	}
	return list, err
}

// found returns a session of the database. Its parent is recorded in newer versions
// only.
func found(row jsonl.Value, path string) *engine.Found {
	f := &engine.Found{ID: row.Get("id").Text(), Path: path, Parent: row.Get("parent_session_id").Text(),
		Modified: clock(row.Get("updated_at").Text())}
	if f.Parent == f.ID {
		f.Parent = ""
	}
	if f.Parent != "" {
		f.Proof = []string{"sessions.parent_session_id is the parent"}
	}
	switch row.Get("session_type").Text() {
	case "sub_agent", "hidden":
		f.Hidden = true
	}
	f.Open = func(_ *thread.Walk, t *thread.Thread) {
		t.Title = cmp.Or(row.Get("name").Text(), row.Get("description").Text())
		t.Cwd, t.Started, t.Archived = row.Get("working_dir").Text(), clock(row.Get("created_at").Text()),
			row.Get("archived_at").Text() != ""
		t.Reader = engine.SessionReader(engine.Database(path), sessions, messages, f.ID,
			func(s *engine.Scan) engine.Decoder { return &decode{Scan: s, session: row} })
	}
	return f
}

// clock returns a time as SQLite writes it, in UTC.
func clock(s string) time.Time {
	t, err := time.Parse(time.DateTime, s)
	if err != nil {
		return time.Time{}
	}
	return t
}

const headLen = 64 << 10

// openFile sets the metadata of a session of an old version from its first line.
func openFile(w *thread.Walk, t *thread.Thread) {
	line, _, _ := bytes.Cut(w.Head(t.Source, headLen), []byte("\n"))
	head := jsonl.Value(bytes.Clone(line))
	t.Title, t.Cwd = head.Get("description").Text(), head.Get("working_dir").Text()
	t.Reader = &engine.Reader{Source: engine.Lines(t.Source), New: func(s *engine.Scan) engine.Decoder {
		return &decode{Scan: s, session: head}
	}}
}
