// Package candidates has the operations on artifacts of which one is chosen, which
// Reviews.Candidates of package reviews returns.
package candidates

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/core"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/internal/trace/provenance"
	"github.com/agent-handoff/handoff/pipeline"
	"github.com/agent-handoff/handoff/session"
)

// Options are what candidates use of other subjects, on behalf of the same caller.
type Options struct {
	Finish func(ctx context.Context, a handoff.Artifact) []string // what follows a record about one; returns warnings

	// the step of a pipeline run of which an artifact is a result; zero for another artifact
	Next func(ctx context.Context, a handoff.Artifact) (pipeline.Step, error)
	// what artifacts cost, by ID; with a reason if it is not exact
	Costs func(ctx context.Context) (costs map[string]CandidateCost, warnings []string, err error)
	// Sessions.Compare of the workspace
	Sessions func(ctx context.Context, before, after string) (session.Comparison, error)
}

// Candidates compares artifacts, and chooses one of them, for the caller of a workspace.
type Candidates struct {
	c  *core.Core
	by provenance.Attribution
	o  Options
}

// New returns the candidates of a workspace. Reviews.Candidates of package reviews calls it.
func New(c *core.Core, by provenance.Attribution, o Options) Candidates { return Candidates{c, by, o} }

// Of returns the artifact that a ref names, and then those that one must be chosen of:
//
//   - the other active artifacts that replace the same one, or that were compared with it;
//   - those that were chosen over it, or replace it;
//   - the active ones of its channel that other agents published for the same task, and that
//     are not made from each other;
//   - the results of other writers for the same stage of a pipeline, with the same inputs.
//
// Kinds: those of Workspace.Resolve.
func (c Candidates) Of(ctx context.Context, ref string) ([]handoff.Artifact, error) {
	id, err := c.c.Resolve(ctx, ref)
	if err != nil {
		return nil, err
	}
	a, err := c.c.Hub.Artifact(ctx, id)
	if err != nil {
		return nil, err
	}
	ids := []string{id}
	for i := 0; i < len(ids) && len(ids) < maxCandidates; i++ { // upward
		b := a
		if i > 0 {
			if b, err = c.c.Hub.Artifact(ctx, ids[i]); err != nil {
				return nil, err
			}
		}
		more := b.ReplacedBy
		if b.Status == handoff.Active {
			more = nil
			ids = add(ids, b.Competing) // they have the same ones
		}
		if b.Status == handoff.Active && i > 0 {
			break
		}
		ids = add(ids, more)
	}
	return c.withOthers(ctx, a, ids)
}

// maxCandidates limits how many artifacts are compared.
const maxCandidates = 2000

// add adds the IDs that a list does not have.
func add(ids, more []string) []string {
	has := map[string]bool{}
	for _, id := range ids {
		has[id] = true
	}
	for _, id := range more {
		if !has[id] {
			has[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// withOthers returns the artifacts with some IDs, and those for the task or stage of a.
func (c Candidates) withOthers(ctx context.Context, a handoff.Artifact, ids []string) ([]handoff.Artifact, error) {
	task := a.Producer.Slot("task")
	if task != "" {
		page, err := c.c.Hub.Artifacts(ctx, handoff.ArtifactQuery{Channel: a.Channel, Status: handoff.Active,
			Producer: map[string]string{"task": task}, Limit: maxCandidates})
		if err != nil {
			return nil, err
		}
		one := []handoff.Artifact{a}
		c.by.Attribute(ctx, one...)
		c.by.Attribute(ctx, page.Artifacts...)
		own := writer(one[0].PublishedBy())
		for _, b := range page.Artifacts {
			made := slices.Contains(b.Parents, a.ID) || slices.Contains(a.Parents, b.ID)
			if !made && writer(b.PublishedBy()) != own {
				ids = add(ids, []string{b.ID})
			}
		}
	}
	step, err := c.o.Next(ctx, a)
	if err != nil {
		return nil, err
	}
	var results []string
	for _, result := range step.Decide {
		results = append(results, result.ID)
	}
	if slices.Contains(results, a.ID) {
		ids = add(ids, results)
	}
	return c.load(ctx, ids)
}

// writer tells the agents of producers apart.
func writer(p handoff.Producer) string {
	thread, _, _ := strings.Cut(p.Thread, "#") // without the message
	return cmp.Or(thread, p.RunID, p.Session) + "\x00" + p.Agent
}

// load returns the artifacts with some IDs, in this order.
func (c Candidates) load(ctx context.Context, ids []string) ([]handoff.Artifact, error) {
	page, err := c.c.Hub.Artifacts(ctx, handoff.ArtifactQuery{IDs: ids, IncludeInactive: true})
	if err != nil {
		return nil, err
	}
	list := page.Artifacts
	c.by.Attribute(ctx, list...)
	at := map[string]int{}
	for i, id := range ids {
		at[id] = i
	}
	order.Sort(list, func(a, b handoff.Artifact) int { return cmp.Compare(at[a.ID], at[b.ID]) })
	return list, nil
}
