// Package threads has the operations on the threads that agent programs
// keep on this machine, which Workspace.Threads of package workspace returns.
package threads

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/core"
	"github.com/agent-handoff/handoff/internal/trace/activity"
	"github.com/agent-handoff/handoff/internal/trace/cost"
	"github.com/agent-handoff/handoff/internal/transcript/keep"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/transcript"
)

// A Collection is the threads that the agent programs of a set keep on this
// machine, as the caller of a workspace uses them.
type Collection struct {
	c        *core.Core
	all      keep.Transcripts
	set      *thread.Set // that of all, with the states that observer concludes
	observer thread.Observer
	others   Others
}

// Others are what threads use of other subjects.
type Others interface {
	// Elsewhere returns the error of an operation that found nothing under a name, with a
	// hint for what has that name.
	Elsewhere(ctx context.Context, op, name string, err error) error

	// Comment returns the text of a comment on an artifact.
	Comment(context.Context, handoff.Artifact, handoff.Comment) string
}

// New returns the threads of a workspace. Workspace.Threads of package workspace calls it.
func New(c *core.Core, all keep.Transcripts, o thread.Observer, others Others) Collection {
	set := all.Set
	if set != nil {
		set = set.Observed(o)
	}
	return Collection{c, all, set, o, others}
}

// Set returns the set of the collection, whose threads have their states as they are now:
// by the processes that hooks and runs recorded and that are on this machine, and by the
// time since each was last seen.
func (c Collection) Set() *thread.Set { return c.set }

// Elsewhere returns the error of an operation that found nothing under a name, which may be
// an ID, a URI or a name that another operation returned: then the hint shows what has it.
//
// Kinds: that of err; NotFound if something else has the name; Invalid (a malformed URI).
func (c Collection) Elsewhere(ctx context.Context, op, name string, err error) error {
	if err := c.c.Anonymous.Closed(); err != nil {
		return err
	}
	return c.others.Elsewhere(ctx, op, name, err)
}

// ListOptions select threads. Those that are zero select all, except Dir.
type ListOptions struct {
	Providers    []string
	Dir          string // and the directories below it; "" for this repository with its worktrees
	Everywhere   bool   // in all directories
	Gone         bool   // in directories that no longer exist and are not known to be of any repository
	Role         string // role or name of one of their subagents
	Since, Until string // a time, see ParseTime of package workspace: last written at or after, before
	Status       thread.Status
	Model        string // part of the name of a model that they used
	Title        string // part of their titles, in any case; not of a search
	All          bool   // create the index of threads if there is none, because all are needed; not of a search
	Limit        int    // the maximum number; 0 for no limit
	Cursor       string // where an earlier page ended
	Agents       bool   // with their subagents
	NoIndex      bool   // read the transcripts, not the index of threads
}

// Select parses a URI that names several threads of set, such as
// agents://codex?q=WORD, agents://codex/ROLE or agents://.; directories are
// relative to dir or, after ~, to home. ok is false for other URIs. Kind: Invalid.
func Select(ctx context.Context, set *thread.Set, uri, dir, home string) (sel transcript.Selection, ok bool,
	err error) {
	return threadindex.NewFiles(set).Select(ctx, uri, dir, home)
}

// List lists threads, newest first. Subagents are not threads of their
// own.
//
// Kinds: Invalid (a time, a status, the cursor), Unsupported (a provider).
func (c Collection) List(ctx context.Context, o ListOptions) (transcript.Page, error) {
	q, err := c.query(o)
	if err != nil {
		return transcript.Page{}, err
	}
	page, err := c.all.Archive(o.NoIndex).List(ctx, q)
	for _, i := range page.Threads {
		i.Unverified = c.set.Unverified(i.Provider)
	}
	list := itemsIn(page.Threads, func(i *transcript.Item) *transcript.Item { return i })
	if err := errors.Join(err, c.describe(ctx, list...)); err != nil || !o.Agents {
		return page, err
	}
	for i := range page.Threads {
		item := &page.Threads[i]
		if item.Agents, err = c.agents(ctx, *item); err != nil {
			page.Warnings = append(page.Warnings, err.Error())
		}
	}
	return page, ctx.Err()
}

// agents returns the subagents of a thread. One of the index has no transcript to
// read, so it is opened.
func (c Collection) agents(ctx context.Context, i transcript.Item) ([]thread.Agent, error) {
	open := c.set.Open
	if !i.KeptAt.IsZero() {
		open = c.all.OpenCopy
	}
	v, err := open(ctx, i.URI)
	if err == nil && v != nil {
		err = v.LoadAgents(ctx)
	}
	if err != nil || v == nil {
		return nil, err
	}
	return v.Agents, nil
}

// runningSince is how long ago a running thread was last active at most.
const runningSince = "7d"

