package workspace

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/order"
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
		_ = provenance.Attribute(ctx, x, w.c.Now(), list) // an index that can't be used is rebuilt by what needs it
	}
}

// freshFor is how long after a publication its call may not be in the transcript.
const freshFor = 10 * time.Second

// attributeEvents is attribute for those who wait, who don't wait for a transcript: an artifact
// that was published a moment ago stays as its record is.
func (w *Workspace) attributeEvents(ctx context.Context, list ...handoff.Artifact) {
	for i := range list {
		if w.c.Now().Sub(list[i].CreatedAt) >= freshFor {
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
	page, err := w.c.Index.Artifacts(ctx, handoff.ArtifactQuery{IDs: ids, IncludeInactive: true})
	w.attribute(ctx, w.threads, page.Artifacts...)
	for _, a := range page.Artifacts {
		nodes[at[a.ID]].Agent = a.PublishedBy().Agent
	}
	return err
}

// indexNewest brings the index of threads of a set up to the newest artifacts.
func (w *Workspace) indexNewest(ctx context.Context, set *thread.Set) error {
	if _, err := w.c.Anonymous.Newest(ctx); err != nil { // which brings the index up to the log
		return err
	}
	newest, err := w.c.Index.Threaded(ctx, listPage)
	x, ok := w.archive(set, false).(provenance.Index)
	if err != nil || !ok || len(newest) == 0 {
		return err
	}
	due, _ := provenance.Due(ctx, x, w.c.Now(), newest) // an index that can't be used is rebuilt by what needs it
	if len(due) == 0 {
		return ctx.Err()
	}
	page, err := w.c.Index.Artifacts(ctx, handoff.ArtifactQuery{IDs: due, IncludeInactive: true})
	w.attribute(ctx, set, page.Artifacts...)
	return err
}

// attributable returns the artifacts that the index of threads may show to be of some
// subagents, as a map of the agents in their records by their IDs.
func (w *Workspace) attributable(ctx context.Context, set *thread.Set, of threadindex.Subagents) (
	map[string]string, error) {
	x, ok := w.archive(set, false).(provenance.Index)
	if !ok {
		return nil, nil
	}
	signs, err := provenance.Signs(ctx, x, of)
	if err != nil {
		return nil, err
	}
	if of == (threadindex.Subagents{}) {
		signs.Threads = nil // whoever asks for all subagents knows them by their threads
	}
	return w.c.Index.AgentsOf(ctx, signs.Artifacts, signs.Threads, signs.Calls)
}

// reassigned returns the artifacts of a time that transcripts show to be of another thread
// than their records do, and a warning if the index of threads is too old to know all.
func (w *Workspace) reassigned(ctx context.Context, set *thread.Set, since, until time.Time) (list []handoff.Artifact,
	warnings []string, err error) {
	if set == nil {
		return nil, nil, nil
	}
	if err := w.indexNewest(ctx, set); err != nil {
		return nil, nil, err
	}
	if x, ok := w.archive(set, false).(provenance.Index); ok {
		behind, err := x.IsBehind(ctx, threadindex.Quick)
		if err != nil {
			return nil, nil, err
		}
		if behind {
			warnings = []string{fmt.Sprintf("more than %d transcripts changed since they were indexed, so an "+
				"artifact of a subagent may count to its main agent", threadindex.Quick)}
		}
	}
	known, err := w.attributable(ctx, set, threadindex.Subagents{})
	if err != nil {
		return nil, warnings, err
	}
	q := handoff.ArtifactQuery{IncludeInactive: true, Since: since, Until: until}
	list, err = w.among(ctx, set, q, slices.Sorted(maps.Keys(known)), func(a handoff.Artifact) bool {
		return a.Attributed != nil && a.Attributed.Agent != "" && a.Producer.Agent != a.Attributed.Agent
	})
	return list, warnings, err
}

// unrecorded returns the artifacts of a time or later whose records name no thread, and that
// transcripts show to be of one.
func (w *Workspace) unrecorded(ctx context.Context, set *thread.Set, since time.Time) ([]handoff.Artifact, error) {
	x, ok := w.archive(set, false).(provenance.Index)
	if set == nil || !ok {
		return nil, nil
	}
	ids, err := provenance.PublishedSince(ctx, x, since)
	if err != nil {
		return nil, err
	}
	q := handoff.ArtifactQuery{Producer: map[string]string{"thread": ""}, IncludeInactive: true, Since: since}
	return w.among(ctx, set, q, ids, func(a handoff.Artifact) bool { return a.Attributed != nil })
}

// mains returns the main threads of those of some URIs that are of subagents.
func (w *Workspace) mains(ctx context.Context, set *thread.Set, uris []string) (map[string]string, error) {
	x, ok := w.archive(set, false).(provenance.Index)
	if set == nil || !ok {
		return nil, nil
	}
	return provenance.Mains(ctx, x, uris)
}

// among returns the artifacts that q selects, with one of some IDs, of which keep is true once
// they are attributed.
func (w *Workspace) among(ctx context.Context, set *thread.Set, q handoff.ArtifactQuery, ids []string,
	keep func(handoff.Artifact) bool) (list []handoff.Artifact, err error) {
	for part := range slices.Chunk(ids, listPage) {
		q.IDs = part
		page, err := w.c.Index.Artifacts(ctx, q)
		if err != nil {
			return nil, err
		}
		w.attribute(ctx, set, page.Artifacts...)
		for _, a := range page.Artifacts {
			if keep(a) {
				list = append(list, a)
			}
		}
	}
	return list, nil
}

// byAgent returns the artifacts that q selects, but by the agent that PublishedBy has in place
// of that in the record. A page may have fewer than the limit, and a cursor, as that of noticed.
func (w *Workspace) byAgent(ctx context.Context, q handoff.ArtifactQuery) (page handoff.ArtifactPage, err error) {
	if w.threads != nil && q.Cursor == "" {
		err = w.indexNewest(ctx, w.threads)
	}
	if err == nil {
		page, err = w.publishedBy(ctx, q, q.Producer["agent"])
	}
	if err != nil || w.threads == nil {
		return page, err
	}
	others, err := w.recordedOtherwise(ctx, q)
	if err != nil {
		return page, err
	}
	more, err := w.publishedBy(ctx, others, q.Producer["agent"])
	if page.HiddenCount+more.HiddenCount > 0 && err == nil {
		page.HiddenCount, err = w.hidden(ctx, q, page.HiddenCount)
	}
	return merged(page, more, q.Limit), err
}

// recordedOtherwise returns a query of the artifacts that q selects, except by the agent, whose
// records have another agent, and which transcripts may show to be of this one.
func (w *Workspace) recordedOtherwise(ctx context.Context, q handoff.ArtifactQuery) (handoff.ArtifactQuery, error) {
	agent, ids := q.Producer["agent"], []string{}
	if agent != "" { // the one in a record is only replaced by another one
		known, err := w.attributable(ctx, w.threads, threadindex.Subagents{Name: agent})
		if err != nil {
			return q, err
		}
		for id, recorded := range known {
			if recorded != agent && (q.IDs == nil || slices.Contains(q.IDs, id)) {
				ids = append(ids, id)
			}
		}
	}
	q.IDs, q.Producer = ids, maps.Clone(q.Producer)
	delete(q.Producer, "agent")
	return q, nil
}

// publishedBy returns those of the artifacts that q selects that an agent published.
func (w *Workspace) publishedBy(ctx context.Context, q handoff.ArtifactQuery, agent string) (
	found handoff.ArtifactPage, err error) {
	if q.IDs != nil && len(q.IDs) == 0 {
		return found, nil
	}
	limit := q.Limit
	for range noticedPages {
		page, err := w.c.Anonymous.Artifacts(ctx, q)
		if err != nil {
			return found, err
		}
		w.attribute(ctx, w.threads, page.Artifacts...)
		page.Artifacts = slices.DeleteFunc(page.Artifacts, func(a handoff.Artifact) bool {
			return a.PublishedBy().Agent != agent
		})
		page.Artifacts = append(found.Artifacts, page.Artifacts...)
		if found = page; found.Cursor == "" || len(found.Artifacts) >= limit {
			break
		}
		q.Limit, q.Cursor = max(limit, noticedPage), found.Cursor
	}
	if limit > 0 && len(found.Artifacts) > limit {
		found.Artifacts, found.Cursor = found.Artifacts[:limit], handoff.NewCursor(found.Artifacts[limit-1].Seq)
	}
	return found, ctx.Err()
}

// differences returns the artifacts that q selects by the agent that PublishedBy has and not by
// the agent in the record, and those that it selects by the record only. Paging is ignored.
func (w *Workspace) differences(ctx context.Context, q handoff.ArtifactQuery) (more, fewer []handoff.Artifact,
	err error) {
	if w.threads == nil {
		return nil, nil, nil
	}
	agent := q.Producer["agent"]
	q.Limit, q.Cursor = 0, ""
	others, err := w.recordedOtherwise(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	of := func(a handoff.Artifact) bool { return a.PublishedBy().Agent == agent }
	if more, err = w.among(ctx, w.threads, others, others.IDs, of); err != nil {
		return nil, nil, err
	}
	known, err := w.attributable(ctx, w.threads, threadindex.Subagents{Name: agent, Others: true})
	if err != nil {
		return nil, nil, err
	}
	maps.DeleteFunc(known, func(id, recorded string) bool {
		return recorded != agent || (q.IDs != nil && !slices.Contains(q.IDs, id))
	})
	fewer, err = w.among(ctx, w.threads, q, slices.Collect(maps.Keys(known)),
		func(a handoff.Artifact) bool { return !of(a) })
	return more, fewer, err
}

// hidden corrects how many artifacts q leaves out because of their status, as differences does.
func (w *Workspace) hidden(ctx context.Context, q handoff.ArtifactQuery, n int) (int, error) {
	for _, q.Status = range []handoff.Status{handoff.Superseded, handoff.Withdrawn} {
		more, fewer, err := w.differences(ctx, q)
		if err != nil {
			return 0, err
		}
		n += len(more) - len(fewer)
	}
	return min(n, handoff.MaxHidden), nil
}

// countByAgent corrects counts by channel, of the artifacts that q selects by the agent in their
// records, as differences does.
func (w *Workspace) countByAgent(ctx context.Context, q handoff.ArtifactQuery, counts map[string]int) error {
	more, fewer, err := w.differences(ctx, q)
	for _, a := range more {
		counts[a.Channel]++
	}
	for _, a := range fewer {
		if counts[a.Channel]--; counts[a.Channel] == 0 {
			delete(counts, a.Channel)
		}
	}
	return err
}

// merged returns two pages of the same order as one, with at most limit artifacts, 0 for all.
func merged(a, b handoff.ArtifactPage, limit int) handoff.ArtifactPage {
	var last handoff.Seq // what precedes it need not be on both pages
	for _, page := range []handoff.ArtifactPage{a, b} {
		seq, _ := handoff.ParseCursor(page.Cursor)
		last = max(last, seq)
	}
	all := append(slices.Clone(a.Artifacts), b.Artifacts...)
	order.Sort(all, func(a, b handoff.Artifact) int { return cmp.Compare(b.Seq, a.Seq) })
	all = slices.DeleteFunc(all, func(a handoff.Artifact) bool { return a.Seq < last })
	if limit > 0 && len(all) > limit {
		all, last = all[:limit], all[limit-1].Seq
	}
	if a.Artifacts, a.Cursor = all, ""; last > 0 {
		a.Cursor = handoff.NewCursor(last)
	}
	return a
}
