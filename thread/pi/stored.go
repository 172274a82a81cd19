package pi

import (
	"context"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/thread"
)

// Stored implements thread.Lister. The headers of sessions that have a directory
// are read, because the ones in it belong to them.
func (p *provider) Stored(ctx context.Context) iter.Seq2[*thread.Stored, error] {
	return func(yield func(*thread.Stored, error) bool) {
		t := newTree(ctx)
		var found []*thread.Stored
		add := func(f session, s *thread.Stored) {
			s.Opener = thread.OpenFunc(func(ctx context.Context) ([]*thread.Thread, error) {
				return p.threadsIn(newTree(ctx), f)
			})
			found = append(found, s)
		}
		for _, folder := range p.folders(t) {
			for _, f := range folder.Files {
				s := new(thread.Stored)
				s.SetFiles([]string{f.Path}, []thread.FileStat{f.FileStat})
				add(session{dir: folder.Path, name: f.Name}, s)
			}
			for _, name := range folder.Dirs {
				if !owned(folder, name) {
					continue
				}
				owner := session{dir: folder.Path, name: name + ext}
				owner.head = t.head(owner)
				for _, f := range t.descend(owner, maxDepth) {
					if s, ok := t.StatStored([]string{f.path()}); ok {
						add(f, s)
					}
				}
			}
		}
		if err := t.Err(name); err != nil && !yield(nil, err) {
			return
		}
		for _, s := range found {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// folders returns the roots and the directories of projects in them.
func (p *provider) folders(t tree) []thread.Folder {
	roots := make([]string, len(p.roots))
	for i, root := range p.roots {
		roots[i] = filepath.Clean(root)
	}
	folders := t.Folders(roots, 1, func(name string) bool { return strings.HasSuffix(name, ext) })
	return slices.DeleteFunc(folders, func(f thread.Folder) bool {
		name := filepath.Base(f.Path)
		return f.Path != roots[f.Root] && (name == artifacts || owned(folders[f.Root], name))
	})
}

// owned reports whether a directory has the name of a session beside it: it contains
// the sessions of its subagents.
func owned(in thread.Folder, name string) bool {
	_, found := slices.BinarySearchFunc(in.Files, name+ext, func(f thread.FolderFile, name string) int {
		return strings.Compare(f.Name, name)
	})
	return found
}

// threadsIn opens the threads in the file of a session.
func (p *provider) threadsIn(t tree, s session) (list []*thread.Thread, err error) {
	s.head = t.head(s)
	for _, s := range append([]session{s}, t.further(s)...) {
		opened, err := p.open([]session{s})
		if err != nil {
			return nil, err
		}
		opened.Subagent = s.subagent()
		list = append(list, opened)
	}
	return list, t.Err(s.path())
}
