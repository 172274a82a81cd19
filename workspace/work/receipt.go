package work

import (
	"github.com/agent-handoff/handoff/workspace/runs"

	"cmp"
	"context"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/trace/cost"
)

// A Receipt has what ran, what that used and cost, and what it published.
type Receipt = cost.Receipt

// A Task is what ran, one line of a Receipt.
type Task = cost.Task

// A Usage is a sum of usage, with its completeness.
type Usage = cost.Amount

// OfSession returns the receipt of a session or run by its ID. It has the
// threads that worked or published in it, not the one that opened it.
//
// Kinds: NotFound, and those of reading the index.
func (u Units) OfSession(ctx context.Context, id string) (Receipt, error) {
	_, artifacts, err := u.o.Sessions.Read(ctx, id)
	if err != nil {
		return Receipt{}, err
	}
	work, err := u.o.Hub.WorkIn(ctx, id)
	return u.receipt(ctx, work, artifacts, cost.Threads(work, artifacts)), err
}

// OfArtifact returns the receipt of an artifact: the work that published it, with
// everything inside that work.
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
	q := handoff.ArtifactQuery{Producer: map[string]string{"thread": p.Thread}, IncludeInactive: true}
	if p.Thread == "" {
		q.Producer = map[string]string{"work": p.WorkID, "harness": p.Harness}
	}
	page, err := u.o.Hub.Artifacts(ctx, q)
	var threads []string
	if p.Thread != "" {
		threads = []string{p.Thread}
	}
	return u.receipt(ctx, cost.PartOf(ctx, u.o.Hub, p, work), page.Artifacts, threads), err
}

func (u Units) receipt(ctx context.Context, work []handoff.Work, artifacts []handoff.Artifact,
	threads []string) Receipt {
	return cost.NewReceipt(cost.Leaves(cost.Sources{Work: u.o.Conclude(ctx, work), Artifacts: artifacts,
		Threads: cost.Read(ctx, u.o.Threads, threads), Prices: cost.EmbeddedPricer()}))
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
