// Package archive has what the providers of tools with simple stores have in common:
// transcripts that are found by names of files or by rows of a database, and whose
// records have the order of the thread.
//
// Such a provider is a [Tool], which finds transcripts, and a [Decoder] of records.
// Threads are only found by comparing IDs with those that Find returns. No path is
// built from an ID, so an ID can't lead outside the directories of the tool.
package archive

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A Found is a transcript that was found, and not yet read.
type Found struct {
	ID     string
	Path   string // absolute
	Parent string // ID of the session, if it is a subagent
	Proof  string // how the store shows that it is a subagent of Parent
	Alias  string // another name; "" if there is none
	Local  bool   // the ID identifies a subagent only together with Parent
	Hidden bool   // a subagent whose parent is not recorded; it is not listed
	Err    error  // why it can't be read; it is then not listed

	Modified time.Time // when it was last changed, if the store records that

	// Open sets the metadata and the Reader of the thread. The other fields, and the
	// time of modification, are set before.
	Open func(w *thread.Walk, t *thread.Thread)
}

// A Tool describes the store of a tool.
type Tool struct {
	Name string
	Env  string // environment variable that sets the roots

	// Find returns all transcripts in the roots, also those of subagents. Of several
	// with the same ID, the first is preferred. Errors that do not prevent finding
	// others are collected in w.
	Find func(ctx context.Context, w *thread.Walk, roots []string) ([]Found, error)

	// Inside is set if the transcripts, which are files of lines, have those of subagents.
	// One that is named without its session is searched for in all of them.
	Inside bool
}

// Open is the Driver.Open of the tool.
func (t Tool) Open(roots []string) (thread.Provider, error) { return &provider{t, roots}, nil }

type provider struct {
	Tool
	roots []string
}

// Thread implements thread.Provider.
func (p *provider) Thread(ctx context.Context, id string) (*thread.Thread, error) {
	w := thread.NewWalk(ctx)
	all, err := p.Find(ctx, w, p.roots)
	var copies []Found
	var ids []string
	for _, f := range all {
		if f.Local {
			continue
		}
		ids = append(ids, f.ID)
		if f.ID == id || f.Alias == id && id != "" {
			copies = append(copies, f)
		}
	}
	switch {
	case copies != nil:
		return p.open(w, copies)
	case err != nil:
		return nil, err
	case w.Err(p.Name) != nil:
		return nil, w.Err(p.Name + "/" + id)
	case p.Inside:
		if t, err := p.inside(ctx, w, all, id); t != nil || err != nil {
			return t, err
		}
	}
	return nil, thread.NotFoundError(p.Name, id, p.roots, p.Env, ids)
}

