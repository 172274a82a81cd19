package claude

import (
	"cmp"
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
		projects, err := p.projects(ctx)
		if err != nil && !yield(thread.Stored{}, err) {
			return
		}
		w := thread.NewWalk(ctx)
		files := storedFiles(w, projects)
		if err := w.Err(p.name); err != nil && !yield(thread.Stored{}, err) {
			return
		}
		groups := thread.GroupByID(files, func(f storedFile) string {
			if f.agent {
				return prefix + f.session + "/" + f.id
			}
			return f.id
		})
		for _, copies := range groups {
			if !yield(p.stored(copies), nil) {
				return
			}
		}
	}
}

// A storedFile is a transcript as its directory has it.
type storedFile struct {
	file
	stat, meta thread.FileStat // of the file, and of the metadata of a subagent
}

const metaExt = ".meta.json"

// storedFiles returns the transcripts of projects, those of subagents included.
func storedFiles(w *thread.Walk, projects []string) (files []storedFile) {
	wanted := func(name string) bool {
		_, ok := stemOf(name)
		return ok || strings.HasPrefix(name, prefix) && strings.HasSuffix(name, metaExt)
	}
	var nested, sessions []string // directories of subagents, and whose they are
	folders := w.Folders(projects, 0, wanted)
	files = slices.Grow(files, thread.CountFiles(folders))
	for _, f := range folders {
		files = appendFiles(files, f, "")
		for _, session := range f.Dirs {
			nested, sessions = append(nested, filepath.Join(f.Path, session, agentDir)), append(sessions, session)
		}
	}
	folders = w.Folders(nested, maxDepth, wanted)
	files = slices.Grow(files, thread.CountFiles(folders))
	for _, f := range folders {
		files = appendFiles(files, f, sessions[f.Root])
	}
	return files
}

// appendFiles appends the transcripts in a directory: if it is of a session, those of
// subagents.
func appendFiles(files []storedFile, in thread.Folder, session string) []storedFile {
	metas := map[string]thread.FileStat{}
	for _, f := range in.Files {
		if stem, ok := strings.CutSuffix(f.Name, metaExt); ok {
			metas[stem] = f.FileStat
		}
	}
	for _, f := range in.Files {
		stem, ok := stemOf(f.Name)
		if !ok || session != "" && !strings.HasPrefix(stem, prefix) {
			continue
		}
		found := storedFile{newFile(in.Path+string(filepath.Separator)+f.Name, stem, f.Size, f.Modified), f.FileStat, metas[stem]}
		found.session = session
		files = append(files, found)
	}
	return files
}

func (p *provider) stored(found []storedFile) thread.Stored {
	slices.SortStableFunc(found, func(a, b storedFile) int { return newestFirst(a.file, b.file) })
	copies, paths, stats := make([]file, len(found)), make([]string, len(found)), make([]thread.FileStat, len(found), len(found)+1)
	for i, f := range found {
		copies[i], paths[i], stats[i] = f.file, f.path, f.stat
	}
	if copies[0].agent {
		stats = append(stats, found[0].meta)
	}
	s := thread.NewStored(paths, stats)
	s.Open = func(ctx context.Context) ([]*thread.Thread, error) {
		open := func() (*thread.Thread, error) { return p.open(ctx, copies) }
		if copies[0].agent {
			open = func() (*thread.Thread, error) { return p.openFile(copies[0]) }
		}
		t, err := open()
		if err != nil {
			return nil, err
		}
		return []*thread.Thread{identify(t)}, nil
	}
	s.Usage = func(ctx context.Context) ([]*thread.Thread, error) {
		t, err := p.readUsage(ctx, copies[0])
		if err == nil && t == nil {
			return thread.Stored{Open: s.Open}.LoadUsage(ctx)
		}
		if err != nil {
			return nil, err
		}
		return []*thread.Thread{identify(t)}, nil
	}
	return s
}

// identify sets what distinguishes a thread of several transcripts.
func identify(t *thread.Thread) *thread.Thread {
	r := t.Reader.(*transcript)
	if t.Subagent = r.file.agent; t.Subagent {
		t.ID = cmp.Or(r.meta.agent, t.ID)
	} else if r.meta.firstID != "" {
		t.Family = filepath.Dir(r.file.path) + "#" + r.meta.firstID
	}
	return t
}
