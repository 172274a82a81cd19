package codex

import (
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
		w := thread.NewWalk(ctx)
		files := p.storedFiles(w)
		if err := w.Err(name); err != nil && !yield(thread.Stored{}, err) {
			return
		}
		for _, copies := range thread.GroupByID(files, func(f storedFile) string { return f.id }) {
			if !yield(p.stored(copies), nil) {
				return
			}
		}
	}
}

// A storedFile is a rollout as its directory has it.
type storedFile struct {
	file
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
					files = append(files, storedFile{parsed, f.FileStat})
				}
			}
		}
	}
	add(live, maxDepth, false)
	add(archived, 0, true)
	return files
}

// stored returns the transcript of a thread.
func (p *provider) stored(found []storedFile) thread.Stored {
	slices.SortStableFunc(found, func(a, b storedFile) int { return comparePreference(a.file, b.file) })
	copies, paths, stats := make([]file, len(found)), make([]string, len(found)), make([]thread.FileStat, len(found))
	packed := false
	for i, f := range found {
		copies[i], paths[i], stats[i] = f.file, f.path(), f.stat
		packed = packed || f.packed
	}
	s := thread.NewStored(paths, stats)
	if s.Elsewhere = "history_base"; packed {
		s.Texts = nil
	}
	s.Open = func(context.Context) ([]*thread.Thread, error) { return named(p.open(copies)) }
	s.Usage = func(ctx context.Context) ([]*thread.Thread, error) {
		t, err := p.readUsage(ctx, copies[0])
		if t == nil && err == nil {
			return thread.Stored{Open: s.Open}.LoadUsage(ctx)
		}
		return named(t, err)
	}
	return s
}

// named returns a thread that was opened, none if it has no ID.
func named(t *thread.Thread, err error) ([]*thread.Thread, error) {
	if err != nil || t.ID == "" {
		return nil, err
	}
	t.Subagent = t.Reader.(*rollout).meta.subagent
	return []*thread.Thread{t}, nil
}
