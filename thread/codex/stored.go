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
		w := thread.NewWalk(ctx)
		for _, copies := range thread.GroupByID(files, fileID) {
			slices.SortStableFunc(copies, comparePreference)
			var paths []string
			packed := false
			for _, c := range copies {
				paths = append(paths, c.path())
				packed = packed || c.packed
			}
			s, ok := w.StatStored(paths)
			if !ok {
				continue
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
			if !yield(s, nil) {
				return
			}
		}
	}
}
