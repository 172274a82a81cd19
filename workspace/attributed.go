package workspace

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/trace/provenance"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/lineage"
	"github.com/agent-handoff/handoff/thread"
)

// attribute adds to artifacts who published them, as the transcripts of a set show it, nil
// for none. Without a usable index of threads it adds nothing.
func (w *Workspace) attribute(ctx context.Context, set *thread.Set, list ...handoff.Artifact) {
	if set == nil || len(list) == 0 {
		return
	}
	if x, ok := w.archive(set, false).(provenance.Index); ok {
		_ = provenance.Attribute(ctx, x, w.now(), list) // an index that can't be used is rebuilt by what needs it
	}
}

// freshFor is how long after a publication its call may not be in the transcript.
const freshFor = 10 * time.Second

// attributeEvents is attribute for those who wait, who don't wait for a transcript: an artifact
// that was published a moment ago stays as its record is.
func (w *Workspace) attributeEvents(ctx context.Context, list ...handoff.Artifact) {
	for i := range list {
		if w.now().Sub(list[i].CreatedAt) >= freshFor {
			w.attribute(ctx, w.threads, list[i:i+1]...)
		}
	}
}

// attributeNodes sets the agents of artifacts in a graph to those who published them.
func (w *Workspace) attributeNodes(ctx context.Context, nodes []lineage.Neighbor) error {
	at, ids := map[string]int{}, []string{}
	for i, n := range nodes {
		at[n.ID], ids = i, append(ids, n.ID)
	}
	page, err := w.index.Artifacts(ctx, handoff.ArtifactQuery{IDs: ids, IncludeInactive: true})
	w.attribute(ctx, w.threads, page.Artifacts...)
	for _, a := range page.Artifacts {
		nodes[at[a.ID]].Agent = a.PublishedBy().Agent
	}
	return err
}

// reportedBy returns the IDs of the artifacts that subagents with a name, "" for all, may have
// published, after the index was brought up to the newest artifacts.
func (w *Workspace) reportedBy(ctx context.Context, set *thread.Set, agent string) (ids []string, err error) {
	x, ok := w.archive(set, false).(provenance.Index)
	if !ok {
		return nil, nil
	}
	newest, err := w.hub.Artifacts(ctx, handoff.ArtifactQuery{IncludeInactive: true, Limit: listPage})
	if err != nil {
		return nil, err
	}
	w.attribute(ctx, set, newest.Artifacts...)
	return provenance.ReportedBy(ctx, x, agent)
}

// reassigned returns the artifacts of a time that transcripts show to be of another thread
// than their records do, and a warning if the index of threads is too old to know all.
func (w *Workspace) reassigned(ctx context.Context, set *thread.Set, since, until time.Time) (list []handoff.Artifact,
	warnings []string, err error) {
	if set == nil {
		return nil, nil, nil
	}
	ids, err := w.reportedBy(ctx, set, "")
	if x, ok := w.archive(set, false).(provenance.Index); ok && err == nil {
		behind, err := x.IsBehind(ctx, threadindex.Quick)
		if err != nil {
			return nil, nil, err
		}
		if behind {
			warnings = []string{fmt.Sprintf("more than %d transcripts changed since they were indexed, so an "+
				"artifact of a subagent may count to its main agent", threadindex.Quick)}
		}
	}
	for part := range slices.Chunk(ids, listPage) {
		page, err := w.hub.Artifacts(ctx, handoff.ArtifactQuery{IDs: part, IncludeInactive: true, Since: since, Until: until})
		if err != nil {
			return nil, nil, err
		}
		w.attribute(ctx, set, page.Artifacts...)
		for _, a := range page.Artifacts {
			if by := a.Attributed; by != nil && by.Agent != "" && a.Producer.Agent != by.Agent {
				list = append(list, a)
			}
		}
	}
	return list, warnings, err
}

// byAgent returns the artifacts that q selects by the agent of their producers, and those that
// transcripts show to be of a subagent with this name.
func (w *Workspace) byAgent(ctx context.Context, q handoff.ArtifactQuery) (page handoff.ArtifactPage, err error) {
	if page, err = w.hub.Artifacts(ctx, q); err != nil || w.threads == nil || q.IDs != nil {
		return page, err
	}
	agent := q.Producer["agent"]
	if q.IDs, err = w.reportedBy(ctx, w.threads, agent); err != nil || len(q.IDs) == 0 {
		return page, err
	}
	limit := q.Limit
	q.Producer, q.Limit = maps.Clone(q.Producer), 0
	delete(q.Producer, "agent")
	others, err := w.hub.Artifacts(ctx, q)
	w.attribute(ctx, w.threads, others.Artifacts...)
	others.Artifacts = slices.DeleteFunc(others.Artifacts, func(a handoff.Artifact) bool {
		return a.Producer.Agent == agent || a.PublishedBy().Agent != agent
	})
	return merged(page, others.Artifacts, limit), err
}

// merged returns a page with more artifacts of the same order, and at most limit, 0 for all.
func merged(page handoff.ArtifactPage, more []handoff.Artifact, limit int) handoff.ArtifactPage {
	var last handoff.Seq // of the page, which further ones follow
	if n := len(page.Artifacts); page.Cursor != "" && n > 0 {
		last = page.Artifacts[n-1].Seq
	}
	all := append(slices.Clone(page.Artifacts), more...)
	slices.SortStableFunc(all, func(a, b handoff.Artifact) int { return int(b.Seq) - int(a.Seq) })
	all = slices.DeleteFunc(all, func(a handoff.Artifact) bool { return a.Seq < last })
	if limit > 0 && len(all) > limit {
		all, page.Cursor = all[:limit], handoff.NewCursor(all[limit-1].Seq)
	} else if last > 0 && len(all) < len(page.Artifacts)+len(more) {
		page.Cursor = handoff.NewCursor(all[len(all)-1].Seq)
	}
	page.Artifacts = all
	return page
}
