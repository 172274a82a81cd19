package codex

import (
	"context"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/thread"
)

// Stored implements thread.Lister.
func (p *provider) Stored(ctx context.Context) iter.Seq2[*thread.Stored, error] {
	return func(yield func(*thread.Stored, error) bool) {
		w := thread.NewWalk(ctx)
		files := p.storedFiles(w)
		if err := w.Err(name); err != nil && !yield(nil, err) {
			return
		}
		groups := thread.GroupByID(files, func(f storedFile) string { return f.id })
		found, threads := make([]thread.Stored, len(groups)), make([]storedThread, len(groups))
		thread.Parallel(len(groups), func(i int) {
			threads[i] = storedThread{p, groups[i]}
			threads[i].describe(&found[i])
		})
		for i := range found {
			if !yield(&found[i], nil) {
				return
			}
		}
	}
}

// A storedFile is a rollout as its directory has it.
type storedFile struct {
	file
	at   string // its path
	stat thread.FileStat
}

// storedFiles returns all rollouts, those in later directories first.
func (p *provider) storedFiles(w *thread.Walk) (files []storedFile) {
	add := func(sub string, depth int, isArchived bool) {
		var dirs []string
		for _, root := range slices.Backward(p.roots) {
			dirs = append(dirs, filepath.Join(root, sub))
		}
		folders := w.Folders(dirs, depth, func(name string) bool {
			return strings.HasSuffix(name, plain) || strings.HasSuffix(name, packed)
		})
		files = slices.Grow(files, thread.CountFiles(folders))
		for _, dir := range slices.Backward(folders) {
			for _, f := range slices.Backward(dir.Files) {
				if parsed, ok := parseName(dir.Path, f.Name, isArchived); ok {
					files = append(files, storedFile{parsed, f.Path, f.FileStat})
				}
			}
		}
	}
	add(live, maxDepth, false)
	add(archived, 0, true)
	return files
}

// A storedThread is a thread with its files.
type storedThread struct {
	p      *provider
	copies []storedFile // the best first
}

// describe sets what the files show.
func (t *storedThread) describe(s *thread.Stored) {
	order.Sort(t.copies, func(a, b storedFile) int { return comparePreference(a.file, b.file) })
	paths, stats := make([]string, len(t.copies)), make([]thread.FileStat, 0, 4) // stats are not on the heap
	packed := false
	for i, f := range t.copies {
		paths[i], stats = f.at, append(stats, f.stat)
		packed = packed || f.packed
	}
	s.SetFiles(paths, stats)
	if s.Elsewhere, s.Opener = "history_base", t; packed {
		s.Texts = nil
	}
}

// Open implements thread.Opener.
func (t *storedThread) Open(context.Context) ([]*thread.Thread, error) {
	copies := make([]file, len(t.copies))
	for i, f := range t.copies {
		copies[i] = f.file
	}
	return named(t.p.open(copies))
}

// ReadUsage implements thread.UsageReader.
func (t *storedThread) ReadUsage(ctx context.Context) (list []*thread.Thread, ok bool, err error) {
	found, err := t.p.readUsage(ctx, t.copies[0].file)
	if found == nil || err != nil {
		return nil, false, err
	}
	list, err = named(found, nil)
	return list, true, err
}

// named returns a thread that was opened, none if it has no ID.
func named(t *thread.Thread, err error) ([]*thread.Thread, error) {
	if err != nil || t.ID == "" {
		return nil, err
	}
	t.Subagent = t.Reader.(*rollout).meta.subagent
	return []*thread.Thread{t}, nil
}
