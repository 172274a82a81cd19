package codex

import (
	"context"
	"iter"
	"slices"

	"github.com/agent-handoff/handoff/thread"
)

// Stored implements thread.Lister.
func (p *provider) Stored(ctx context.Context) iter.Seq2[thread.Stored, error] {
	return func(yield func(thread.Stored, error) bool) {
		files, err := p.all(ctx)
		if err != nil && !yield(thread.Stored{}, err) {
			return
		}
		groups := thread.GroupByID(files, fileID)
		list := make([]thread.Stored, len(groups))
		thread.Parallel(len(groups), func(i int) { list[i] = p.stored(thread.NewWalk(ctx), groups[i]) })
		for _, s := range list {
			if s.Open != nil && !yield(s, nil) {
				return
			}
		}
	}
}

// stored returns the transcript of a thread. Its Open is nil if it was removed in
// the meantime.
func (p *provider) stored(w *thread.Walk, copies []file) thread.Stored {
	slices.SortStableFunc(copies, comparePreference)
	var paths []string
	packed := false
	for _, c := range copies {
		paths = append(paths, c.path())
		packed = packed || c.packed
	}
	s, ok := w.StatStored(paths)
	if !ok {
		return s
	}
	if s.Elsewhere = "history_base"; packed {
		s.Texts = nil
	}
	s.Open = func(context.Context) ([]*thread.Thread, error) {
		t, err := p.open(copies)
		if err != nil || t.ID == "" {
			return nil, err
		}
		t.Subagent = t.Reader.(*rollout).meta.subagent
		return []*thread.Thread{t}, nil
	}
	return s
}
