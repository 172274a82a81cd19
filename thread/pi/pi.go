// Package pi reads the sessions of the pi coding agent. Each is a file with one
// JSON entry per line.
//
// Sessions are in sessions/PROJECT in the home directory of the tool, ~/.pi/agent
// or $PI_CODING_AGENT_DIR. The first entry, the header, contains the ID. The file
// name ends in it too, unless the user chose the name. Since version 2 of the
// format, entries form a tree: each names its parent, and going back adds a branch
// to the same file. The thread is the branch of the last entry. A fork is a file of
// its own, which starts with copies of entries and names their file.
//
// The tool has no subagents. Extensions run them as sessions of their own. The
// format is undocumented; docs/threads.md lists the facts this package relies on,
// which were found in published sessions and in the public source of the tool.
package pi

import (
	"cmp"
	"context"
	"iter"
	"os"
	"path/filepath"

	"github.com/agent-handoff/handoff/thread"
)

const (
	name = "pi"
	env  = "PI_CODING_AGENT_DIR"
)

// Driver returns the driver of pi.
func Driver() thread.Driver {
	return thread.Driver{
		Name: name, Env: env, ID: thread.UUIDs, Roots: roots, Resume: []string{name, "--session"},
		Open: func(roots []string) (thread.Provider, error) { return &provider{roots}, nil },
	}
}

// roots returns the directories of sessions.
func roots(getenv func(string) string, home string) (roots []string) {
	if dir := getenv("PI_CODING_AGENT_SESSION_DIR"); dir != "" {
		roots = append(roots, dir)
	}
	return append(roots, filepath.Join(cmp.Or(getenv(env), filepath.Join(home, ".pi", "agent")), "sessions"))
}

type provider struct{ roots []string }

func (p *provider) Thread(ctx context.Context, id string) (*thread.Thread, error) {
	t := newTree(ctx)
	if found := p.locate(t, id); len(found) > 0 {
		return p.open(found)
	}
	if err := t.Err(name + "/" + id); err != nil {
		return nil, err
	}
	return nil, thread.NotFoundError(name, id, p.roots, env, *t.ids)
}

// open opens the first of several copies of a thread.
func (p *provider) open(copies []session) (*thread.Thread, error) {
	best := copies[0]
	info, err := os.Stat(best.path())
	if err != nil {
		return nil, thread.UnreadableError(best.path(), err)
	}
	h := best.head
	t := &thread.Thread{
		Provider: name, ID: best.id(), Source: best.path(), Modified: thread.ModTime(info),
		Title: h.title, Cwd: h.cwd, Started: h.started, Parent: best.parent(), Reader: &reader{p: p, session: best},
	}
	if from := idOf(h.from); from != t.Parent {
		t.ForkedFrom = from
	}
	switch named := idOf(best.name); {
	case h.id == "":
		t.Warn("the session has no ID; it is taken from the file name")
	case thread.IsUUID(named) && named != h.id && best.start == 0:
		t.WarnID(named, h.id)
	}
	for _, c := range copies[1:] {
		t.WarnCopy(c.path())
	}
	return t, nil
}

func (p *provider) Threads(ctx context.Context) iter.Seq2[*thread.Thread, error] {
	find := func() ([]session, error) {
		t := newTree(ctx)
		return p.threads(t), t.Err(name)
	}
	return thread.List(ctx, find, session.id, p.open)
}
