package threadindex

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/transcript"
)

// Active returns the threads that q selects, as List does, without a limit. What
// can't be read is a warning. Kind: Unsupported (a provider).
func (f *Files) Active(ctx context.Context, q Query) (list []transcript.Active, warnings []string, err error) {
	page, err := f.List(ctx, q)
	var writes []transcript.Write
	parents := parentOf{}
	for _, i := range page.Threads {
		p, err := f.set.Provider(i.Provider)
		if err != nil {
			return nil, nil, err
		}
		inside, err := thread.Descendants(ctx, p, i.Thread)
		if err != nil {
			page.Warnings = append(page.Warnings, err.Error())
		}
		for _, a := range append(inside, thread.Agent{URI: i.URI, Thread: i.Thread}) {
			if a.Thread == nil {
				continue
			}
			e, err := readEntry(ctx, a.Thread)
			if err != nil {
				page.Warnings = append(page.Warnings, err.Error())
				continue
			}
			if e.URI = a.URI; a.URI.Agent != "" {
				parents.add(a.Thread.URI().String(), a.URI.Main().String())
			}
			writes = append(writes, e.writes(Query{}.selectsChange)...)
		}
	}
	return activeOf(page.Threads, writes, parents, q.Changed), page.Warnings, cmp.Or(err, ctx.Err())
}

// Active is Files.Active.
func (x *Index) Active(ctx context.Context, q Query) (active []transcript.Active, warnings []string, err error) {
	if err := x.files.check(q); err != nil {
		return nil, nil, err
	}
	used, warnings, err := x.ask(ctx, Quick, func(a answer) error {
		page, err := a.list(ctx, q, position{})
		if err != nil {
			return err
		}
		parents, err := a.parents(ctx, Query{})
		if err != nil {
			return err
		}
		uris, mains := []string{}, map[string]bool{}
		for _, i := range page.Threads {
			uris, mains[i.URI.String()] = append(uris, i.URI.String()), true
		}
		of := newest("t.uri IN (SELECT value FROM json_each(?)) OR t.parent IN (SELECT value FROM json_each(?))")
		args := []any{list(uris), list(append(uris, parents.inside(mains)...))}
		writes, err := a.writes(ctx, "w.thread IN (SELECT t.id FROM threads t WHERE "+of+")", args, Query{}.selectsChange)
		active = activeOf(page.Threads, writes, parents, q.Changed)
		return err
	})
	if err == nil && !used {
		return x.files.Active(ctx, q)
	}
	return active, warnings, err
}

// activeOf returns threads with those of the changes that they and their
// subagents made.
func activeOf(items []transcript.Item, writes []transcript.Write, parents parentOf,
	changed time.Time) []transcript.Active {
	order.Sort(writes, func(a, b transcript.Write) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.URI.String(), b.URI.String()), strings.Compare(a.Path, b.Path))
	})
	list := make([]transcript.Active, len(items))
	for n, i := range items {
		from := changed
		if from.IsZero() {
			from = i.Prompted
		}
		list[n] = transcript.Active{Item: i, Writes: slices.DeleteFunc(slices.Clone(writes), func(w transcript.Write) bool {
			return parents.main(w.URI.Main().String()) != i.URI.String() || w.At.Before(from)
		})}
	}
	return list
}
