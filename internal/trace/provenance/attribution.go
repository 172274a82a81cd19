package provenance

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/core"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/internal/transcript/keep"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/lineage"
)

// An Attribution finds who published artifacts, as the transcripts of an open workspace show it.
type Attribution struct {
	Threads keep.Transcripts
}

// core returns the open workspace.
func (t Attribution) core() *core.Core { return t.Threads.Core }

// index returns the index of threads. ok is false if there is none.
func (t Attribution) index() (x Index, ok bool) {
	if t.Threads.Set == nil {
		return nil, false
	}
	x, ok = t.Threads.Archive(false).(Index)
	return x, ok
}

// Attribute adds to artifacts who published them. Without a usable index of threads it adds
// nothing.
func (t Attribution) Attribute(ctx context.Context, list ...handoff.Artifact) {
	if len(list) == 0 {
		return
	}
	if x, ok := t.index(); ok {
		_ = attributeNow(ctx, x, t.core().Now(), list) // an index that can't be used is rebuilt by what needs it
	}
}

// How many artifacts are read at a time: with their IDs, and to find those of an agent, which is
// given up after some pages.
const (
	pageSize   = 500
	agentPage  = 200
	agentPages = 50
)

// freshFor is how long after a publication its call may not be in the transcript.
const freshFor = 10 * time.Second

// AttributeEvents is Attribute for those who wait, who don't wait for a transcript: an artifact
// that was published a moment ago stays as its record is.
func (t Attribution) AttributeEvents(ctx context.Context, list ...handoff.Artifact) {
	for i := range list {
		if t.core().Now().Sub(list[i].CreatedAt) >= freshFor {
			t.Attribute(ctx, list[i:i+1]...)
		}
	}
}

// AttributeNodes sets the agents of artifacts in a graph to those who published them.
func (t Attribution) AttributeNodes(ctx context.Context, nodes []lineage.Neighbor) error {
	at, ids := map[string]int{}, []string{}
	for i, n := range nodes {
		at[n.ID], ids = i, append(ids, n.ID)
	}
	page, err := t.core().Index.Artifacts(ctx, handoff.ArtifactQuery{IDs: ids, IncludeInactive: true})
	t.Attribute(ctx, page.Artifacts...)
	for _, a := range page.Artifacts {
		nodes[at[a.ID]].Agent = a.PublishedBy().Agent
	}
	return err
}

// IndexNewest brings the index of threads up to the newest artifacts.
func (t Attribution) IndexNewest(ctx context.Context) error {
	if _, err := t.core().Hub.Newest(ctx); err != nil { // which brings the index up to the log
		return err
	}
	newest, err := t.core().Index.Threaded(ctx, pageSize)
	x, ok := t.index()
	if err != nil || !ok || len(newest) == 0 {
		return err
	}
	due, _ := dueOf(ctx, x, t.core().Now(), newest) // an index that can't be used is rebuilt by what needs it
	if len(due) == 0 {
		return ctx.Err()
	}
	page, err := t.core().Index.Artifacts(ctx, handoff.ArtifactQuery{IDs: due, IncludeInactive: true})
	t.Attribute(ctx, page.Artifacts...)
	return err
}

// attributable returns the artifacts that the index of threads may show to be of some
// subagents, as a map of the agents in their records by their IDs.
func (t Attribution) attributable(ctx context.Context, of threadindex.Subagents) (
	map[string]string, error) {
	x, ok := t.index()
	if !ok {
		return nil, nil
	}
	signs, err := signsOf(ctx, x, of)
	if err != nil {
		return nil, err
	}
	if of == (threadindex.Subagents{}) {
		signs.Threads = nil // whoever asks for all subagents knows them by their threads
	}
	return t.core().Index.AgentsOf(ctx, signs.Artifacts, signs.Threads, signs.Calls)
}

// Reassigned returns the artifacts of a time that transcripts show to be of another thread
// than their records do, and a warning if the index of threads is too old to know all.
func (t Attribution) Reassigned(ctx context.Context, since, until time.Time) (list []handoff.Artifact,
	warnings []string, err error) {
	if t.Threads.Set == nil {
		return nil, nil, nil
	}
	if err := t.IndexNewest(ctx); err != nil {
		return nil, nil, err
	}
	if x, ok := t.index(); ok {
		behind, err := x.IsBehind(ctx, threadindex.Quick)
		if err != nil {
			return nil, nil, err
		}
		if behind {
			warnings = []string{fmt.Sprintf("more than %d transcripts changed since they were indexed, so an "+
				"artifact of a subagent may count to its main agent", threadindex.Quick)}
		}
	}
	known, err := t.attributable(ctx, threadindex.Subagents{})
	if err != nil {
		return nil, warnings, err
	}
	q := handoff.ArtifactQuery{IncludeInactive: true, Since: since, Until: until}
	list, err = t.among(ctx, q, slices.Sorted(maps.Keys(known)), func(a handoff.Artifact) bool {
		return a.Attributed != nil && a.Attributed.Agent != "" && a.Producer.Agent != a.Attributed.Agent
	})
	return list, warnings, err
}

// Unrecorded returns the artifacts of a time or later whose records name no thread, and that
// transcripts show to be of one.
func (t Attribution) Unrecorded(ctx context.Context, since time.Time) ([]handoff.Artifact, error) {
	x, ok := t.index()
	if !ok {
		return nil, nil
	}
	ids, err := publishedSince(ctx, x, since)
	if err != nil {
		return nil, err
	}
	q := handoff.ArtifactQuery{Producer: map[string]string{"thread": ""}, IncludeInactive: true, Since: since}
	return t.among(ctx, q, ids, func(a handoff.Artifact) bool { return a.Attributed != nil })
}