// Running returns the running threads of this repository, without those that
// were not active for a week. The warnings are about transcripts that can't be read.
//
// Kinds: those of List.
func (c Collection) Running(ctx context.Context) (list []trace.RunningThread, warnings []string, err error) {
	list = []trace.RunningThread{}
	q, err := c.query(ListOptions{Status: thread.Running, Since: runningSince})
	if err != nil {
		return list, nil, err
	}
	active, warnings, err := c.active(ctx, q)
	for _, i := range active {
		if !i.KeptAt.IsZero() {
			continue // its transcript was removed
		}
		r := trace.RunningThread{URI: i.URI.String(), Title: i.Name(), Dir: i.Cwd, Branch: i.Branch, State: i.State,
			Started: i.Started, ActiveAt: i.Modified, Chain: i.Chain}
		list = append(list, activity.Wrote(r, i.Writes))
	}
	return list, warnings, err
}

// LastCall returns the last tool call of a thread, nil if it has none. It reads the
// transcript.
//
// Kinds: Invalid (a malformed URI), and those of reading the transcript.
func (c Collection) LastCall(ctx context.Context, uri string) (last *thread.Call, err error) {
	if err := c.c.Anonymous.Closed(); err != nil {
		return nil, err
	}
	u, err := thread.ParseURI(uri)
	if err != nil || c.set == nil {
		return nil, err
	}
	v, err := c.set.Open(ctx, u)
	if err != nil {
		return nil, err
	}
	err = v.Thread.Read(ctx, thread.Tools, func(m thread.Message) error {
		if n := len(m.Tools); n > 0 {
			last = &m.Tools[n-1]
		}
		return nil
	})
	return last, err
}

// UsageOf reads a thread or subagent, which sets its facts. It returns what it used, without its
// own subagents, with the prices of the user and those that are built in.
//
// Kinds: those of reading the transcript and the prices.
func (c Collection) UsageOf(ctx context.Context, t *thread.Thread) (trace.Usage, error) {
	if err := c.c.Anonymous.Closed(); err != nil {
		return trace.Usage{}, err
	}
	if err := t.Load(ctx); err != nil {
		return trace.Usage{}, err
	}
	prices, err := cost.OpenPrices(c.c.Prices())
	if err != nil {
		return trace.Usage{}, err
	}
	return prices.OfUsage(t.Usage, t.Last), nil
}

// Changed returns the threads of this repository that were active since a time, in any
// state, with the files that they changed since then.
func (c Collection) Changed(ctx context.Context, since time.Time) (list []transcript.Active, warnings []string,
	err error) {
	q, err := c.query(ListOptions{})
	if err != nil {
		return nil, nil, err
	}
	q.Since, q.Changed = since, since
	return c.active(ctx, q)
}

func (c Collection) active(ctx context.Context, q threadindex.Query) ([]transcript.Active, []string, error) {
	active, warnings, err := c.all.Archive(false).Active(ctx, q)
	list := itemsIn(active, func(a *transcript.Active) *transcript.Item { return &a.Item })
	return active, warnings, errors.Join(err, c.chain(ctx, list))
}

// Concurrency reports how many threads of this repository and their subagents worked at once in
// the time from since to until, in slots of a length. One whose transcript has no times of
// requests does not count.
func (c Collection) Concurrency(ctx context.Context, since, until time.Time, slot time.Duration) (
	trace.Concurrency, []string, error) {
	q, err := c.query(ListOptions{})
	if err != nil {
		return trace.Concurrency{}, nil, err
	}
	q.Since = since
	count := activity.NewConcurrency(since, until)
	warnings, err := c.all.Archive(false).EachUsage(ctx, q, func(t threadindex.ThreadUsage) error {
		var times []time.Time
		for _, r := range t.Requests {
			if !r.At.IsZero() {
				times = append(times, r.At)
			}
		}
		count.Add(t.Started, times)
		return nil
	})
	return count.By(slot), warnings, err
}

// SearchOptions select threads and subagents by what they contain.
type SearchOptions struct {
	ListOptions

	// Text is words, phrases in double quotes, and prefixes that end in *. All must
	// be found in a thread, in any case.
	Text string

	From   string // role whose texts are searched, see Roles; "" for all, and titles
	Tool   string // name of a tool that it called
	Path   string // a file that its calls name, or a directory with it: a path or its end
	Newest bool   // order by time only
}

// Roles returns the roles that SearchOptions can select.
func Roles() []string { return threadindex.SearchRoles() }

// Search searches threads, including subagents. The first search builds an
// index of them in the user's cache directory; each further one reads what has
// changed since.
//
// Kinds: Invalid (no word, a time, a status, a role), Unsupported (a provider).
func (c Collection) Search(ctx context.Context, o SearchOptions) (transcript.Matches, error) {
	return c.search(ctx, o, nil)
}

// EachMatch is Search, but passes each match to use instead of keeping all in memory.
// It ends with the first error of use.
func (c Collection) EachMatch(ctx context.Context, o SearchOptions, use func(transcript.Match) error) (more bool,
	warnings []string, err error) {
	found, err := c.search(ctx, o, use)
	return found.More, found.Warnings, err
}

