// Package claude reads the threads of Claude Code and of the tools that write
// its format: transcripts, files of one JSON record a line.
//
// A transcript lies in projects/<folder> below one of the tool's homes. It is
// named after its session, or agent-<id> if it is a subagent's. Subagents lie
// beside their session or, in newer versions, in a folder named after it. The
// folder's name is the working directory, encoded with loss, and never decoded.
// Transcripts are removed after some weeks; what they leave behind tells one
// that was removed from one that never was.
//
// What a transcript says, and since which version, is in docs/threads.md.
package claude

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
)

// A Fork is a tool that writes this format.
type Fork struct {
	Name    string   // of the provider
	Env     string   // the variable that names its homes, separated by commas
	Dirs    []string // its homes below the user's
	Desktop []string // folders below the user's in which the desktop app keeps homes of its own
}

// Claude is the tool itself.
var Claude = Fork{
	Name: "claude", Env: "CLAUDE_CONFIG_DIR", Dirs: []string{".config/claude", ".claude"},
	Desktop: []string{"Library/Application Support/Claude/" + desktop, "AppData/Roaming/Claude/" + desktop, ".config/Claude/" + desktop},
}

// Driver returns the driver of Claude Code.
func Driver() thread.Driver { return Claude.Driver() }

// Driver returns the driver of f.
func (f Fork) Driver() thread.Driver {
	return thread.Driver{
		Name:  f.Name,
		ID:    thread.UUIDs,
		Roots: f.roots,
		Open: func(roots []string) (thread.Provider, error) {
			return &provider{name: f.Name, roots: roots, index: index{folders: map[string]*heads{}}}, nil
		},
	}
}

func (f Fork) roots(getenv func(string) string, home string) []string {
	var roots []string
	for dir := range strings.SplitSeq(getenv(f.Env), ",") {
		if dir = strings.TrimSpace(dir); dir != "" {
			roots = append(roots, dir)
		}
	}
	if roots != nil {
		return roots
	}
	for _, dir := range append(slices.Clone(f.Dirs), f.Desktop...) {
		roots = append(roots, filepath.Join(home, filepath.FromSlash(dir)))
	}
	return roots
}

type provider struct {
	name  string
	roots []string
	index index
}

func (p *provider) Thread(ctx context.Context, id string) (*thread.Thread, error) {
	projects, err := p.projects(ctx)
	if err != nil {
		return nil, err
	}
	copies := sessions(projects, id)
	if len(copies) == 0 {
		if copies, err = agentFiles(ctx, projects, id); err != nil {
			return nil, err
		}
	}
	if len(copies) == 0 {
		return nil, p.missing(ctx, projects, id)
	}
	return p.open(ctx, copies)
}

// missing says that there is no transcript of id, and whether there was.
func (p *provider) missing(ctx context.Context, projects []string, id string) error {
	trace, left, err := p.traces(ctx, projects, id)
	if err != nil {
		return err
	}
	if trace == "" {
		return thread.Missing(p.name, id, p.roots)
	}
	hint := "the tool removes transcripts after some weeks; its setting cleanupPeriodDays says when"
	if len(left) > 0 {
		hint = "what is left of it are subagents: " + p.name + "/" + strings.Join(left, ", "+p.name+"/")
	}
	return &handoff.Error{Op: "thread", Name: p.name + "/" + id, Kind: handoff.Unavailable, Err: errors.New("its transcript was here and is gone: " + trace), Hint: handoff.Advice(hint)}
}

// open makes a thread of the best of several copies of it: the one written last.
func (p *provider) open(ctx context.Context, copies []file) (*thread.Thread, error) {
	slices.SortStableFunc(copies, newestFirst)
	t, err := p.openFile(copies[0])
	if err != nil {
		return nil, err
	}
	for _, c := range copies[1:] {
		t.Elsewhere(c.path)
	}
	r := t.Reader.(*transcript)
	if r.file.agent {
		return t, r.findParent(ctx, t)
	}
	copied, from := p.origin(ctx, r.file, r.meta)
	r.copied, t.ForkedFrom = copied, cmp.Or(t.ForkedFrom, from)
	return t, ctx.Err()
}

// openFile makes a thread of a transcript. The parent of a subagent is the
// session that it lies in, or says it belongs to.
func (p *provider) openFile(f file) (*thread.Thread, error) {
	m, err := readMeta(f)
	if err != nil {
		return nil, thread.Unreadable(f.path, err)
	}
	t := &thread.Thread{
		Provider: p.name, ID: f.id, Source: f.path, Updated: f.modified,
		Title: m.title, Cwd: m.cwd, Branch: m.branch, Version: m.version, Started: m.started,
	}
	if f.agent {
		t.Parent, t.AgentName, t.AgentRole = cmp.Or(f.session, m.session), m.name, m.role
	} else if m.session != "" && m.session != f.id {
		if m.copied = m.last == f.id; m.copied {
			t.ForkedFrom = m.session
		} else {
			t.Warn("the file is named after %s and says it is %s", f.id, m.session)
		}
	}
	if m.forkedFrom != "" {
		t.ForkedFrom = m.forkedFrom
	}
	if f.size == 0 {
		t.Warn("the transcript is empty")
	}
	t.Reader = &transcript{p: p, file: f, meta: m}
	return t, nil
}

func (p *provider) Threads(ctx context.Context) iter.Seq2[*thread.Thread, error] {
	return func(yield func(*thread.Thread, error) bool) {
		projects, err := p.projects(ctx)
		if err != nil && !yield(nil, err) {
			return
		}
		var sessions []file
		for _, dir := range projects {
			files, err := folder(dir)
			if err != nil && !yield(nil, thread.Unreadable(dir, err)) {
				return
			}
			sessions = append(sessions, slices.DeleteFunc(files, func(f file) bool { return f.agent })...)
		}
		slices.SortFunc(sessions, newestFirst)
		for _, copies := range thread.Copies(sessions, func(f file) string { return f.id }) {
			if ctx.Err() != nil {
				yield(nil, ctx.Err())
				return
			}
			if !yield(p.open(ctx, copies)) {
				return
			}
		}
	}
}

// newestFirst orders transcripts by when they were written last.
func newestFirst(a, b file) int {
	return cmp.Or(b.modified.Compare(a.modified), cmp.Compare(b.size, a.size), cmp.Compare(a.id, b.id))
}