// Mains returns the main threads of those of some URIs that are of subagents.
func (t Attribution) Mains(ctx context.Context, uris []string) (map[string]string, error) {
	x, ok := t.index()
	if !ok {
		return nil, nil
	}
	return mainsOf(ctx, x, uris)
}

// among returns the artifacts that q selects, with one of some IDs, of which keep is true once
// they are attributed.
func (t Attribution) among(ctx context.Context, q handoff.ArtifactQuery, ids []string,
	keep func(handoff.Artifact) bool) (list []handoff.Artifact, err error) {
	for part := range slices.Chunk(ids, pageSize) {
		q.IDs = part
		page, err := t.core().Index.Artifacts(ctx, q)
		if err != nil {
			return nil, err
		}
		t.Attribute(ctx, page.Artifacts...)
		for _, a := range page.Artifacts {
			if keep(a) {
				list = append(list, a)
			}
		}
	}
	return list, nil
}

// ByAgent returns the artifacts that q selects, but by the agent that PublishedBy has in place
// of that in the record. A page with fewer artifacts than the limit may have a cursor.
func (t Attribution) ByAgent(ctx context.Context, q handoff.ArtifactQuery) (page handoff.ArtifactPage, err error) {
	if t.Threads.Set != nil && q.Cursor == "" {
		err = t.IndexNewest(ctx)
	}
	if err == nil {
		page, err = t.publishedBy(ctx, q, q.Producer["agent"])
	}
	if err != nil || t.Threads.Set == nil {
		return page, err
	}
	others, err := t.recordedOtherwise(ctx, q)
	if err != nil {
		return page, err
	}
	more, err := t.publishedBy(ctx, others, q.Producer["agent"])
	if page.HiddenCount+more.HiddenCount > 0 && err == nil {
		page.HiddenCount, err = t.hidden(ctx, q, page.HiddenCount)
	}
	return merged(page, more, q.Limit), err
}

// recordedOtherwise returns a query of the artifacts that q selects, except by the agent, whose
// records have another agent, and which transcripts may show to be of this one.
func (t Attribution) recordedOtherwise(ctx context.Context, q handoff.ArtifactQuery) (handoff.ArtifactQuery, error) {
	agent, ids := q.Producer["agent"], []string{}
	if agent != "" { // the one in a record is only replaced by another one
		known, err := t.attributable(ctx, threadindex.Subagents{Name: agent})
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
func (t Attribution) publishedBy(ctx context.Context, q handoff.ArtifactQuery, agent string) (
	found handoff.ArtifactPage, err error) {
	if q.IDs != nil && len(q.IDs) == 0 {
		return found, nil
	}
	limit := q.Limit
	for range agentPages {
		page, err := t.core().Hub.Artifacts(ctx, q)
		if err != nil {
			return found, err
		}
		t.Attribute(ctx, page.Artifacts...)
		page.Artifacts = slices.DeleteFunc(page.Artifacts, func(a handoff.Artifact) bool {
			return a.PublishedBy().Agent != agent
		})
		page.Artifacts = append(found.Artifacts, page.Artifacts...)
		if found = page; found.Cursor == "" || len(found.Artifacts) >= limit {
			break
		}
		q.Limit, q.Cursor = max(limit, agentPage), found.Cursor
	}
	if limit > 0 && len(found.Artifacts) > limit {
		found.Artifacts, found.Cursor = found.Artifacts[:limit], handoff.NewCursor(found.Artifacts[limit-1].Seq)
	}
	return found, ctx.Err()
}

// differences returns the artifacts that q selects by the agent that PublishedBy has and not by
// the agent in the record, and those that it selects by the record only. Paging is ignored.
func (t Attribution) differences(ctx context.Context, q handoff.ArtifactQuery) (more, fewer []handoff.Artifact,
	err error) {
	if t.Threads.Set == nil {
		return nil, nil, nil
	}
	agent := q.Producer["agent"]
	q.Limit, q.Cursor = 0, ""
	others, err := t.recordedOtherwise(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	of := func(a handoff.Artifact) bool { return a.PublishedBy().Agent == agent }
	if more, err = t.among(ctx, others, others.IDs, of); err != nil {
		return nil, nil, err
	}
	known, err := t.attributable(ctx, threadindex.Subagents{Name: agent, Others: true})
	if err != nil {
		return nil, nil, err
	}
	maps.DeleteFunc(known, func(id, recorded string) bool {
		return recorded != agent || (q.IDs != nil && !slices.Contains(q.IDs, id))
	})
	fewer, err = t.among(ctx, q, slices.Collect(maps.Keys(known)),
		func(a handoff.Artifact) bool { return !of(a) })
	return more, fewer, err
}

// hidden corrects how many artifacts q leaves out because of their status, as differences does.
func (t Attribution) hidden(ctx context.Context, q handoff.ArtifactQuery, n int) (int, error) {
	for _, q.Status = range []handoff.Status{handoff.Superseded, handoff.Withdrawn} {
		more, fewer, err := t.differences(ctx, q)
		if err != nil {
			return 0, err
		}
		n += len(more) - len(fewer)
	}
	return min(n, handoff.MaxHidden), nil
}

// CountByAgent corrects counts by channel, of the artifacts that q selects by the agent in their
// records, as differences does.
func (t Attribution) CountByAgent(ctx context.Context, q handoff.ArtifactQuery, counts map[string]int) error {
	more, fewer, err := t.differences(ctx, q)
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
