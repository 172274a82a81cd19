package threads

import (
	"context"
	"errors"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/transcript/brief"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/transcript"
)

// The limits of the length of a brief, in tokens.
const (
	DefaultTokens = brief.DefaultTokens
	MinTokens     = brief.MinTokens
	MaxTokens     = brief.MaxTokens
)

// Brief returns what another agent needs to know of a thread to continue its work, within a number
// of tokens: prompts, the hand-over of the agent, plan, files, commits,
// artifacts, what failed, what was in flight. It has facts of the transcript, the log and git only,
// and is redacted.
//
// Kinds: Invalid (a subagent), and those of reading the transcript and the index.
func (c Collection) Brief(ctx context.Context, v *thread.View, tokens int) (transcript.Brief, error) {
	if err := c.c.Anonymous.Closed(); err != nil {
		return transcript.Brief{}, err
	}
	if v.URI.Agent != "" {
		return transcript.Brief{}, handoff.E("brief", v.URI.String(), handoff.Invalid,
			errors.New("a subagent has no brief"), handoff.Advice("use the URI of its thread: "+v.URI.Main().String()))
	}
	return brief.Source{Hub: c.c.Anonymous, Comment: c.others.Comment}.Make(ctx, v, tokens)
}

// EndOf returns how a thread ended.
func EndOf(t *thread.Thread) transcript.End { return brief.EndOf(t.State) }

// Continuable returns the threads of the branch of this worktree whose work can be continued, the
// newest first: main threads with a prompt, without the caller's own. A thread whose program does
// not record the branch counts if it worked in this worktree. Those that another one continues, as
// that states, have ContinuedBy. At most maxContinuable threads of the repository are looked at.
//
// Kinds: those of List.
func (c Collection) Continuable(ctx context.Context) (list []transcript.Item, warnings []string, err error) {
	page, err := c.List(ctx, ListOptions{Limit: maxContinuable})
	if err != nil {
		return nil, page.Warnings, err
	}
	return c.continuable(page.Threads), page.Warnings, nil
}

// ContinuableOf returns those of some threads, in their order, that Continuable would return. It reads them;
// those that can't be read are left out.
//
// Kinds: that of a closed workspace; the error of ctx.
func (c Collection) ContinuableOf(ctx context.Context, uris []string) ([]transcript.Item, error) {
	if err := c.c.Anonymous.Closed(); err != nil {
		return nil, err
	}
	var items []transcript.Item
	for _, name := range uris {
		u, err := thread.ParseURI(name)
		if err != nil {
			continue
		}
		v, err := c.open(ctx, u)
		if err != nil {
			continue
		}
		i := transcript.Item{URI: v.URI, Thread: v.Thread}
		if c.Belongs(v.Thread) && threadindex.Load(ctx, &i) == nil {
			items = append(items, i)
		}
	}
	err := c.chain(ctx, itemsIn(items, func(i *transcript.Item) *transcript.Item { return i }))
	return c.continuable(items), err
}

// continuable returns the threads of a list whose work can be continued.
func (c Collection) continuable(all []transcript.Item) (list []transcript.Item) {
	branch, inTree := c.c.Dirs.Branch(), threadindex.In(c.c.Dirs.Root)
	own, _ := thread.ParseURI(c.c.Producer.Thread) // the zero URI for none
	for _, i := range all {
		here := i.Branch == branch
		if i.Branch == "" || branch == "" {
			here = inTree(i.Cwd)
		}
		if here && i.Prompt != "" && i.URI.Main() != own.Main() {
			list = append(list, i)
		}
	}
	return list
}

const maxContinuable = 200

// Find returns the thread that a URI or the beginning of an ID names. Of the beginning of an ID, the
// threads of this repository count.
//
// Kinds: those of thread.Set.Open; Conflict (several threads have the ID).
func (c Collection) Find(ctx context.Context, name string) (*thread.View, error) {
	if err := c.c.Anonymous.Closed(); err != nil {
		return nil, err
	}
	u, err := thread.ParseURI(name)
	if err != nil {
		return nil, err
	}
	v, err := c.open(ctx, u)
	if u.Provider != "" || len(u.Thread) < minPrefix || !isAbsent(err) {
		return v, err
	}
	page, failed := c.List(ctx, ListOptions{})
	if failed != nil {
		return nil, failed
	}
	var found []string
	for _, i := range page.Threads {
		if strings.HasPrefix(i.URI.Thread, u.Thread) {
			found = append(found, i.URI.String())
		}
	}
	switch {
	case len(found) == 0:
		return nil, err
	case len(found) > 1:
		return nil, handoff.E("thread", name, handoff.Conflict,
			errors.New("several threads have an ID that starts with it"),
			handoff.Advice("name one: "+strings.Join(found[:min(len(found), maxNamed)], ", ")))
	}
	if u, err = thread.ParseURI(found[0]); err != nil {
		return nil, err
	}
	return c.open(ctx, u)
}

// The least characters of the beginning of an ID, and how many threads an error names.
const (
	minPrefix = 4
	maxNamed  = 3
)

// open opens a thread, or the kept copy of one whose transcript is missing.
func (c Collection) open(ctx context.Context, u thread.URI) (*thread.View, error) {
	v, err := c.set.Open(ctx, u)
	if errors.Is(err, handoff.NotFound) || errors.Is(err, handoff.Unavailable) {
		if kept, failed := c.OpenKept(ctx, u); kept != nil || failed != nil {
			return kept, failed
		}
	}
	return v, err
}

// isAbsent reports whether an error is about an ID that no thread has.
func isAbsent(err error) bool {
	return errors.Is(err, handoff.NotFound) || errors.Is(err, handoff.Invalid) || errors.Is(err, handoff.Unavailable)
}
