// Package codex reads the threads of Codex CLI. Each is a rollout: a file with
// one JSON record per line.
//
// Rollouts are in sessions/YYYY/MM/DD and archived_sessions in the home directory
// of the tool, ~/.codex or $CODEX_HOME. Those that were idle for a week are
// compressed with zstd. A file name ends in the ID of the thread; its date is in
// local time. A subagent is a thread with its own rollout, whose first record
// names its parent. The SQLite files of the tool repeat what rollouts contain and
// are updated later, so they are not read.
//
// The format is undocumented. docs/threads.md lists the facts this package relies
// on, which were found in published rollouts of versions 0.47 to 0.147 and in the
// public source of the tool.
package codex

import (
	"cmp"
	"context"
	"iter"
	"os"
	"sync"

	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/thread"
)

const (
	name = "codex"
	env  = "CODEX_HOME"
)

// Driver returns the driver of Codex CLI.
func Driver() thread.Driver {
	return thread.Driver{
		Name: name, Env: env, ID: thread.UUIDs, Roots: thread.Home(env, ".codex"),
		Resume: []string{name, "resume"},
		Open: func(roots []string) (thread.Provider, error) {
			return &provider{roots: roots, histories: map[string]*history{}}, nil
		},
	}
}

type provider struct {
	roots []string

	mu        sync.Mutex
	histories map[string]*history // of threads that others were forked from, by path
}

func (p *provider) Thread(ctx context.Context, id string) (*thread.Thread, error) {
	t := newTree(ctx)
	files, err := p.locate(t, id)
	switch {
	case len(files[id]) > 0 && ctx.Err() == nil:
		return p.open(files[id])
	case err != nil:
		return nil, err
	}
	return nil, thread.NotFoundError(name, id, p.roots, env, t.ids)
}

// open opens the preferred one of several copies of a thread.
func (p *provider) open(copies []file) (*thread.Thread, error) {
	order.Sort(copies, comparePreference)
	best := copies[0]
	info, err := os.Stat(best.path())
	if err != nil {
		return nil, thread.UnreadableError(best.path(), err)
	}
	m, err := readMeta(best)
	if err != nil {
		return nil, thread.UnreadableError(best.path(), err)
	}
	t := (&rollout{p: p, file: best, size: info.Size(), meta: m}).thread()
	t.Modified = thread.ModTime(info)
	for _, c := range copies[1:] {
		t.WarnCopy(c.path())
	}
	return t, nil
}

// thread returns the thread of a rollout.
func (r *rollout) thread() *thread.Thread {
	f, m := r.file, r.meta
	t := &thread.Thread{
		Provider: name, ID: m.id, Source: f.path(), Archived: f.archived,
		Cwd: m.cwd, Branch: m.branch, Commit: m.commit, Repository: m.repository, Version: m.version, Started: m.started,
		Parent: m.parent, ForkedFrom: cmp.Or(m.forkedFrom, m.baseThread), AgentName: m.nickname, AgentRole: m.role,
		Reader: r,
	}
	if f.id != "" && f.id != m.id {
		t.ID = f.id
		t.WarnID(f.id, m.id)
	}
	return t
}

func (p *provider) Threads(ctx context.Context) iter.Seq2[*thread.Thread, error] {
	open := func(copies []file) (*thread.Thread, error) {
		t, err := p.open(copies)
		if err == nil && (t.ID == "" || t.Reader.(*rollout).meta.subagent) {
			return nil, nil
		}
		return t, err
	}
	return thread.List(ctx, func() ([]file, error) { return p.all(ctx) }, fileID, open)
}
