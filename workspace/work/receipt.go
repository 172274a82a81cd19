package work

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/internal/trace/cost"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/trace"
)

// OfSession returns the receipt of a session or run by its ID. It has the
// threads that worked or published in it, not the one that started it.
//
// Kinds: NotFound, and those of reading the index.
func (u Units) OfSession(ctx context.Context, id string) (trace.Receipt, error) {
	s, artifacts, err := u.known.Read(ctx, id)
	if err != nil {
		return trace.Receipt{}, err
	}
	return u.OfPublished(ctx, s, artifacts)
}

// OfPublished is OfSession for a session that was read with what was published in it, to
// which it adds who published it.
//
// Kinds: those of reading the index.
func (u Units) OfPublished(ctx context.Context, s handoff.Session, artifacts []handoff.Artifact) (trace.Receipt,
	error) {
	work, err := u.c.Hub.WorkIn(ctx, s.ID)
	threads := cost.Threads(work, artifacts)
	own, root := threads, ""
	if s.Producer.Thread != "" {
		root = cost.Root(ctx, u.all.Set, s.Producer.Thread)
		own = slices.DeleteFunc(slices.Clone(threads), func(uri string) bool {
			return cost.Root(ctx, u.all.Set, uri) == root
		})
	}
	leaves, failed := u.leaves(ctx, work, artifacts, cost.Read(ctx, u.all.Set, own))
	if failed != nil {
		return trace.Receipt{}, failed
	}
	r := cost.NewReceipt(leaves)
	if len(own) < len(threads) {
		r.Within = root
	}
	return r, err
}

// OfArtifact returns the receipt of an artifact: the thread or work that published it,
// with everything inside that counts to it.
//
// Kinds: those of reading the index.
func (u Units) OfArtifact(ctx context.Context, a handoff.Artifact) (_ trace.Receipt, err error) {
	if err := u.c.Hub.Closed(); err != nil {
		return trace.Receipt{}, err
	}
	p := a.Producer
	if p.WorkID == "" && p.Thread == "" {
		return trace.Receipt{}, nil
	}
	if p.Thread == "" {
		w, err := u.c.Hub.Work(ctx, p.Harness, p.WorkID)
		if err != nil && !errors.Is(err, handoff.NotFound) { // its start need not be recorded
			return trace.Receipt{}, err
		}
		p.Thread = w.Thread
	}
	var threads []cost.Conversation
	var uris []string
	if p.Thread != "" {
		threads = cost.Read(ctx, u.all.Set, []string{cost.Root(ctx, u.all.Set, p.Thread)})
		uris = append(cost.Names(threads), p.Thread)
	}
	work, err := cost.PartOf(ctx, u.c.Hub, p, uris)
	if err != nil {
		return trace.Receipt{}, err
	}
	if len(threads)+len(work) == 0 {
		return trace.Receipt{}, nil // artifacts alone are no work
	}
	artifacts, err := u.publishedIn(ctx, uris, work)
	leaves, failed := u.leaves(ctx, work, artifacts, threads)
	if failed != nil {
		return trace.Receipt{}, failed
	}
	if placing := u.place(ctx, leaves, cost.Sources{Threads: threads}, u.sessions(ctx, len(leaves))); err == nil {
		err = placing
	}
	return cost.ReceiptOf(a.ID, leaves), err
}

// publishedIn returns the artifacts of threads and work, each once.
func (u Units) publishedIn(ctx context.Context, uris []string, work []handoff.Work) ([]handoff.Artifact, error) {
	var list []handoff.Artifact
	var producers []map[string]string
	for _, uri := range uris {
		producers = append(producers, map[string]string{"thread": uri})
	}
	for _, w := range work {
		producers = append(producers, map[string]string{"work": w.ID, "harness": w.Harness})
	}
	for _, p := range producers {
		found, err := u.publishedBy(ctx, p)
		if err != nil {
			return list, err
		}
		list = append(list, found...)
	}
	order.Sort(list, func(a, b handoff.Artifact) int { return cmp.Compare(a.ID, b.ID) })
	return slices.CompactFunc(list, func(a, b handoff.Artifact) bool { return a.ID == b.ID }), nil
}

// publishedBy returns the artifacts of a producer, of every status.
func (u Units) publishedBy(ctx context.Context, producer map[string]string) ([]handoff.Artifact, error) {
	page, err := u.c.Hub.Artifacts(ctx, handoff.ArtifactQuery{Producer: producer, IncludeInactive: true})
	return page.Artifacts, err
}

// Attribute adds to artifacts who published them, as transcripts show it; see
// handoff.Attribution.
func (u Units) Attribute(ctx context.Context, list []handoff.Artifact) error {
	if err := u.c.Hub.Closed(); err != nil {
		return err
	}
	u.attribution().Attribute(ctx, list...)
	return ctx.Err()
}

func (u Units) leaves(ctx context.Context, work []handoff.Work, artifacts []handoff.Artifact,
	threads []cost.Conversation) ([]cost.Leaf, error) {
	prices, err := cost.OpenPrices(u.c.Prices())
	if err != nil {
		return nil, err
	}
	u.attribution().Attribute(ctx, artifacts...)
	return cost.Leaves(cost.Sources{Work: u.conclude(ctx, work), Artifacts: artifacts, Threads: threads,
		Prices: prices}), nil
}

// A RunReport is the receipt of a run with the work in it.
type RunReport struct {
	session.Receipt
	Work *trace.Receipt `json:"work,omitempty"` // nil if none is known
}

// Report adds to the receipt of a run what its work used and cost.
//
// Kinds: NotFound, and those of reading the index.
func (u Units) Report(ctx context.Context, r session.Receipt) (RunReport, error) {
	report := RunReport{Receipt: r}
	used, err := u.OfSession(ctx, r.ID)
	if used.Known() {
		report.Work = &used
	}
	return report, err
}
