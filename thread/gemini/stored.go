package gemini

import (
	"context"
	"iter"
	"path/filepath"

	"github.com/agent-handoff/handoff/thread"
)

// Stored implements thread.Lister.
func (p *provider) Stored(ctx context.Context) iter.Seq2[*thread.Stored, error] {
	return func(yield func(*thread.Stored, error) bool) {
		t := newTree(ctx)
		chats, folders := p.all(t)
		for _, f := range folders {
			more, _ := t.chats(f.chats, f.folder)
			chats = append(chats, more...)
		}
		if err := t.Err(name); err != nil && !yield(nil, err) {
			return
		}
		for _, c := range chats {
			project := filepath.Dir(c.chats)
			s, ok := t.StatStored([]string{c.path()}, filepath.Join(project, ".project_root"), filepath.Join(project, "..", "..", "projects.json"))
			s.Opener = thread.OpenFunc(func(ctx context.Context) ([]*thread.Thread, error) { return p.threadsIn(newTree(ctx), c) })
			if ok && !yield(s, nil) {
				return
			}
		}
	}
}

// threadsIn opens the threads in the file of a chat.
func (p *provider) threadsIn(t tree, c chat) (list []*thread.Thread, err error) {
	c.head = t.head(c)
	for _, c := range append([]chat{c}, t.further(c)...) {
		opened, err := p.open([]chat{c})
		if err != nil {
			return nil, err
		}
		opened.Subagent = c.subagent()
		list = append(list, opened)
	}
	return list, t.Err(c.path())
}
