// Package claude reads the threads of Claude Code. Each is a transcript: a file
// with one JSON record per line.
//
// Transcripts are in projects/FOLDER in a home directory of the tool, ~/.claude,
// ~/.config/claude or those in $CLAUDE_CONFIG_DIR. A file is named after its
// session, or agent-ID for a subagent. Subagents are beside their session or, in
// newer versions, in a directory named after it. FOLDER encodes the working
// directory with loss, so it is never decoded. The tool removes transcripts after
// some weeks; other files still name a removed one.
//
// The format is undocumented. docs/threads.md lists the facts this package relies
// on, which were found in published transcripts of versions 2.0.72 to 2.1.235.
package claude

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/thread"
)

const (
	name = "claude"
	env  = "CLAUDE_CONFIG_DIR" // home directories, separated by commas
	home = "HOME"              // the variable of forks, which have none of their own
)

// homes are the home directories of the tool, relative to the user's. The last
// three contain the home directories of the desktop app.
var homes = []string{
	".config/claude", ".claude",
	"Library/Application Support/Claude/" + desktop, "AppData/Roaming/Claude/" + desktop, ".config/Claude/" + desktop,
}

// Driver returns the driver of Claude Code.
func Driver() thread.Driver {
	return thread.Driver{Name: name, Env: env, ID: thread.UUIDs, Roots: roots, Beside: beside, Open: opener(name, env),
		Resume: []string{name, "--resume"}}
}

// beside has the role of a subagent.
var beside = []string{"*" + metaExt}

// opener returns the Driver.Open of a tool.
func opener(name, env string) func([]string) (thread.Provider, error) {
	return func(roots []string) (thread.Provider, error) {
		return &provider{name: name, env: env, roots: roots, index: index{folders: map[string]*heads{}}}, nil
	}
}

func roots(getenv func(string) string, home string) []string {
	var dirs []string
	for dir := range strings.SplitSeq(getenv(env), ",") {
		if dir = strings.TrimSpace(dir); dir != "" {
			dirs = append(dirs, dir)
		}
	}
	if dirs != nil {
		return dirs
	}
	for _, dir := range homes {
		dirs = append(dirs, filepath.Join(home, filepath.FromSlash(dir)))
	}
	return dirs
}

type provider struct {
	name, env string // of the tool

	roots []string
	index index
}

func (p *provider) Thread(ctx context.Context, id string) (*thread.Thread, error) {
	projects, err := p.projects(ctx)
	if err != nil {
		return nil, err
	}
	t := newTree(ctx)
	copies := t.sessions(projects, id)
	if len(copies) == 0 {
		copies = t.agentFiles(projects, id)
	}
	if len(copies) > 0 {
		return p.open(ctx, copies)
	}
	if err := t.Err(p.name + "/" + id); err != nil {
		return nil, err
	}
	return nil, p.notFound(ctx, projects, id)
}

// notFound returns the error for an ID without a transcript: Unavailable if there
// was one.
func (p *provider) notFound(ctx context.Context, projects []string, id string) error {
	trace, subagents, err := p.traces(ctx, projects, id)
	if err != nil {
		return err
	}
	if trace == "" {
		var ids []string
		t := newTree(ctx)
		for _, dir := range projects {
			for _, e := range t.ReadDir(dir) {
				if stem, ok := strings.CutSuffix(e.Name(), plain); ok {
					ids = append(ids, strings.TrimPrefix(stem, prefix))
				}
			}
		}
		return thread.NotFoundError(p.name, id, p.roots, p.env, ids)
	}
	hint := "the tool removes transcripts after the number of days in its setting cleanupPeriodDays"
	if len(subagents) > 0 {
		hint = "these subagents of it still exist: " + p.name + "/" + strings.Join(subagents, ", "+p.name+"/")
	}
	return handoff.E("thread", p.name+"/"+id, handoff.Unavailable, errors.New("the transcript was removed: "+trace),
		handoff.Advice(hint))
}

// open opens the newest of several copies of a thread.
func (p *provider) open(ctx context.Context, copies []file) (*thread.Thread, error) {
	order.Sort(copies, newestFirst)
	t, err := p.openFile(copies[0])
	if err != nil {
		return nil, err
	}
	for _, c := range copies[1:] {
		t.WarnCopy(c.path)
	}
	r := t.Reader.(*transcript)
	if r.file.agent {
		return t, r.findParent(ctx, t)
	}
	copied, from := p.origin(ctx, r.file, r.meta)
	r.copied, t.ForkedFrom = copied, cmp.Or(t.ForkedFrom, from)
	return t, ctx.Err()
}

// openFile opens a transcript. The parent of a subagent is set to the session of
// its directory or of its records.
func (p *provider) openFile(f file) (*thread.Thread, error) {
	m, err := readMeta(f)
	if err != nil {
		return nil, thread.UnreadableError(f.path, err)
	}
	return p.thread(f, m), nil
}

// thread returns the thread in a transcript.
func (p *provider) thread(f file, m meta) *thread.Thread {
	t := &thread.Thread{
		Provider: p.name, ID: f.id, Source: f.path, Modified: f.modified,
		Title: m.title, Cwd: m.cwd, Branch: m.branch, Version: m.version, Started: m.started,
	}
	if f.agent {
		t.Parent, t.AgentName, t.AgentRole = cmp.Or(f.session, m.session), m.name, m.role
		t.Described = m.described
	} else if m.session != "" && m.session != f.id {
		if m.copied = m.last == f.id; m.copied {
			t.ForkedFrom = m.session
		} else {
			t.WarnID(f.id, m.session)
		}
	}
	t.ForkedFrom = cmp.Or(m.forkedFrom, t.ForkedFrom)
	if f.size == 0 {
		t.Warn("the transcript is empty")
	}
	t.Reader = &transcript{p: p, file: f, meta: m}
	return t
}

func (p *provider) Threads(ctx context.Context) iter.Seq2[*thread.Thread, error] {
	find := func() ([]file, error) {
		projects, err := p.projects(ctx)
		t := newTree(ctx)
		var list []file
		for _, dir := range projects {
			files, _ := t.folder(dir, false)
			list = append(list, files...)
		}
		order.Sort(list, newestFirst)
		return list, errors.Join(err, t.Err(p.name))
	}
	open := func(copies []file) (*thread.Thread, error) { return p.open(ctx, copies) }
	return thread.List(ctx, find, func(f file) string { return f.id }, open)
}

// newestFirst orders transcripts by their last write.
func newestFirst(a, b file) int {
	return cmp.Or(b.modified.Compare(a.modified), cmp.Compare(b.size, a.size), cmp.Compare(a.id, b.id))
}
