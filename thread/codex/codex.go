// Package codex reads the threads of Codex and of the tools that write its
// format: rollouts, files of one JSON record a line.
//
// A rollout lies in sessions/YYYY/MM/DD or archived_sessions below the tool's
// home, plain or, once it has been idle for a week, compressed. Its name ends in
// the thread's id; the date in it is local time. A subagent is a thread with a
// rollout of its own, whose first record names its parent. The tool's SQLite
// files repeat what rollouts say and lag behind them, so they are not read.
//
// What a rollout says, and since which version, is in docs/threads.md.
package codex

import (
	"context"
	"iter"
	"os"
	"slices"
	"sync"

	"github.com/agent-handoff/handoff/thread"
)

// A Fork is a tool that writes this format.
type Fork struct {
	Name string // of the provider
	Env  string // the variable that names its home
	Dir  string // its home below the user's
}

// Codex is the tool itself.
var Codex = Fork{Name: "codex", Env: "CODEX_HOME", Dir: ".codex"}

// Driver returns the driver of Codex.
func Driver() thread.Driver { return Codex.Driver() }

// Driver returns the driver of f.
func (f Fork) Driver() thread.Driver {
	return thread.Driver{
		Name:  f.Name,
		ID:    thread.UUIDs,
		Roots: thread.Home(f.Env, f.Dir),
		Open: func(roots []string) (thread.Provider, error) {
			return &provider{name: f.Name, roots: roots, past: map[string]*past{}}, nil
		},
	}
}

type provider struct {
	name  string
	roots []string

	mu   sync.Mutex
	past map[string]*past // of threads that others were forked from, by path
}

func (p *provider) Thread(ctx context.Context, id string) (*thread.Thread, error) {
	files, err := p.locate(ctx, id)
	if err != nil {
		return nil, err
	}
	if len(files[id]) == 0 {
		return nil, thread.Missing(p.name, id, p.roots)
	}
	return p.open(files[id])
}

// open makes a thread of the best of several copies of it.
func (p *provider) open(copies []file) (*thread.Thread, error) {
	slices.SortStableFunc(copies, better)
	best := copies[0]
	info, err := os.Stat(best.path())
	if err != nil {
		return nil, thread.Unreadable(best.path(), err)
	}
	m, err := readMeta(best)
	if err != nil {
		return nil, thread.Unreadable(best.path(), err)
	}
	t := &thread.Thread{
		Provider: p.name, ID: m.id, Source: best.path(), Archived: best.archived, Updated: info.ModTime(),
		Cwd: m.cwd, Branch: m.branch, Commit: m.commit, Repository: m.repository, Version: m.version, Started: m.started,
		Parent: m.parent, ForkedFrom: m.forkedFrom, AgentName: m.nickname, AgentRole: m.role,
	}
	if best.id != "" && best.id != m.id {
		t.ID = best.id
		t.Warn("the file is named after %s and says it is %s", best.id, m.id)
	}
	for _, c := range copies[1:] {
		t.Elsewhere(c.path())
	}
	t.Reader = &rollout{p: p, file: best, size: info.Size(), meta: m}
	return t, nil
}

func (p *provider) Threads(ctx context.Context) iter.Seq2[*thread.Thread, error] {
	return func(yield func(*thread.Thread, error) bool) {
		files, err := p.all(ctx)
		if err != nil && !yield(nil, err) {
			return
		}
		for _, copies := range thread.Copies(files, func(f file) string { return f.id }) {
			if ctx.Err() != nil {
				yield(nil, ctx.Err())
				return
			}
			t, err := p.open(copies)
			if err == nil && (t.ID == "" || t.Reader.(*rollout).meta.subagent) {
				continue
			}
			if !yield(t, err) {
				return
			}
		}
	}
}
