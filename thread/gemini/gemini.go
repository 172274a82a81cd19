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
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
	t := &tree{ctx: ctx}
	found := p.locate(t, id)
	if err := errors.Join(t.errs...); err != nil && len(found) == 0 {
		return nil, unreadable(p.name+"/"+id, err)
	}
	if len(found) > 0 {
		return p.open(found)
	}
	if log := swept(t, id); log != "" {
		return nil, &handoff.Error{Op: "thread", Name: p.name + "/" + id, Kind: handoff.Unavailable,
			Err: errors.New("its chat is gone: only prompts of it are left, in " + log), Hint: "the tool deletes old chats; look in a backup"}
	}
	return nil, &handoff.Error{Op: "thread", Name: p.name + "/" + id, Kind: handoff.NotFound,
		Err: errors.New("no such thread below " + strings.Join(p.roots, ", ")), Hint: "look below another home by setting its variable"}
}

// open makes a thread of the best of several copies of it.
func (p *provider) open(copies []chat) (*thread.Thread, error) {
	slices.SortStableFunc(copies, better)
	best := copies[0]
	info, err := os.Stat(best.path)
	if err != nil {
		return nil, unreadable(best.path, err)
	}
	m := best.head
	t := &thread.Thread{
		Provider: p.name, ID: m.id, Source: best.path, Updated: info.ModTime(), Title: m.title,
		Cwd: best.cwd(), Started: m.started, Parent: best.parent(),
	}
	if m.id == "" {
		t.ID = best.stem
		t.Warnings = append(t.Warnings, "it does not say its id, which is taken from where it lies")
	}
	for _, c := range copies[1:] {
		t.Warnings = append(t.Warnings, "there is another copy: "+c.path)
	}
	t.Reader = &reader{chat: best}
	return t, nil
}

// better orders copies of one thread: a log continues the document it was made
// of.
func better(a, b chat) int {
	if a.document != b.document {
		if b.document {
			return -1
		}
		return 1
	}
	return cmp.Compare(b.stem, a.stem)
}

func unreadable(path string, err error) error {
	kind := handoff.Unavailable
	if errors.Is(err, fs.ErrNotExist) {
		kind = handoff.NotFound
	}
	return &handoff.Error{Op: "read thread", Name: path, Kind: kind, Err: err}
}

func (p *provider) Threads(ctx context.Context) iter.Seq2[*thread.Thread, error] {
	return func(yield func(*thread.Thread, error) bool) {
		t := &tree{ctx: ctx}
		chats := p.sessions(t)
		for _, err := range t.errs {
			if !yield(nil, err) {
				return
			}
		}
		byID := map[string][]chat{}
		for _, c := range chats {
			byID[c.id()] = append(byID[c.id()], c)
		}
		for _, c := range chats {
			copies := byID[c.id()]
			delete(byID, c.id())
			if len(copies) == 0 {
				continue
			}
			if !yield(p.open(copies)) {
				return
			}
		}
	}
}
