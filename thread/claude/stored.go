package claude

import (
	"cmp"
	"context"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/thread"
)

// Stored implements thread.Lister.
func (p *provider) Stored(ctx context.Context) iter.Seq2[thread.Stored, error] {
	return func(yield func(thread.Stored, error) bool) {
		projects, err := p.projects(ctx)
		if err != nil && !yield(thread.Stored{}, err) {
			return
		}
		t := newTree(ctx)
		var files []file
		for _, dir := range projects {
			sessions, dirs := t.folder(dir, false)
			files = append(append(files, sessions...), t.beside(dir)...)
			for _, session := range dirs {
				files = append(files, t.nested(dir, session)...)
			}
		}
		if err := t.Err(p.name); err != nil && !yield(thread.Stored{}, err) {
			return
		}
		key := func(f file) string {
			if f.agent {
				return prefix + f.session + "/" + f.id
			}
			return f.id
		}
		for _, copies := range thread.GroupByID(files, key) {
			if s, ok := p.stored(t.Walk, copies); ok && !yield(s, nil) {
				return
			}
		}
	}
}

func (p *provider) stored(w *thread.Walk, copies []file) (thread.Stored, bool) {
	slices.SortStableFunc(copies, newestFirst)
	var paths []string
	for _, c := range copies {
		paths = append(paths, c.path)
	}
	var also []string
	if copies[0].agent {
		also = []string{strings.TrimSuffix(paths[0], plain) + ".meta.json"}
	}
	s, ok := w.StatStored(paths, also...)
	s.Open = func(ctx context.Context) ([]*thread.Thread, error) {
		open := func() (*thread.Thread, error) { return p.open(ctx, copies) }
		if copies[0].agent {
			open = func() (*thread.Thread, error) { return p.openFile(copies[0]) }
		}
		t, err := open()
		if err != nil {
			return nil, err
		}
		m := t.Reader.(*transcript).meta
		if t.Subagent = copies[0].agent; t.Subagent {
			t.ID = cmp.Or(m.agent, t.ID)
		} else if m.firstID != "" {
			t.Family = filepath.Dir(paths[0]) + "#" + m.firstID
		}
		return []*thread.Thread{t}, nil
	}
	return s, ok
}
