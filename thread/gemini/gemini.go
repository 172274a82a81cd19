// Package gemini reads the chats of Gemini CLI.
//
// A chat is in tmp/PROJECT/chats in the home directory of the tool, ~/.gemini or
// $GEMINI_CLI_HOME/.gemini. PROJECT is a hash of the working directory or a short
// name for it. Until version 0.38 a chat is one JSON document, which is rewritten
// for each message. Since then it is a log of operations: a message with a known
// ID replaces the earlier one, $set replaces members, also the list of messages,
// and $rewindTo removes a message and all after it. A file name ends in the first
// eight characters of the ID. The chat of a subagent is in a directory named after
// its parent.
//
// The format is undocumented. docs/threads.md lists the facts this package relies
// on, which were found in published chats and in the public source of the tool.
package gemini

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/thread"
)

const (
	name = "gemini"
	env  = "GEMINI_CLI_HOME" // replaces the user's home directory
)

// Driver returns the driver of Gemini CLI.
func Driver() thread.Driver {
	return thread.Driver{
		Name: name, Env: env, ID: thread.UUIDs,
		Roots: func(getenv func(string) string, home string) []string {
			return []string{filepath.Join(cmp.Or(getenv(env), home), ".gemini")}
		},
		Beside: []string{"../.project_root", "../../.project_root"},
		Resume: []string{name, "--resume"},
		Open:   func(roots []string) (thread.Provider, error) { return &provider{roots}, nil },
	}
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
	if log := p.removed(t, id); log != "" {
		return nil, handoff.E("thread", name+"/"+id, handoff.Unavailable,
			errors.New("the chat was removed: only its prompts remain, in "+log),
			handoff.Advice("the tool deletes old chats; look for a backup"))
	}
	return nil, thread.NotFoundError(name, id, p.roots, env, *t.ids)
}

// open opens the preferred one of several copies of a thread.
func (p *provider) open(copies []chat) (*thread.Thread, error) {
	order.Sort(copies, comparePreference)
	best := copies[0]
	info, err := os.Stat(best.path())
	if err != nil {
		return nil, thread.UnreadableError(best.path(), err)
	}
	h := best.head
	t := &thread.Thread{
		Provider: name, ID: best.id(), Source: best.path(), Modified: thread.ModTime(info), Title: h.title,
		Cwd: best.cwd(), Started: h.started, Parent: best.parent(), Reader: &reader{chat: best},
	}
	if h.id == "" {
		t.Warn("the chat has no ID; it is taken from the file name")
	}
	for _, c := range copies[1:] {
		t.WarnCopy(c.path())
	}
	return t, nil
}

// comparePreference orders copies of a thread: a log before the document that it
// was converted from.
func comparePreference(a, b chat) int {
	switch {
	case a.document == b.document:
		return cmp.Compare(b.stem, a.stem)
	case b.document:
		return -1
	}
	return 1
}

func (p *provider) Threads(ctx context.Context) iter.Seq2[*thread.Thread, error] {
	find := func() ([]chat, error) {
		t := newTree(ctx)
		return p.sessions(t), t.Err(name)
	}
	return thread.List(ctx, find, chat.id, p.open)
}
