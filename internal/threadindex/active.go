package threadindex

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/collision"
	"github.com/agent-handoff/handoff/thread"
)

// An Active is a conversation with the changes of files that it and its subagents made
// since the last message of its user, in the order of time.
type Active struct {
	Item
	Writes []collision.Write
}

// Active returns the conversations that q selects, as List does, without a limit. What
// can't be read is a warning. Kind: Unsupported (a provider).
func (f *Files) Active(ctx context.Context, q Query) (list []Active, warnings []string, err error) {
	page, err := f.List(ctx, q)
	var writes []collision.Write
	for _, i := range page.Threads {
		threads := []*thread.Thread{i.Thread}
		p, err := f.set.Provider(i.Provider)
		if err != nil {
			return nil, nil, err
		}
		agents, err := p.Agents(ctx, i.Thread)
		for _, a := range agents {
			if a.Thread != nil {
				threads = append(threads, a.Thread)
			}
		}
		if err != nil {
			page.Warnings = append(page.Warnings, err.Error())
		}
		for _, t := range threads {
			e, err := readEntry(ctx, t)
			if err != nil {
				page.Warnings = append(page.Warnings, err.Error())
				continue
			}
			writes = append(writes, e.writes(Query{}.selectsChange)...)
		}
	}
	return activeOf(page.Threads, writes), page.Warnings, cmp.Or(err, ctx.Err())
}

// Active is Files.Active.
func (x *Index) Active(ctx context.Context, q Query) (active []Active, warnings []string, err error) {
	if err := x.files.check(q); err != nil {
		return nil, nil, err
	}
	used, warnings, err := x.ask(ctx, Quick, func(a answer) error {
		page, err := a.list(ctx, q, position{})
		if err != nil {
			return err
		}
		uris := []string{}
		for _, i := range page.Threads {
			uris = append(uris, i.URI.String())
		}
		selected := list(uris)
		of := newest("t.uri IN (SELECT value FROM json_each(?)) OR t.parent IN (SELECT value FROM json_each(?))")
		writes, err := a.writes(ctx, "w.thread IN (SELECT t.id FROM threads t WHERE "+of+")", []any{selected, selected}, Query{}.selectsChange)
		active = activeOf(page.Threads, writes)
		return err
	})
	if err == nil && !used {
		return x.files.Active(ctx, q)
	}
	return active, warnings, err
}

// activeOf returns conversations with those of the changes that they made.
func activeOf(items []Item, writes []collision.Write) []Active {
	slices.SortFunc(writes, func(a, b collision.Write) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.URI.String(), b.URI.String()), strings.Compare(a.Path, b.Path))
	})
	list := make([]Active, len(items))
	for n, i := range items {
		list[n] = Active{Item: i, Writes: slices.DeleteFunc(slices.Clone(writes), func(w collision.Write) bool {
			return w.URI.Provider != i.URI.Provider || w.URI.Thread != i.URI.Thread || w.At.Before(i.Prompted)
		})}
	}
	return list
}
