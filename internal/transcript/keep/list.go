package keep

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
)

// Listed returns a set whose providers also find the kept copies of threads whose
// transcripts are missing, as transcripts of their own. It is for package threadindex.
func (c *Copies) Listed(s Store) *thread.Set {
	l := &listing{copies: c, store: s}
	return s.Set.With(func(d thread.Driver) thread.Driver {
		d.Open = func([]string) (thread.Provider, error) {
			p, err := s.Set.Provider(d.Name)
			return &lister{p, d.Name, l}, err
		}
		return d
	})
}

// A listing has the copies, once they are asked for.
type listing struct {
	copies *Copies
	store  Store

	mu   sync.Mutex
	read bool
	list []handoff.KeptThread
}

// find returns the copies. An error is returned once.
func (l *listing) find(ctx context.Context) (list []handoff.KeptThread, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.read {
		l.read = true
		l.list, err = l.store.Hub.KeptThreads(ctx, "")
	}
	return l.list, err
}

// A lister is the provider of a tool that also finds copies.
type lister struct {
	thread.Provider
	name string
	*listing
}

// Stored implements thread.Lister.
func (l *lister) Stored(ctx context.Context) iter.Seq2[*thread.Stored, error] {
	return func(yield func(*thread.Stored, error) bool) {
		kept := map[string]handoff.KeptThread{} // by ID
		list, err := l.find(ctx)
		for _, k := range list {
			if u, err := thread.ParseURI(k.Thread); err == nil && u.Provider == l.name {
				kept[strings.ToLower(u.Thread)] = k
			}
		}
		for s, err := range thread.StoredIn(ctx, l.name, l.Provider) {
			if err == nil && len(kept) > 0 {
				name := strings.ToLower(s.Key)
				for id := range kept {
					if isOf(name, id) {
						delete(kept, id)
					}
				}
			}
			if !yield(s, err) {
				return
			}
		}
		if err != nil && !yield(nil, err) {
			return
		}
		for _, k := range kept {
			if !yield(l.stored(k), nil) {
				return
			}
		}
	}
}

// isOf reports whether a stored transcript is that of a thread. Its key ends with
// the ID, or is the path of a file whose name does, of which Gemini has only the first
// eight digits.
func isOf(key, id string) bool {
	file := strings.TrimSuffix(key, packed)
	file = file[:max(strings.LastIndexByte(file, '.'), 0)]
	return strings.HasSuffix(key, id) || strings.HasSuffix(file, id) || thread.IsUUID(id) &&
		strings.HasSuffix(file, "-"+id[:8])
}

// stored returns a copy as a transcript. It does not change: another copy has another
// key. The key sorts after those of files.
func (l *lister) stored(k handoff.KeptThread) *thread.Stored {
	source := k.Digest.Algorithm + ":" + k.Digest.Value
	return &thread.Stored{
		Provider: l.name, Source: source, Key: "~" + source + "#" + k.Thread, Modified: k.ModifiedAt, Changed: k.KeptAt,
		Opener: thread.OpenFunc(func(ctx context.Context) ([]*thread.Thread, error) {
			return l.copies.threads(ctx, l.store, k)
		}),
	}
}

// threads returns the thread in a copy, and its subagents.
func (c *Copies) threads(ctx context.Context, s Store, k handoff.KeptThread) (list []*thread.Thread, err error) {
	u, err := thread.ParseURI(k.Thread)
	if err != nil {
		return nil, err
	}
	dir, err := c.extracted(ctx, s.Bodies, k.ThreadKept)
	if err != nil {
		return nil, missing(k, err)
	}
	p, err := At(s.Set, u.Provider, dir).Provider(u.Provider)
	if err != nil {
		return nil, err
	}
	for stored, err := range thread.StoredIn(ctx, u.Provider, p) {
		var threads []*thread.Thread
		if err == nil {
			threads, err = stored.Open(ctx)
		}
		if err != nil {
			return nil, unusable(ctx, k, dir, err)
		}
		list = append(list, threads...)
	}
	// The threads that this one was forked from are not listed.
	list = slices.DeleteFunc(list, func(t *thread.Thread) bool {
		return !t.IsAgent() && !strings.EqualFold(t.ID, u.Thread)
	})
	for _, t := range list {
		t.KeptAt = k.KeptAt
		if err := rename(t, dir, k); err != nil {
			return nil, err
		}
	}
	return list, nil
}
