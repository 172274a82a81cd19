package work

import (
	"cmp"
	"context"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/trace/cost"
	"github.com/agent-handoff/handoff/workspace/runs"
)

// A Receipt has what ran, what that used and cost, and what it published.
type Receipt = cost.Receipt

// A Task is what ran, one line of a Receipt.
type Task = cost.Task

// A Usage is a sum of usage, with its completeness.
type Usage = cost.Amount

// OfSession returns the receipt of a session or run by its ID. It has the
// threads that worked or published in it, not the one that started it.
//
// Kinds: NotFound, and those of reading the index.
func (u Units) OfSession(ctx context.Context, id string) (Receipt, error) {
	s, artifacts, err := u.o.Sessions.Read(ctx, id)
	if err != nil {
		return Receipt{}, err
	}
	work, err := u.o.Hub.WorkIn(ctx, id)
	threads := cost.Threads(work, artifacts)
	own := slices.DeleteFunc(slices.Clone(threads), func(uri string) bool { return startedBy(s, uri) })
	r := cost.NewReceipt(u.leaves(ctx, work, artifacts, cost.Read(ctx, u.o.Threads, own)))
	if len(own) < len(threads) {
		r.Within = mainOf(s.Producer.Thread)
	}
	return r, err
}

// startedBy reports whether a thread, or one of its subagents, started a session or run.
func startedBy(s handoff.Session, uri string) bool {
	main := mainOf(uri)
	return main != "" && main == mainOf(s.Producer.Thread)
}

// OfArtifact returns the receipt of an artifact: the work that published it, with
// everything inside that work that counts to it.
//
// Kinds: those of reading the index.
func (u Units) OfArtifact(ctx context.Context, a handoff.Artifact) (_ Receipt, err error) {
	if err := u.o.Hub.Closed(); err != nil {
		return Receipt{}, err
	}
	p := a.Producer
	if p.WorkID == "" && p.Thread == "" {
		return Receipt{}, nil
	}
	var work []handoff.Work
	if group := cmp.Or(p.RunID, p.Session); group != "" {
		if work, err = u.o.Hub.WorkIn(ctx, group); err != nil {
			return Receipt{}, err
		}
	}
	if p.Thread == "" {
		artifacts, err := u.publishedBy(ctx, map[string]string{"work": p.WorkID, "harness": p.Harness})
		return cost.ReceiptOf(a.ID, u.leaves(ctx, cost.PartOf(ctx, u.o.Hub, p, work), artifacts, nil)), err
	}
	threads := cost.Read(ctx, u.o.Threads, []string{cmp.Or(mainOf(p.Thread), p.Thread)})
	uris := []string{p.Thread}
	for _, c := range threads {
		uris = append(uris, c.URI, c.Self)
	}
	slices.Sort(uris)
	var artifacts []handoff.Artifact
	for _, uri := range slices.Compact(uris) {
		list, more := u.publishedBy(ctx, map[string]string{"thread": uri})
		artifacts, err = append(artifacts, list...), cmp.Or(err, more)
	}
	return cost.ReceiptOf(a.ID, u.leaves(ctx, cost.PartOf(ctx, u.o.Hub, p, work), artifacts, threads)), err
}

// publishedBy returns the artifacts of a producer, of every status.
func (u Units) publishedBy(ctx context.Context, producer map[string]string) ([]handoff.Artifact, error) {
	page, err := u.o.Hub.Artifacts(ctx, handoff.ArtifactQuery{Producer: producer, IncludeInactive: true})
	return page.Artifacts, err
}

func (u Units) leaves(ctx context.Context, work []handoff.Work, artifacts []handoff.Artifact,
	threads []cost.Conversation) []cost.Leaf {
	return cost.Leaves(cost.Sources{Work: u.o.Conclude(ctx, work), Artifacts: artifacts, Threads: threads,
		Prices: cost.EmbeddedPricer()})
}

// A RunReport is the receipt of a run with the work in it.
type RunReport struct {
	runs.Receipt
	Work *Receipt `json:"work,omitempty"` // nil if none is known
}

// Report adds to the receipt of a run what its work used and cost.
//
// Kinds: NotFound, and those of reading the index.
func (u Units) Report(ctx context.Context, r runs.Receipt) (RunReport, error) {
	report := RunReport{Receipt: r}
	used, err := u.OfSession(ctx, r.ID)
	if used.Known() {
		report.Work = &used
	}
	return report, err
}