func (c Collection) search(ctx context.Context, o SearchOptions,
	each func(transcript.Match) error) (transcript.Matches, error) {
	q, err := c.query(o.ListOptions)
	if err != nil {
		return transcript.Matches{}, err
	}
	// of the caller's directory, not the end of any path
	if p := filepath.Clean(o.Path); o.Path != "" && (p == "." || !filepath.IsLocal(p)) {
		o.Path = c.c.Path(p)
	}
	s := threadindex.Search{Query: q, Text: o.Text, From: o.From, Tool: o.Tool, Path: o.Path, Newest: o.Newest}
	if each != nil {
		s.Each = func(m transcript.Match) error { return errors.Join(c.describe(ctx, &m.Item), each(m)) }
	}
	found, err := c.all.Archive(o.NoIndex).Search(ctx, s)
	list := itemsIn(found.Matches, func(m *transcript.Match) *transcript.Item { return &m.Item })
	return found, errors.Join(err, c.describe(ctx, list...))
}

// Collisions returns the files that two threads or subagents changed, each
// while the other was active. Of o, Dir and Everywhere select the files, Since and
// Until the time of the changes, and Providers the threads. A parent that
// changed a file before it started a subagent, or after the subagent ended, does
// not collide with it.
//
// Kinds: Invalid (a time), Unsupported (a provider).
func (c Collection) Collisions(ctx context.Context, o ListOptions) (transcript.Collisions, error) {
	q, err := c.query(o)
	if err != nil {
		return transcript.Collisions{}, err
	}
	return c.all.Archive(o.NoIndex).Collisions(ctx, q)
}

// InRepository reports whether a directory is in this repository or one of its
// worktrees, so that a thread there belongs to it.
func (c Collection) InRepository(dir string) bool {
	return threadindex.In(c.c.Dirs.Worktrees()...)(dir)
}

// Belongs reports whether a thread is of this repository, see InRepository, or
// IsShared.
func (c Collection) Belongs(t *thread.Thread) bool { return c.InRepository(t.Cwd) || c.IsShared(t) }

// InWorkspace reports whether a thread worked in the directory of the workspace, not in
// that of another one inside it, or IsShared.
func (c Collection) InWorkspace(t *thread.Thread) bool { return c.contains(t.Cwd) || c.IsShared(t) }

// IsShared reports whether a thread is a kept copy in a log that other machines
// use. Its directories may be those of another machine, so that they don't show whether
// it belongs to this repository.
func (c Collection) IsShared(t *thread.Thread) bool { return c.c.Remote && !t.KeptAt.IsZero() }

// describe sets the notices of threads, whether their directories no longer exist on this machine, and their chains.
func (c Collection) describe(ctx context.Context, list ...*transcript.Item) error {
	for _, i := range list {
		i.Notices = i.State.Notices(i.URI.String())
		i.DirectoryGone = c.DirectoryGone(i.Thread)
	}
	return c.chain(ctx, list)
}

// DirectoryGone reports whether the directory of a thread no longer exists on this machine.
func (c Collection) DirectoryGone(t *thread.Thread) bool {
	return filepath.IsAbs(t.Cwd) && !c.IsShared(t) && config.IsGone(t.Cwd)
}

// query returns the query that o means. Its error is that of a closed workspace, or
// of kind Invalid.
func (c Collection) query(o ListOptions) (q threadindex.Query, err error) {
	if err := c.c.Anonymous.Closed(); err != nil {
		return q, err
	}
	if o.Limit < 0 {
		return q, handoff.E("limit", strconv.Itoa(o.Limit), handoff.Invalid, errors.New("is negative"),
			handoff.Advice("0 lists all"))
	}
	if o.Status != "" && !slices.Contains(thread.Statuses(), string(o.Status)) {
		return q, handoff.E("status", string(o.Status), handoff.Invalid, errors.New("unknown status"),
			handoff.Advice("the statuses are "+strings.Join(thread.Statuses(), ", ")))
	}
	q = threadindex.Query{Providers: o.Providers, Role: o.Role, Status: o.Status, Model: o.Model, Title: o.Title,
		All: o.All, Limit: o.Limit, Cursor: o.Cursor, Observer: c.observer}
	switch {
	case o.Everywhere:
	case o.Gone:
		q.In = c.c.Dirs.Gone()
	case o.Dir != "":
		q.In = threadindex.In(c.c.Path(o.Dir))
	default:
		q.In, q.Gone = threadindex.In(c.c.Dirs.Worktrees()...), c.c.Dirs.Gone()
	}
	q.Since, q.Until, err = config.ParsePeriod(o.Since, o.Until, c.c.Now())
	return q, err
}

// contains reports whether a directory, absolute, belongs to the workspace: it is
// in it or in another worktree of its repository.
func (c Collection) contains(dir string) bool {
	found, err := config.Find(dir, func(string) string { return "" })
	if errors.Is(err, handoff.NotFound) {
		return threadindex.In(c.c.Dirs.Worktrees()...)(dir)
	}
	return err == nil && found.Runtime == c.c.Dirs.Runtime
}
