package archive

import (
	"context"
	"io/fs"
	"iter"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff/thread"
)

// Stored implements thread.Lister. A write to a database changes the stamps of all
// threads in it.
func (p *provider) Stored(ctx context.Context) iter.Seq2[*thread.Stored, error] {
	return func(yield func(*thread.Stored, error) bool) {
		w := thread.NewWalk(ctx)
		all, err := p.Find(ctx, w, p.roots)
		if err == nil {
			err = w.Err(p.Name)
		}
		if err != nil && !yield(nil, err) {
			return
		}
		dirs := map[string][]fs.DirEntry{}
		groups := thread.GroupByID(all, func(f Found) string {
			if f.Local {
				return f.Parent + "/" + f.ID
			}
			return f.ID
		})
		for _, copies := range groups {
			f := copies[0]
			if f.Err != nil {
				continue
			}
			dir := filepath.Dir(f.Path)
			if _, known := dirs[dir]; !known {
				dirs[dir] = w.ReadDir(dir)
			}
			s, ok := p.stored(w, copies, dirs[dir])
			if ok && !yield(s, nil) {
				return
			}
		}
	}
}

// stored returns the transcript of a thread, whose directory has the entries.
func (p *provider) stored(w *thread.Walk, copies []Found, entries []fs.DirEntry) (*thread.Stored, bool) {
	f := copies[0]
	s, ok := w.StatStored([]string{f.Path}, beside(f.Path, entries)...)
	s.Modified = f.modified(w)
	s.Key, s.Texts = f.Path+"#"+f.Parent+"/"+f.ID, nil
	s.Opener = thread.OpenFunc(func(ctx context.Context) ([]*thread.Thread, error) {
		t, err := p.open(thread.NewWalk(ctx), copies)
		if err != nil {
			return nil, err
		}
		t.Subagent = f.Parent != "" || f.Hidden
		list := []*thread.Thread{t}
		r, ok := t.Reader.(*Reader)
		if !ok || r.Slice == nil {
			return list, nil
		}
		if err := t.Load(ctx); err != nil {
			return nil, err
		}
		for _, a := range r.agents {
			if slice := r.slice(t, a); slice != nil {
				list = append(list, slice)
			}
		}
		return list, nil
	})
	return s, ok
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
