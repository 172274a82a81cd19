package claude

import (
	"cmp"
	"context"
	"io/fs"
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
		found, errs := make([][]file, len(projects)), make([]error, len(projects))
		thread.Parallel(len(projects), func(i int) {
			t := newTree(ctx)
			found[i], errs[i] = t.all(projects[i]), t.Err(p.name)
		})
		var files []file
		for i := range projects {
			if errs[i] != nil && !yield(thread.Stored{}, errs[i]) {
				return
			}
			files = append(files, found[i]...)
		}
		key := func(f file) string {
			if f.agent {
				return prefix + f.session + "/" + f.id
			}
			return f.id
		}
		groups := thread.GroupByID(files, key)
		list := make([]thread.Stored, len(groups))
		thread.Parallel(len(groups), func(i int) { list[i] = p.stored(groups[i]) })
		for _, s := range list {
			if !yield(s, nil) {
				return
			}
		}
	}
}

func (p *provider) stored(copies []file) thread.Stored {
	slices.SortStableFunc(copies, newestFirst)
	var paths []string
	var infos []fs.FileInfo
	for _, c := range copies {
		paths, infos = append(paths, c.path), append(infos, c.info)
	}
	var also []string
	if copies[0].agent {
		also = []string{strings.TrimSuffix(paths[0], plain) + ".meta.json"}
	}
	s := thread.NewStored(paths, infos, also...)
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
	return s
}
