package threadindex

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/transcript"
)

// List returns the threads that q selects. A transcript that can't be read
// is a warning. Kinds: Invalid (the cursor), Unsupported (a provider).
func (f *Files) List(ctx context.Context, q Query) (transcript.Page, error) {
	l := &lister{q: q, seen: map[string]bool{}, page: transcript.Page{Threads: []transcript.Item{}}}
	var err error
	if l.from, err = parseCursor(q.Cursor); err != nil {
		return l.page, err
	}
	all, err := f.find(ctx, q.Providers)
	if err != nil {
		return l.page, err
	}
	l.page.Warnings = all.warnings
	if q.Role != "" {
		if l.parents, err = parentsOf(ctx, newestFirst(all.stored), q.Role); err != nil {
			return l.page, err
		}
	}
	candidates := slices.DeleteFunc(all.stored, func(s *thread.Stored) bool { return !q.inTime(s.Modified) })
	err = eachOpened(ctx, newestFirst(candidates), func(o opened) (bool, error) { return l.add(ctx, o) })
	return l.page, err
}

// A lister makes a page.
type lister struct {
	q       Query
	from    position
	parents map[string]bool // of subagents with the role of q
	seen    map[string]bool // URIs
	page    transcript.Page
}

// add adds the threads in a transcript that q selects, and reports whether
// there is room for more.
func (l *lister) add(ctx context.Context, o opened) (more bool, err error) {
	if o.err != nil {
		if !errors.Is(o.err, handoff.NotFound) { // it was removed in the meantime
			l.page.Warnings = append(l.page.Warnings, o.err.Error())
		}
		return true, nil
	}
	for _, t := range o.threads {
		i := newItem(t)
		uri := i.URI.String()
		if t.IsAgent() || l.seen[uri] {
			continue
		}
		l.seen[uri] = true
		if l.q.Gone != nil && !l.q.selects(t) && l.q.Gone(t.Cwd) {
			l.page.Gone++
		}
		if !l.q.selects(t) || l.q.Role != "" && !l.parents[uri] || !l.from.passed(i) {
			continue
		}
		if err := Load(ctx, &i); err != nil {
			l.page.Warnings = append(l.page.Warnings, err.Error())
			continue
		}
		l.q.Observer.Observe(i.URI, i.Thread)
		if l.q.selectsFacts(i.Thread) && l.q.hasTitle(i.Name()) && !appendTo(&l.page, i, l.q.Limit) {
			l.page.Gone = 0 // there may be more
			return false, nil
		}
	}
	return true, ctx.Err()
}

// appendTo adds an item. If there are limit items already, it sets the cursor and
// returns false.
func appendTo(p *transcript.Page, i transcript.Item, limit int) bool {
	if limit > 0 && len(p.Threads) == limit {
		p.Cursor = cursor(p.Threads[limit-1])
		return false
	}
	p.Threads = append(p.Threads, i)
	return true
}

// inTime reports whether a transcript that was written at t is in the time of q.
func (q Query) inTime(t time.Time) bool {
	return (q.Since.IsZero() || !t.Before(q.Since)) && (q.Until.IsZero() || t.Before(q.Until))
}

// selects reports whether q selects a thread by what is known without reading it.
func (q Query) selects(t *thread.Thread) bool { return q.In == nil || q.In(t.Cwd) }

// selectsFacts reports whether q selects a thread by what it contains.
func (q Query) selectsFacts(t *thread.Thread) bool {
	if q.Status != "" && t.State.Status != q.Status {
		return false
	}
	return q.Model == "" || slices.ContainsFunc(t.Usage.Models, func(m thread.ModelUsage) bool {
		return strings.Contains(strings.ToLower(m.Model), strings.ToLower(q.Model))
	})
}

// hasTitle reports whether a title has the part that q selects.
func (q Query) hasTitle(title string) bool {
	return q.Title == "" || strings.Contains(strings.ToLower(title), strings.ToLower(q.Title))
}

// Load reads a thread for its facts and its prompt.
func Load(ctx context.Context, i *transcript.Item) error {
	err := i.Thread.Read(ctx, thread.Texts, func(m thread.Message) error {
		see(i, m)
		return nil
	})
	i.Requests = nil // which a list does not show
	return err
}

// see sets the prompt of an item and what that continues, if m is the first message of the
// user, and the time of the last one.
func see(i *transcript.Item, m thread.Message) {
	if m.Role != thread.User || m.Inherited {
		return
	}
	if i.Prompt == "" {
		i.Prompt, i.Continues = firstLine(m.Text), i.ContinuedIn(m.Text)
	}
	i.Prompted = m.Time.UTC()
}

// newItem returns the item of a thread or subagent.
func newItem(t *thread.Thread) transcript.Item {
	uri := t.URI()
	if t.Parent != "" {
		uri = thread.URI{Provider: t.Provider, Thread: t.Parent}.Child(t.ID)
	}
	return transcript.Item{URI: uri, Thread: t}
}

// firstLine returns the first line of a text, at most maxPrompt characters of it.
func firstLine(text string) string {
	const maxPrompt = 120
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	runes := []rune(strings.Join(strings.Fields(line), " "))
	if len(runes) > maxPrompt {
		return string(runes[:maxPrompt-1]) + "…"
	}
	return string(runes)
}

// parentsOf returns the URIs of the threads that have a subagent with a role.
func parentsOf(ctx context.Context, list []*thread.Stored, role string) (map[string]bool, error) {
	parents := map[string]bool{}
	err := eachOpened(ctx, list, func(o opened) (bool, error) {
		for _, t := range o.threads {
			if t.HasRole(role) {
				parents[thread.URI{Provider: t.Provider, Thread: t.Parent}.String()] = true
			}
		}
		return true, nil
	})
	return parents, err
}