// inside finds a subagent in the transcripts of sessions by its ID or another name.
func (p *provider) inside(ctx context.Context, w *thread.Walk, all []Found, id string) (*thread.Thread, error) {
	for _, f := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if f.Err != nil || !mentions(f.Path, id) {
			continue
		}
		main, err := p.open(w, []Found{f})
		if err != nil {
			return nil, err
		}
		agents, err := p.Agents(ctx, main)
		for _, a := range agents {
			if a.Thread != nil && (a.ID == id || slices.Contains(a.Aliases, id)) {
				a.Thread.Subagent, a.Thread.Parent = true, cmp.Or(a.Thread.Parent, main.ID)
				a.Thread.AgentName, a.Thread.AgentRole = cmp.Or(a.Thread.AgentName, a.Name), cmp.Or(a.Thread.AgentRole, a.Role)
				return a.Thread, nil
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// mentions reports whether a line of a file contains a text.
func mentions(path, text string) bool {
	src, err := thread.OpenFile(path)
	if err != nil {
		return false
	}
	defer src.Close()
	for rd := jsonl.NewReader(src); rd.Next(); {
		if bytes.Contains(rd.Line(), []byte(text)) {
			return true
		}
	}
	return false
}

// open opens the first of several copies of a thread.
func (p *provider) open(w *thread.Walk, copies []Found) (*thread.Thread, error) {
	f := copies[0]
	if f.Err != nil {
		return nil, f.Err
	}
	if _, err := os.Stat(f.Path); err != nil {
		return nil, thread.UnreadableError(f.Path, err)
	}
	t := &thread.Thread{Provider: p.Name, ID: f.ID, Source: f.Path, Parent: f.Parent, Modified: f.modified(w)}
	f.Open(w, t)
	for _, c := range copies[1:] {
		if c.Path != f.Path {
			t.WarnCopy(c.Path)
		}
	}
	return t, nil
}

// modified returns when the transcript was last changed: as the store records it,
// otherwise when its file or the write-ahead log of its database was written.
func (f Found) modified(w *thread.Walk) time.Time {
	if !f.Modified.IsZero() {
		return f.Modified
	}
	at := w.StatFile(f.Path).Modified
	if ext := filepath.Ext(f.Path); ext == ".jsonl" || ext == ".json" { // no database
		return at
	}
	if log := w.StatFile(f.Path + "-wal").Modified; log.After(at) {
		return log
	}
	return at
}

// Threads implements thread.Provider.
func (p *provider) Threads(ctx context.Context) iter.Seq2[*thread.Thread, error] {
	w := thread.NewWalk(ctx)
	find := func() ([]Found, error) {
		all, err := p.Find(ctx, w, p.roots)
		if err == nil {
			err = w.Err(p.Name)
		}
		return slices.DeleteFunc(all, func(f Found) bool { return f.Parent != "" || f.Hidden || f.Err != nil }), err
	}
	return thread.List(ctx, find, func(f Found) string { return f.ID }, func(copies []Found) (*thread.Thread, error) {
		return p.open(w, copies)
	})
}

// Agents implements thread.Provider. A subagent is one that the transcript mentions,
// or one that the store has as a subagent of the thread.
func (p *provider) Agents(ctx context.Context, main *thread.Thread) ([]thread.Agent, error) {
	r, err := thread.ReaderOf[*Reader](ctx, main)
	if err != nil {
		return nil, err
	}
	children, found, err := p.children(ctx, main, r)
	if err != nil {
		return nil, err
	}
	same := func(a *thread.Agent, t *thread.Thread) bool { return a.ID == t.ID || slices.Contains(a.Aliases, t.ID) }
	return thread.Join(r.agents, children, same,
		func(mention *thread.Agent, child *thread.Thread) (a thread.Agent, err error) {
			if mention != nil {
				a = *mention
				a.Aliases, a.Evidence = slices.Clone(a.Aliases), slices.Clone(a.Evidence)
			}
			if child == nil {
				a.Complete(main, thread.Facts{})
				return a, nil
			}
			if a.ID != "" && a.ID != child.ID {
				a.Aliases = append(a.Aliases, a.ID)
			}
			f := found[child.ID]
			if f.Proof != "" {
				a.Evidence = append(a.Evidence, f.Proof)
			}
			if f.Alias != "" {
				a.Aliases = append(a.Aliases, f.Alias)
			}
			if len(a.Lifecycle) == 0 {
				a.AddEvent(child.Started, "start", "from the subagent's transcript; the parent's does not mention it")
			}
			a.Thread, err = child, child.Load(ctx)
			a.Name, a.Role = cmp.Or(a.Name, child.AgentName), cmp.Or(a.Role, child.AgentRole)
			a.Complete(main, child.Facts)
			return a, err
		})
}

// children opens the transcripts of main's subagents, in the order they were started.
func (p *provider) children(ctx context.Context, main *thread.Thread, r *Reader) ([]*thread.Thread, map[string]Found,
	error) {
	w := thread.NewWalk(ctx)
	all, err := p.Find(ctx, w, p.roots)
	if err == nil {
		err = w.Err(p.Name)
	}
	if err != nil {
		return nil, nil, err
	}
	found := map[string]Found{}
	var files []Found
	for _, f := range all {
		if f.Parent == main.ID && f.Err == nil {
			files, found[f.ID] = append(files, f), f
		}
	}
	list, err := thread.Children(main, files, func(f Found) string { return f.ID },
		func(copies []Found) (*thread.Thread, error) {
			return p.open(w, copies)
		})
	for _, a := range r.agents {
		if _, own := found[a.ID]; r.Slice == nil || own {
			continue
		}
		if slice := r.slice(main, a); slice != nil {
			list = append(list, slice)
		}
	}
	return list, found, err
}

// slice returns the thread of a subagent whose records are in the transcript of
// main, nil if they are not.
func (r *Reader) slice(main *thread.Thread, a *thread.Agent) *thread.Thread {
	slice := r.Slice(a)
	if slice == nil {
		return nil
	}
	t := &thread.Thread{Provider: main.Provider, ID: a.ID, Source: main.Source, Parent: main.ID, Modified: main.Modified,
		AgentName: a.Name, AgentRole: a.Role, Cwd: main.Cwd, Reader: slice}
	if len(a.Lifecycle) > 0 {
		t.Started = a.Lifecycle[0].Time
	}
	return t
}
