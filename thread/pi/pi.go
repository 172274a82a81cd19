// Package pi reads the sessions of pi and of the tools that write its format.
//
// A session is a file of one JSON entry a line below sessions in the tool's
// home, in a folder per project. Its first entry, the header, holds its id; its
// name ends in that id too, unless it was named by hand. From the second version
// of the format on, entries form a tree: each names its parent, and going back
// and on another way adds a branch to the same file. The thread is the branch
// that the last entry is on. A fork is a file of its own, which begins with
// copies of the entries it shares and names the file they are from.
//
// The tool has no subagents. Extensions run them as sessions of their own; how
// these are told from others, and what else a session says, is in
// docs/threads.md.
package pi

import (
	"context"
	"iter"
	"os"
	"path/filepath"

	"github.com/agent-handoff/handoff/thread"
)

// A Fork is a tool that writes this format.
type Fork struct {
	Name     string // of the provider
	Env      string // the variable that names its home
	Sessions string // the variable that names the folder of sessions
	Dir      string // its home below the user's
}

// Pi is the tool itself.
var Pi = Fork{Name: "pi", Env: "PI_CODING_AGENT_DIR", Sessions: "PI_CODING_AGENT_SESSION_DIR", Dir: ".pi/agent"}

// Driver returns the driver of pi.
func Driver() thread.Driver { return Pi.Driver() }

// Driver returns the driver of f. Its roots are folders of sessions.
func (f Fork) Driver() thread.Driver {
	return thread.Driver{
		Name: f.Name,
		ID:   thread.UUIDs,
		Roots: func(getenv func(string) string, home string) (roots []string) {
			if dir := getenv(f.Sessions); f.Sessions != "" && dir != "" {
				roots = append(roots, dir)
			}
			dir := getenv(f.Env)
			if dir == "" {
				dir = filepath.Join(home, filepath.FromSlash(f.Dir))
			}
			return append(roots, filepath.Join(dir, "sessions"))
		},
		Open: func(roots []string) (thread.Provider, error) {
			return &provider{name: f.Name, roots: roots}, nil
		},
	}
}

type provider struct {
	name  string
	roots []string
}

func (p *provider) Thread(ctx context.Context, id string) (*thread.Thread, error) {
	t := newTree(ctx)
	if found := p.locate(t, id); len(found) > 0 {
		return p.open(found)
	}
	if err := t.Err(p.name + "/" + id); err != nil {
		return nil, err
	}
	return nil, thread.Missing(p.name, id, p.roots)
}

// open makes a thread of the first of several copies of it.
func (p *provider) open(copies []session) (*thread.Thread, error) {
	best := copies[0]
	info, err := os.Stat(best.path())
	if err != nil {
		return nil, thread.Unreadable(best.path(), err)
	}
	h := best.head
	t := &thread.Thread{
		Provider: p.name, ID: best.id(), Source: best.path(), Updated: info.ModTime(),
		Title: h.title, Cwd: h.cwd, Started: h.started, Parent: best.parent(), Reader: &reader{session: best},
	}
	if from := idOf(h.from); from != t.Parent {
		t.ForkedFrom = from
	}
	switch named := idOf(best.name); {
	case h.id == "":
		t.Warn("it does not say its id, which is taken from its name")
	case thread.IsUUID(named) && named != h.id && best.start == 0:
		t.Warn("the file is named after %s and says it is %s", named, h.id)
	}
	for _, c := range copies[1:] {
		t.Elsewhere(c.path())
	}
	return t, nil
}

func (p *provider) Threads(ctx context.Context) iter.Seq2[*thread.Thread, error] {
	return func(yield func(*thread.Thread, error) bool) {
		t := newTree(ctx)
		list := p.threads(t)
		if err := t.Err(p.name); err != nil && !yield(nil, err) {
			return
		}
		for _, copies := range thread.Copies(list, session.id) {
			if !yield(p.open(copies)) {
				return
			}
		}
	}
}
