package opencode

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// Stored implements thread.Lister. A write to a database changes the stamps of all
// threads in it.
func (p *provider) Stored(ctx context.Context) iter.Seq2[*thread.Stored, error] {
	return func(yield func(*thread.Stored, error) bool) {
		stores, err := p.stores(ctx)
		w := thread.NewWalk(ctx)
		seen := map[string]bool{}
		for _, st := range stores {
			sessions, failed := st.all(ctx)
			err = errors.Join(err, failed)
			sessions = slices.DeleteFunc(sessions, func(s *session) bool {
				known := seen[s.id]
				seen[s.id] = true
				return known
			})
			for _, stored := range p.storedIn(ctx, w, st, sessions) {
				if stored != nil && !yield(stored, nil) {
					return
				}
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// storedIn returns the transcripts of sessions in a store, nil for one that was removed.
func (p *provider) storedIn(ctx context.Context, w *thread.Walk, st store, sessions []*session) []*thread.Stored {
	found := make([]*thread.Stored, len(sessions))
	if _, ok := st.(tree); !ok { // a file has all
		for i, s := range sessions {
			found[i] = p.stored(w, s)
		}
		return found
	}
	thread.Parallel(len(sessions), func(i int) { found[i] = p.stored(thread.NewWalk(ctx), sessions[i]) })
	return found
}

func (p *provider) stored(w *thread.Walk, s *session) *thread.Stored {
	also := []string{s.source + "-wal"}
	if dir, ok := s.store.(tree); ok {
		also = dir.files(s.id)
	}
	stored, ok := w.StatStored([]string{s.source}, also...)
	if !ok {
		return nil
	}
	stored.Key, stored.Texts = s.source+"#"+s.id, nil
	if t := jsonl.Milliseconds(s.updated); !t.IsZero() {
		stored.Modified = t
	}
	stored.Opener = thread.OpenFunc(func(context.Context) ([]*thread.Thread, error) {
		t := p.thread(s)
		t.Subagent = t.Parent != ""
		return []*thread.Thread{t}, nil
	})
	return stored
}

// files returns the files with the messages and parts of a session.
func (t tree) files(session string) (paths []string) {
	if !filepath.IsLocal(session) || strings.ContainsAny(session, `/\`) {
		return nil
	}
	add := func(dir string) {
		filepath.WalkDir(filepath.Join(string(t), dir), func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				paths = append(paths, path)
			}
			return nil // what can't be read has no stamp
		})
	}
	add(filepath.Join("message", session))
	for _, message := range paths {
		add(filepath.Join("part", strings.TrimSuffix(filepath.Base(message), ".json")))
	}
	add(filepath.Join("part", session))
	return paths
}

// Files implements thread.Scattered.
func (r *reader) Files() []string {
	dir, ok := r.session.store.(tree)
	if !ok {
		return nil
	}
	own := map[string]bool{}
	paths := dir.files(r.session.id)
	messages, _ := list(filepath.Join(string(dir), "message", r.session.id))
	for _, m := range messages {
		own[m.id] = true
	}
	parts, _ := list(filepath.Join(string(dir), "part")) // of all sessions, in the first versions
	for _, p := range parts {
		if own[p.data.Get("messageID").Text()] {
			paths = append(paths, filepath.Join(string(dir), "part", p.name))
		}
	}
	return paths
}
