// Package opencode reads the threads of OpenCode.
//
// Since version 1.2 a thread is rows of a SQLite database, in the tables session,
// message and part; the newest rows may be only in its write-ahead log. Before, it
// was JSON files for its session, messages and parts in the directory storage. Both
// are in $XDG_DATA_HOME/opencode, by default ~/.local/share/opencode. A part is an
// element of a message: a text, a reasoning, a tool call, or the end of a request.
// A subagent is a session that names its parent.
//
// The tool kept the old files when it moved to the database, so a thread may be in
// both; the database is preferred. The schema is undocumented. docs/threads.md lists
// the facts this package relies on, which were found in databases and files of
// versions 0.1 to 1.17 and in the public source of the tool.
package opencode

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

const (
	name     = "opencode"
	env      = "XDG_DATA_HOME"
	database = "opencode*.db" // each release channel has one
)

// A tool is OpenCode, or a fork that keeps its schema.
type tool struct{ name, database, override string }

var (
	original = tool{name, database, "OPENCODE_DB"}
	kilo     = tool{"kilo", "kilo*.db", "KILO_DB"}
)

// Driver returns the driver of OpenCode.
func Driver() thread.Driver {
	d := original.driver()
	d.Resume = []string{original.name, "--session"}
	return d
}

// Kilo returns the driver of Kilo, a fork that keeps the schema.
func Kilo() thread.Driver {
	d := kilo.driver()
	d.Unverified = "the format is from public programs that read it; no database is published"
	return d
}

func (t tool) driver() thread.Driver {
	return thread.Driver{
		Name: t.name, Env: env, Roots: t.roots, Database: t.name + ".db",
		ID:   func(s string) (string, bool) { return s, strings.HasPrefix(s, "ses_") && len(s) > len("ses_") },
		Open: func(roots []string) (thread.Provider, error) { return &provider{t, roots}, nil },
	}
}

// roots returns the data directory of the tool, after the database that its own
// variable names.
func (t tool) roots(getenv func(string) string, home string) []string {
	dir := thread.DataHome(getenv, home, t.name)
	switch db := getenv(t.override); {
	case db == "" || db == ":memory:":
		return []string{dir}
	case filepath.IsAbs(db):
		return []string{db, dir}
	default:
		return []string{filepath.Join(dir, db), dir}
	}
}

// A store contains sessions: a database, or a directory of files.
type store interface {
	// find returns a session, nil if it is unknown.
	find(ctx context.Context, id string) (*session, error)

	// all returns all sessions, including subagents.
	all(ctx context.Context) ([]*session, error)

	// children returns the sessions whose parent is id.
	children(ctx context.Context, id string) ([]*session, error)

	// messages calls yield with the messages of a session in order, and damaged
	// with a description of what can't be read. The error is one of yield, of ctx,
	// errChanged, or that the store can't be opened.
	messages(ctx context.Context, s *session, damaged func(string), yield func(message) error) error
}

// A session is the metadata of a thread. Its times are in milliseconds.
type session struct {
	store  store
	source string

	id, parent, title, dir, version, agent string
	created, updated, archived             int64
	reverted                               string // ID of the first undone message
	warnings                               []string
}

type provider struct {
	tool
	roots []string
}

// stores returns the stores in the roots, in order of preference, without opening
// them.
func (p *provider) stores(ctx context.Context) ([]store, error) {
	var list []store
	var trees []store
	seen := map[string]bool{}
	w := thread.NewWalk(ctx)
	for _, root := range p.roots {
		info := w.Stat(root)
		if info == nil {
			continue
		}
		paths := []string{root}
		if info.IsDir() {
			w.ReadDir(root) // for its error, which Glob ignores
			paths, _ = filepath.Glob(filepath.Join(escape(root), p.database))
			if dir := filepath.Join(root, "storage"); exists(dir) {
				trees = append(trees, tree(dir))
			}
		}
		for _, path := range paths {
			if !seen[path] {
				seen[path] = true
				list = append(list, sqlite(path))
			}
		}
	}
	return append(list, trees...), w.Err(p.name)
}

// escape returns a pattern that matches only path.
func escape(path string) string {
	if filepath.Separator == '\\' {
		return path // has no escapes and no such names
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Thread implements thread.Provider. A store that can't be read does not prevent
// reading a thread from another one.
func (p *provider) Thread(ctx context.Context, id string) (*thread.Thread, error) {
	var found *session
	var failed []error
	stores, err := p.stores(ctx)
	if err != nil {
		failed = append(failed, err)
	}
	for _, st := range stores {
		s, err := st.find(ctx, id)
		switch {
		case err != nil:
			failed = append(failed, err)
		case s == nil:
		case found == nil:
			found = s
		default:
			found.warnings = append(found.warnings, "there is another copy: "+s.source)
		}
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case found == nil && failed != nil:
		return nil, errors.Join(failed...)
	case found == nil:
		return nil, thread.NotFoundError(p.name, id, p.roots, env, ids(ctx, stores))
	}
	for _, err := range failed {
		found.warnings = append(found.warnings, err.Error())
	}
	return p.thread(found), nil
}

// ids returns the IDs of all sessions that can be read.
func ids(ctx context.Context, stores []store) (ids []string) {
	for _, st := range stores {
		sessions, _ := st.all(ctx) // for a hint only
		for _, s := range sessions {
			ids = append(ids, s.id)
		}
	}
	return ids
}

func (p *provider) thread(s *session) *thread.Thread {
	t := &thread.Thread{
		Provider: p.name, ID: s.id, Source: s.source, Title: s.title, Cwd: s.dir, Version: s.version, Parent: s.parent,
		Started: jsonl.Milliseconds(s.created), Modified: jsonl.Milliseconds(s.updated), Archived: s.archived > 0,
	}
	if s.parent != "" {
		t.AgentRole = s.agent
	}
	if info, err := os.Stat(s.source); err == nil && t.Modified.IsZero() {
		t.Modified = thread.ModTime(info)
	}
	t.Warnings = s.warnings
	t.Reader = &reader{session: s}
	return t
}

// Threads implements thread.Provider.
func (p *provider) Threads(ctx context.Context) iter.Seq2[*thread.Thread, error] {
	find := func() (list []*session, err error) {
		seen := map[string]bool{}
		stores, err := p.stores(ctx)
		for _, st := range stores {
			sessions, failed := st.all(ctx)
			err = errors.Join(err, failed)
			for _, s := range sessions {
				if !seen[s.id] && s.parent == "" {
					list = append(list, s)
				}
				seen[s.id] = true
			}
		}
		slices.SortStableFunc(list, func(a, b *session) int { return cmp.Compare(b.created, a.created) })
		return list, err
	}
	open := func(copies []*session) (*thread.Thread, error) { return p.thread(copies[0]), nil }
	return thread.List(ctx, find, func(s *session) string { return s.id }, open)
}
