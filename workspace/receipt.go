package workspace

import (
	"cmp"
	"context"
	"errors"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/cost"
	"github.com/agent-handoff/handoff/internal/price"
	"github.com/agent-handoff/handoff/internal/provenance"
	"github.com/agent-handoff/handoff/thread"
)

// A CostReceipt has what ran, what that used and cost, and what it published.
type CostReceipt = cost.Receipt

// A CostTask is what ran, one line of a CostReceipt.
type CostTask = cost.Task

// A CostUsage is a sum of usage, with its completeness.
type CostUsage = cost.Amount

// AddTranscripts adds to a session or artifact what transcripts show: the
// conversations of a session, and the receipt of both. The receipt of a session has
// the work in it; that of an artifact has the work that published it, with
// everything inside that work. An issue has none. An artifact also gets the
// conversations that read its path, if an index of conversations exists.
//
// Kinds: those of reading the index.
func (w *Workspace) AddTranscripts(ctx context.Context, set *thread.Set, s *Shown) (err error) {
	if err := w.hub.Closed(); err != nil {
		return err
	}
	var r CostReceipt
	switch {
	case s.Session != nil:
		ReadConversations(ctx, set, s.Session.Conversations)
		r, err = w.sessionReceipt(ctx, set, s.Session.ID)
	case s.Artifact != nil:
		r, err = w.artifactReceipt(ctx, set, *s.Artifact)
		uses, _, readErr := provenance.ReadBy(ctx, w.archive(set, ThreadOptions{}), *s.Artifact)
		s.Artifact.UsedBy, err = append(s.Artifact.UsedBy, uses...), errors.Join(err, readErr)
	}
	if r.Known() {
		s.Receipt = &r
	}
	return err
}

// ReportRun adds to the receipt of a run what its work used and cost.
//
// Kinds: NotFound, and those of reading the index.
func (w *Workspace) ReportRun(ctx context.Context, set *thread.Set, r Receipt) (RunReport, error) {
	if err := w.hub.Closed(); err != nil {
		return RunReport{Receipt: r}, err
	}
	report := RunReport{Receipt: r}
	work, err := w.sessionReceipt(ctx, set, r.ID)
	if work.Known() {
		report.Work = &work
	}
	return report, err
}

// sessionReceipt returns the receipt of a session or run. It has the conversations
// that worked or published in it, not the one that opened it.
func (w *Workspace) sessionReceipt(ctx context.Context, set *thread.Set, id string) (CostReceipt, error) {
	_, artifacts, err := w.sessions.Read(ctx, id)
	if err != nil {
		return CostReceipt{}, err
	}
	work, err := w.hub.WorkIn(ctx, id)
	return receipt(ctx, set, work, artifacts, cost.Threads(work, artifacts)), err
}

func (w *Workspace) artifactReceipt(ctx context.Context, set *thread.Set, a handoff.Artifact) (_ CostReceipt, err error) {
	p := a.Producer
	if p.WorkID == "" && p.Thread == "" {
		return CostReceipt{}, nil
	}
	var work []handoff.Work
	if group := cmp.Or(p.RunID, p.Session); group != "" {
		if work, err = w.hub.WorkIn(ctx, group); err != nil {
			return CostReceipt{}, err
		}
	}
	q := handoff.ArtifactQuery{Producer: map[string]string{"thread": p.Thread}, IncludeInactive: true}
	if p.Thread == "" {
		q.Producer = map[string]string{"work": p.WorkID, "harness": p.Harness}
	}
	page, err := w.hub.Artifacts(ctx, q)
	var threads []string
	if p.Thread != "" {
		threads = []string{p.Thread}
	}
	return receipt(ctx, set, cost.PartOf(ctx, w.hub, p, work), page.Artifacts, threads), err
}

func receipt(ctx context.Context, set *thread.Set, work []handoff.Work, artifacts []handoff.Artifact, threads []string) CostReceipt {
	return cost.NewReceipt(cost.Leaves(cost.Sources{Work: work, Artifacts: artifacts, Threads: cost.Read(ctx, set, threads), Prices: cost.NewPricer(price.Embedded())}))
}
