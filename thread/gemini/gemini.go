// Package gemini reads the chats of Gemini CLI and of the tools that write its
// format.
//
// A chat lies in tmp/PROJECT/chats below the tool's home, PROJECT being a hash
// of the directory it was held in, or a short name for it. Until 0.38 it is one
// JSON document, written anew for every message; since then it is a log of
// operations: a message of an id that is known replaces the earlier one, $set
// replaces what it names, the whole list of messages too, and $rewindTo takes
// back a message and all after it. The name of its file ends in the first eight
// characters of its id. A subagent's chat lies in a folder that has the name of
// its parent.
//
// What a chat says, and since which version, is in docs/threads.md.
package gemini

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
)

// A Fork is a tool that writes this format.
type Fork struct {
	Name string // of the provider
	Env  string // the variable that stands for the user's home
	Dir  string // the tool's home below the user's
}

// Gemini is the tool itself.
var Gemini = Fork{Name: "gemini", Env: "GEMINI_CLI_HOME", Dir: ".gemini"}

// Driver returns the driver of Gemini CLI.
func Driver() thread.Driver { return Gemini.Driver() }

// Driver returns the driver of f.
func (f Fork) Driver() thread.Driver {
	return thread.Driver{
		Name: f.Name,
		ID:   thread.UUIDs,
		Roots: func(getenv func(string) string, home string) []string {
			if dir := getenv(f.Env); dir != "" {
				home = dir
			}
			return []string{filepath.Join(home, f.Dir)}
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
	name := p.name + "/" + id
	if err := t.Err(name); err != nil {
		return nil, err
	}
	if log := p.swept(t, id); log != "" {
		return nil, &handoff.Error{Op: "thread", Name: name, Kind: handoff.Unavailable,
			Err: errors.New("its chat is gone: only prompts of it are left, in " + log), Hint: handoff.Advice("the tool deletes old chats; look in a backup")}
	}
	return nil, thread.Missing(p.name, id, p.roots)
}

// open makes a thread of the best of several copies of it.
func (p *provider) open(copies []chat) (*thread.Thread, error) {
	slices.SortStableFunc(copies, better)
	best := copies[0]
	info, err := os.Stat(best.path())
	if err != nil {
		return nil, thread.Unreadable(best.path(), err)
	}
	m := best.head
	t := &thread.Thread{
		Provider: p.name, ID: best.id(), Source: best.path(), Updated: info.ModTime(), Title: m.title,
		Cwd: best.cwd(), Started: m.started, Parent: best.parent(), Reader: &reader{chat: best},
	}
	if m.id == "" {
		t.Warn("it does not say its id, which is taken from where it lies")
	}
	for _, c := range copies[1:] {
		t.Elsewhere(c.path())
	}
	return t, nil
}

// better orders copies of one thread: a log continues the document it was made
// of.
func better(a, b chat) int {
	switch {
	case a.document == b.document:
		return cmp.Compare(b.stem, a.stem)
	case b.document:
		return -1
	}
	return 1
}

func (p *provider) Threads(ctx context.Context) iter.Seq2[*thread.Thread, error] {
	return func(yield func(*thread.Thread, error) bool) {
		t := newTree(ctx)
		sessions := p.sessions(t)
		if err := t.Err(p.name); err != nil && !yield(nil, err) {
			return
		}
		for _, copies := range thread.Copies(sessions, chat.id) {
			if !yield(p.open(copies)) {
				return
			}
		}
	}
}
