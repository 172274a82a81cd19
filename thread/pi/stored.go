package pi

import (
	"context"
	"iter"

	"github.com/agent-handoff/handoff/thread"
)

// Stored implements thread.Lister. The headers of sessions that have a directory
// are read, because the ones in it belong to them.
func (p *provider) Stored(ctx context.Context) iter.Seq2[*thread.Stored, error] {
	return func(yield func(*thread.Stored, error) bool) {
		t := newTree(ctx)
		files, owners := p.all(t)
		for _, s := range owners {
			s.head = t.head(s)
			files = append(files, t.descend(s, maxDepth)...)
		}
		if err := t.Err(name); err != nil && !yield(nil, err) {
			return
		}
		for _, f := range files {
			s, ok := t.StatStored([]string{f.path()})
			s.Opener = thread.OpenFunc(func(ctx context.Context) ([]*thread.Thread, error) { return p.threadsIn(newTree(ctx), f) })
			if ok && !yield(s, nil) {
				return
			}
		}
	}
}

// threadsIn opens the threads in the file of a session.
func (p *provider) threadsIn(t tree, s session) (list []*thread.Thread, err error) {
	s.head = t.head(s)
	for _, s := range append([]session{s}, t.further(s)...) {
		opened, err := p.open([]session{s})
		if err != nil {
			return nil, err
		}
		opened.Subagent = s.subagent()
		list = append(list, opened)
	}
	return list, t.Err(s.path())
}
