package engine

import (
	"context"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/thread"
)

// Stored implements thread.Lister. A write to a database changes the stamps of all
// threads in it. No head is read.
func (p *Provider) Stored(ctx context.Context) iter.Seq2[*thread.Stored, error] {
	return func(yield func(*thread.Stored, error) bool) {
		w := thread.NewWalk(ctx)
		all, err := p.find(ctx, w, Query{}, true)
		if err == nil {
			err = w.Err(p.Name)
		}
		if err != nil && !yield(nil, err) {
			return
		}
		dirs, known := map[string][]fs.DirEntry{}, map[string]bool{}
		nested := p.nested(all)
		if p.Inside != nil {
			for _, f := range all {
				known[f.storedKey()] = true
			}
		}
		for _, copies := range thread.GroupByID(all, (*Found).storedKey) {
			if copies[0].Err != nil {
				continue
			}
			dir := filepath.Dir(copies[0].Path)
			if _, known := dirs[dir]; !known && !p.Alone {
				dirs[dir] = w.ReadDir(dir)
			}
			if s, ok := p.stored(w, copies, dirs[dir], nested[copies[0].ID], known); ok && !yield(s, nil) {
				return
			}
		}
	}
}

// nested returns the directories on which threads depend because their subagents are in
// them, by the IDs of the threads.
func (p *Provider) nested(all []*Found) map[string][]string {
	if !p.Nested {
		return nil
	}
	dirs := map[string][]string{}
	for _, f := range all {
		if f.Parent == "" {
			continue
		}
		list, dir := dirs[f.Parent], filepath.Dir(f.Path)
		if n := len(list); n == 0 || list[n-1] != dir {
			dirs[f.Parent] = append(list, dir)
		}
	}
	return dirs
}

// storedKey returns what the copies of a thread have in common without their heads.
func (f *Found) storedKey() string {
	if f.Parent != "" && f.ID != "" {
		return f.Parent + "/" + f.ID
	}
	return f.ID
}

// stored returns the transcript of a thread, whose directory has the entries and whose
// subagents are in the directories nested.
func (p *Provider) stored(w *thread.Walk, copies []*Found, entries []fs.DirEntry, nested []string,
	known map[string]bool) (*thread.Stored, bool) {
	p.order(w, copies)
	f := copies[0]
	if f.stat == (thread.FileStat{}) {
		f.stat = w.StatFile(f.Path)
	}
	paths, stats := []string{f.Path}, []thread.FileStat{f.stat}
	plain := p.Plain && !f.Packed
	for _, c := range copies[1:] {
		plain = plain && !c.Packed
		if p.Plain && c.Path != f.Path {
			paths, stats = append(paths, c.Path), append(stats, w.StatFile(c.Path))
		}
	}
	var also []string
	switch {
	case f.Also != nil:
		also = f.Also()
	case !p.Alone:
		also = beside(f.Path, entries)
	}
	for _, path := range slices.Concat(also, nested) {
		stats = append(stats, w.StatFile(path))
	}
	if f.beside != nil {
		stats = append(stats, *f.beside)
	}
	s := &thread.Stored{Opener: &opener{p, copies, known}}
	s.SetFiles(paths, stats)
	s.Modified, s.Elsewhere = f.modified(w), p.Elsewhere
	switch {
	case !p.Plain:
		s.Key, s.Texts = f.Path+"#"+f.Parent+"/"+f.ID, nil
	case !plain:
		s.Texts = nil
	}
	return s, f.stat != thread.FileStat{}
}

// beside returns the files that may belong to the transcript in path: all entries of its
// directory if they are few, otherwise those whose names begin like that of path, as
// that of the write-ahead log of a database does.
func beside(path string, entries []fs.DirEntry) (files []string) {
	const few = 32
	dir, name := filepath.Split(path)
	stem := strings.TrimSuffix(name, filepath.Ext(name))
	if len(entries) == 0 { // the directory can't be read
		return []string{path + "-wal"}
	}
	for _, e := range entries {
		if !e.IsDir() && e.Name() != name && (len(entries) <= few || strings.HasPrefix(e.Name(), stem)) {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files
}

// An opener opens a transcript with the threads in it.
type opener struct {
	p      *Provider
	copies []*Found
	known  map[string]bool // Found.storedKey of all transcripts, if some have the records of others
}

// Open implements thread.Opener.
func (o *opener) Open(ctx context.Context) ([]*thread.Thread, error) {
	list, err := o.open(ctx)
	for _, t := range list {
		r, ok := t.Reader.(*Reader)
		if !ok || o.p.Inside == nil || r.found.Whole || !Contains(t.Source, o.p.Inside...) {
			continue
		}
		if failed := t.Load(ctx); failed != nil {
			return nil, failed
		}
		mentions := slices.DeleteFunc(slices.Clone(r.mentions), func(m *Mention) bool {
			return m.Copies && (o.known[m.ID] || o.known[t.ID+"/"+m.ID])
		})
		for _, part := range slicesOf(t, mentions, nil) {
			part.Subagent = true
			list = append(list, part)
		}
	}
	return list, err
}

// open opens the threads in the transcript that have lines or a file of their own.
func (o *opener) open(ctx context.Context) (list []*thread.Thread, err error) {
	w, beside := thread.NewWalk(ctx), thread.NewWalk(ctx) // a missing file beside a transcript is no error
	f := *o.copies[0]
	copies := append([]*Found{&f}, o.copies[1:]...)
	o.p.head(w, &f)
	t, err := o.p.open(beside, copies)
	if err != nil {
		return nil, err
	}
	first := copies[0]
	threads := []*thread.Thread{t}
	t.Subagent = first.Parent != "" || first.Hidden
	for _, next := range o.p.rest(w, first) {
		t, err := o.p.open(beside, []*Found{next})
		if err != nil {
			return nil, err
		}
		t.Subagent = next.Parent != "" || next.Hidden
		threads = append(threads, t)
	}
	for _, t := range threads {
		if t.ID != "" {
			list = append(list, t)
		}
	}
	return list, w.Err(first.Path)
}
