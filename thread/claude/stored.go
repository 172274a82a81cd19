package claude

import (
	"cmp"
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
		projects, err := p.projects(ctx)
		if err != nil && !yield(nil, err) {
			return
		}
		w := thread.NewWalk(ctx)
		files, dirs := storedFiles(w, projects)
		if err := w.Err(p.name); err != nil && !yield(nil, err) {
			return
		}
		groups := thread.GroupByID(files, func(f storedFile) string {
			if f.agent {
				return prefix + f.session + "/" + f.id
			}
			return f.id
		})
		known := map[string]bool{}
		for _, f := range files {
			if f.agent {
				known[f.name()] = true
			}
		}
		found, threads := make([]thread.Stored, len(groups)), make([]storedThread, len(groups))
		thread.Parallel(len(groups), func(i int) {
			threads[i] = storedThread{p, groups[i], known, dirs[groups[i][0].id]}
			threads[i].describe(&found[i])
		})
		for i := range found {
			if !yield(&found[i], nil) {
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

// name returns the ID of a subagent, with its session if its directory names it.
func (f storedFile) name() string { return strings.TrimPrefix(f.session+"/"+f.id, "/") }

const metaExt = ".meta.json"

// storedFiles returns the transcripts of projects, those of subagents included, and the
// directories of those of each session.
func storedFiles(w *thread.Walk, projects []string) (files []storedFile, dirs map[string][]thread.FileStat) {
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
	dirs = map[string][]thread.FileStat{}
	for _, f := range folders {
		session := sessions[f.Root]
		if found := len(files); f.Path == nested[f.Root] {
			if files = appendFiles(files, f, session); len(files) > found {
				id := thread.LowerUUID(session)
				dirs[id] = append(dirs[id], w.StatFile(f.Path))
			}
			continue
		}
		files = appendFiles(files, f, session)
	}
	return files, dirs
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
		found := storedFile{newFile(f.Path, stem, f.Size, f.Modified), f.FileStat, metas[stem]}
		found.session = session
		files = append(files, found)
	}
	return files
}

// A storedThread is a thread with its files.
type storedThread struct {
	p      *provider
	copies []storedFile      // the newest first
	known  map[string]bool   // subagents with a transcript, by storedFile.name
	dirs   []thread.FileStat // directories of those of a session
}

// describe sets what the files show.
func (t *storedThread) describe(s *thread.Stored) {
	order.Sort(t.copies, func(a, b storedFile) int { return newestFirst(a.file, b.file) })
	paths, stats := make([]string, len(t.copies)), make([]thread.FileStat, 0, 4) // stats are not on the heap
	for i, f := range t.copies {
		paths[i], stats = f.path, append(stats, f.stat)
	}
	if t.copies[0].agent {
		stats = append(stats, t.copies[0].meta)
	} else {
		stats = append(stats, t.dirs...)
	}
	s.SetFiles(paths, stats)
	s.Opener = t
}

// Open implements thread.Opener.
func (t *storedThread) Open(ctx context.Context) ([]*thread.Thread, error) {
	opened, err := t.open(ctx)
	if err != nil {
		return nil, err
	}
	parts, err := t.p.parts(ctx, opened, t.known)
	return append([]*thread.Thread{identify(opened)}, parts...), err
}

func (t *storedThread) open(ctx context.Context) (*thread.Thread, error) {
	if t.copies[0].agent {
		return t.p.openFile(t.copies[0].file)
	}
	copies := make([]file, len(t.copies))
	for i, f := range t.copies {
		copies[i] = f.file
	}
	return t.p.open(ctx, copies)
}

// ReadUsage implements thread.UsageReader.
func (t *storedThread) ReadUsage(ctx context.Context) (list []*thread.Thread, ok bool, err error) {
	found, err := t.p.readUsage(ctx, t.copies[0].file)
	if found == nil || err != nil {
		return nil, false, err
	}
	return []*thread.Thread{identify(found)}, true, nil
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
