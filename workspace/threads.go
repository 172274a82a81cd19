package workspace

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/threadindex"
	"github.com/agent-handoff/handoff/thread"
)

// ThreadOptions select conversations. Those that are zero select all, except Dir.
type ThreadOptions struct {
	Providers    []string
	Dir          string // and the directories below it; "" for this repository with its worktrees
	Everywhere   bool   // in all directories
	Role         string // role or name of one of their subagents
	Since, Until string // a time, see ParseTime: last written at or after, before
	Status       thread.Status
	Model        string // part of the name of a model that they used
	Limit        int    // at most so many; 0 for all
	Cursor       string // where an earlier page ended
	Agents       bool   // with their subagents
	NoIndex      bool   // read the transcripts, not the index of conversations
}

// A ThreadSelection is what a URI selects that names several conversations.
type ThreadSelection = threadindex.Selection

// SelectThreads parses a URI that names several conversations of set, such as
// agents://codex?q=WORD, agents://codex/ROLE or agents://.; directories are
// relative to dir or, after ~, to home. ok is false for other URIs. Kind: Invalid.
func SelectThreads(ctx context.Context, set *thread.Set, uri, dir, home string) (sel ThreadSelection, ok bool, err error) {
	return threadindex.NewFiles(set).Select(ctx, uri, dir, home)
}

// A ThreadPage is a page of conversations.
type ThreadPage = threadindex.Page

// Threads lists the conversations that the agent tools of set keep on this
// machine, newest first. Subagents are not conversations of their own.
//
// Kinds: Invalid (a time, a status, the cursor), Unsupported (a provider).
func (w *Workspace) Threads(ctx context.Context, set *thread.Set, o ThreadOptions) (ThreadPage, error) {
	if err := w.hub.Closed(); err != nil {
		return ThreadPage{}, err
	}
	q, err := w.threadQuery(o)
	if err != nil {
		return ThreadPage{}, err
	}
	page, err := w.archive(set, o).List(ctx, q)
	if err != nil || !o.Agents {
		return page, err
	}
	for i := range page.Threads {
		item := &page.Threads[i]
		p, err := set.Provider(item.Provider)
		if err != nil {
			return page, err
		}
		if item.Agents, err = p.Agents(ctx, item.Thread); err != nil {
			page.Warnings = append(page.Warnings, err.Error())
		}
	}
	return page, ctx.Err()
}

// An archive answers queries about conversations.
type archive interface {
	List(context.Context, threadindex.Query) (threadindex.Page, error)
	Search(context.Context, threadindex.Search) (threadindex.Result, error)
	Collisions(context.Context, threadindex.Query) (threadindex.Collisions, error)
	EachUsage(context.Context, threadindex.Query, func(threadindex.ThreadUsage) error) (warnings []string, err error)
	threadindex.Finder
	Lookup(ctx context.Context, most int, do func(threadindex.Lookup) error) (warnings []string, err error)
}

// archive returns the index of conversations, or their files.
func (w *Workspace) archive(set *thread.Set, o ThreadOptions) archive {
	files := threadindex.NewFiles(set)
	if o.NoIndex || w.cache == "" {
		return files
	}
	var progress func(done, total int)
	if w.progress != nil {
		progress = func(done, total int) { w.progress(handoff.Seq(done), handoff.Seq(total)) }
	}
	return threadindex.NewIndex(files, filepath.Join(w.cache, "threads", threadindex.FileName(set.Roots())), w.now, progress)
}

// ThreadSearch selects conversations and subagents by what they contain.
type ThreadSearch struct {
	ThreadOptions

	// Text is words, phrases in double quotes, and prefixes that end in *. All must
	// be found in a conversation, in any case.
	Text string

	From   string // role whose texts are searched, see ThreadRoles; "" for all, and titles
	Tool   string // name of a tool that it called
	Path   string // a file that its calls name, the end of its path, or a directory with it
	Newest bool   // order by time only
}

// ThreadRoles returns the roles that a ThreadSearch can select.
func ThreadRoles() []string { return threadindex.SearchRoles() }

// ThreadMatches are the conversations and subagents that were found. Those found by
// their title are first, then those found by what the user wrote, each newest
// first.
type ThreadMatches = threadindex.Result

// A ThreadMatch is a conversation or subagent that was found.
type ThreadMatch = threadindex.Match

// SearchThreads searches the conversations that the agent tools of set keep on
// this machine, including subagents. The first search builds an index of them in
// the user's cache directory; each further one reads what has changed since.
//
// Kinds: Invalid (no word, a time, a status, a role), Unsupported (a provider).
func (w *Workspace) SearchThreads(ctx context.Context, set *thread.Set, o ThreadSearch) (ThreadMatches, error) {
	if err := w.hub.Closed(); err != nil {
		return ThreadMatches{}, err
	}
	q, err := w.threadQuery(o.ThreadOptions)
	if err != nil {
		return ThreadMatches{}, err
	}
	return w.archive(set, o.ThreadOptions).Search(ctx, threadindex.Search{Query: q, Text: o.Text, From: o.From, Tool: o.Tool, Path: o.Path, Newest: o.Newest})
}

// ThreadCollisions are files that two conversations or subagents changed.
type ThreadCollisions = threadindex.Collisions

// A ThreadCollision is one of them.
type ThreadCollision = threadindex.Collision

// Collisions returns the files that two conversations or subagents changed, each
// while the other was active. Of o, Dir and Everywhere select the files, Since and
// Until the time of the changes, and Providers the conversations. A parent that
// changed a file before it started a subagent, or after the subagent ended, does
// not collide with it.
//
// Kinds: Invalid (a time), Unsupported (a provider).
func (w *Workspace) Collisions(ctx context.Context, set *thread.Set, o ThreadOptions) (ThreadCollisions, error) {
	if err := w.hub.Closed(); err != nil {
		return ThreadCollisions{}, err
	}
	q, err := w.threadQuery(o)
	if err != nil {
		return ThreadCollisions{}, err
	}
	return w.archive(set, o).Collisions(ctx, q)
}

func (w *Workspace) threadQuery(o ThreadOptions) (q threadindex.Query, err error) {
	if o.Limit < 0 {
		return q, invalid("limit", strconv.Itoa(o.Limit), "is negative", "0 lists all")
	}
	if o.Status != "" && !slices.Contains(thread.Statuses(), string(o.Status)) {
		return q, invalid("status", string(o.Status), "unknown status", "the statuses are "+strings.Join(thread.Statuses(), ", "))
	}
	q = threadindex.Query{Providers: o.Providers, Role: o.Role, Status: o.Status, Model: o.Model, Limit: o.Limit, Cursor: o.Cursor}
	switch {
	case o.Everywhere:
	case o.Dir != "":
		q.In = threadindex.In(w.path(o.Dir))
	default:
		q.In = threadindex.In(w.dirs.Worktrees()...)
	}
	q.Since, q.Until, err = w.times(o.Since, o.Until)
	return q, err
}

// InRepository reports whether a directory is in this repository or one of its
// worktrees, so that a conversation there belongs to it.
func (w *Workspace) InRepository(dir string) bool {
	return threadindex.In(w.dirs.Worktrees()...)(dir)
}
