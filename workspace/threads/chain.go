package threads

import (
	"context"

	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/transcript"
)

// prompted are threads with their first prompts, which are read when they are asked for.
type prompted struct {
	in    Collection
	known map[thread.URI]transcript.Item
}

func (c Collection) prompted() prompted { return prompted{c, map[thread.URI]transcript.Item{}} }

// Item is that of threadindex.Items.
func (p prompted) Item(ctx context.Context, u thread.URI) (transcript.Item, error) {
	if i, ok := p.known[u.Main()]; ok {
		return i, nil
	}
	v, err := p.in.open(ctx, u.Main())
	if err != nil {
		return transcript.Item{}, err
	}
	i := transcript.Item{URI: v.URI.Main(), Thread: v.Thread}
	// One whose transcript can't be read is there, and states nothing.
	_ = threadindex.LoadPrompt(ctx, &i)
	p.known[i.URI] = i
	return i, ctx.Err()
}

// itemsIn returns the items in the elements of a list.
func itemsIn[T any](list []T, item func(*T) *transcript.Item) []*transcript.Item {
	items := make([]*transcript.Item, len(list))
	for n := range list {
		items[n] = item(&list[n])
	}
	return items
}

// chain sets which threads those of a list continue, and which of the list continue them.
func (c Collection) chain(ctx context.Context, list []*transcript.Item) error {
	all, listed := c.prompted(), map[thread.URI]*transcript.Item{}
	for _, i := range list {
		all.known[i.URI], listed[i.URI] = *i, i
	}
	for _, i := range order.Sort(list, func(a, b *transcript.Item) int { return a.Started.Compare(b.Started) }) {
		chain, err := threadindex.ChainOf(ctx, all, all.known[i.URI])
		if err != nil {
			return err
		}
		i.Continues, i.ContinuesMissing = chain.Continues, chain.ContinuesMissing
		if of := listed[i.Continues]; of != nil {
			of.ContinuedBy = append(of.ContinuedBy, i.URI)
		}
	}
	return nil
}

// Chain returns which thread that of a view continues, and which continue it. What the first prompt of a
// thread states is a claim. Those that continue it are in the index of threads as it is: without one, none is
// known, and of those that started since the last list or search, neither.
func (c Collection) Chain(ctx context.Context, v *thread.View) (chain thread.Chain, err error) {
	if err := c.c.Anonymous.Closed(); err != nil {
		return chain, err
	}
	all := c.prompted()
	i, err := all.Item(ctx, v.URI)
	if err != nil {
		return chain, err
	}
	if chain, err = threadindex.ChainOf(ctx, all, i); err != nil {
		return chain, err
	}
	later, err := c.all.Archive(false).ContinuedBy(ctx, i.URI)
	for _, u := range later {
		by, failed := all.Item(ctx, u)
		if failed != nil {
			continue // it was removed
		}
		if of, _ := threadindex.ChainOf(ctx, all, by); of.Continues == i.URI {
			chain.ContinuedBy = append(chain.ContinuedBy, u)
		}
	}
	return chain, err
}

// Before returns the threads whose work that of a URI continues, as threadindex.Before does.
//
// Kinds: those of opening the thread.
func (c Collection) Before(ctx context.Context, u thread.URI) (list []transcript.Item, rest thread.URI, err error) {
	if err := c.c.Anonymous.Closed(); err != nil {
		return nil, rest, err
	}
	all := c.prompted()
	i, err := all.Item(ctx, u)
	if err != nil {
		return nil, rest, ctx.Err()
	}
	return threadindex.Before(ctx, all, i)
}
