package amp

import (
	"context"
	"iter"

	"github.com/agent-handoff/handoff/thread"
)

// Stored implements thread.Lister.
func (p *provider) Stored(ctx context.Context) iter.Seq2[*thread.Stored, error] {
	return func(yield func(*thread.Stored, error) bool) {
		files, err := p.files(ctx)
		if err != nil && !yield(nil, err) {
			return
		}
		w := thread.NewWalk(ctx)
		for _, f := range files {
			s, ok := w.StatStored([]string{f.path})
			s.Opener = thread.OpenFunc(func(ctx context.Context) ([]*thread.Thread, error) {
				t, err := f.open(ctx)
				if err != nil {
					return nil, err
				}
				return []*thread.Thread{t}, nil
			})
			if ok && !yield(s, nil) {
				return
			}
		}
	}
}
