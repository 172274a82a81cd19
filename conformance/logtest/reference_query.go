package logtest

import (
	"context"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
)

// selectsState reports whether the state of an artifact matches the query.
func selectsState(s fold.Store, q handoff.ArtifactQuery, a *fold.ArtifactState) bool {
	switch {
	case q.Revision != 0 && q.Revision != a.Predecessors+1,
		q.Label != "" && !slices.Contains(a.Labels, q.Label),
		q.UsedBy != "" && !isUsedBy(s, a, q.UsedBy),
		q.Discussed && !a.IsDiscussed(),
		q.Comment != "" && !hasComment(s, a, q.Comment),
		q.Stale && a.StaleInputs == 0:
		return false
	}
	return true
}

// hasComment reports whether an artifact has the comment with an ID.
func hasComment(s fold.Store, a *fold.ArtifactState, comment string) bool {
	id, err := s.Pointer(fold.CommentSpace, comment)
	return err == nil && id == a.ID
}

// selects reports whether the record of an artifact matches the query. It ignores
// status, family and paging.
func selects(q handoff.ArtifactQuery, r handoff.Record, p *handoff.ArtifactPublished) bool {
	switch {
	case r.Seq <= q.After,
		q.Channel != "" && q.Channel != p.Channel,
		q.Kind != "" && q.Kind != p.Kind,
		q.Name != "" && q.Name != p.Name,
		q.Namespace != "" && q.Namespace != p.Namespace,
		q.Named && p.Name == "",
		q.Key != "" && q.Key != p.Key,
		q.Tag != "" && !slices.Contains(p.Tags, q.Tag),
		q.Claimed && !fold.IsClaimed(p),
		q.Parent != "" && !slices.Contains(p.Parents, q.Parent),
		q.IDs != nil && !slices.Contains(q.IDs, r.ID),
		q.AnyParent != nil && !slices.ContainsFunc(p.Parents, func(id string) bool {
			return slices.Contains(q.AnyParent, id)
		}),
		!q.Since.IsZero() && r.CreatedAt.Before(q.Since),
		!q.Until.IsZero() && !r.CreatedAt.Before(q.Until),
		!strings.HasPrefix(r.ID, q.IDPrefix), !strings.HasSuffix(r.ID, q.IDSuffix):
		return false
	}
	for slot, want := range q.Producer {
		if r.Producer.Slot(slot) != want {
			return false
		}
	}
	return true
}

// shows reports whether the query selects artifacts of the given status.
func shows(q handoff.ArtifactQuery, s handoff.Status) bool {
	if q.Status != "" {
		return s == q.Status
	}
	return q.IncludeInactive || s == handoff.Active
}

// selectsSession reports whether a query selects a session.
func selectsSession(q handoff.SessionQuery, s *handoff.Session) bool {
	switch {
	case s.Opened == 0,
		q.Status != "" && q.Status != s.Status,
		q.Agent != "" && q.Agent != s.Agent.Name,
		q.Workflow != nil && !q.Workflow.MatchString(s.Workflow.Name),
		q.User != "" && q.User != s.User,
		q.Tag != "" && !slices.Contains(s.Tags, q.Tag),
		q.Parent != "" && q.Parent != s.Parent,
		!strings.HasPrefix(s.ID, q.IDPrefix),
		q.IDs != nil && !slices.Contains(q.IDs, s.ID),
		q.LinksTo != "" && !slices.Contains(s.Links, q.LinksTo),
		q.BootID != "" && (s.Status != handoff.Running || q.BootID != s.Process.BootID),
		s.Parent != "" && !q.IncludeRuns && q.Parent == "",
		(s.Archived || s.Deleted) && !q.IncludeArchived,
		!q.Since.IsZero() && s.OpenedAt.Before(q.Since),
		!q.Until.IsZero() && !s.OpenedAt.Before(q.Until):
		return false
	}
	return true
}

// cloneSession returns a copy that shares no memory that Apply changes.
func cloneSession(s *handoff.Session) handoff.Session {
	c := *s
	c.Reclosed = slices.Clone(s.Reclosed)
	c.Links = slices.Clone(s.Links)
	c.Tags = slices.Clone(s.Tags)
	return c
}

// productions adds up a list, newest first.
func productions(list []handoff.Production) (sums []handoff.Production) {
	slices.SortStableFunc(list, fold.CompareProductions)
	for _, p := range list {
		if last := len(sums) - 1; last < 0 || fold.CompareProductions(sums[last], p) != 0 {
			sums = append(sums, p)
		} else {
			fold.AddProduction(&sums[last], p)
		}
	}
	return sums
}

// Productions implements handoff.ProductionLister.
func (m *Reference) Productions(ctx context.Context, q handoff.ProductionQuery) ([]handoff.Production, error) {
	if q.In != "" {
		return m.threadsIn(ctx, q.In)
	}
	page, err := m.Artifacts(ctx, handoff.ArtifactQuery{IncludeInactive: true, Since: q.Since, Until: q.Until})
	var list []handoff.Production
	for _, a := range page.Artifacts {
		if slices.Contains(q.Without, a.ID) || (q.OfThreads && a.Producer.Thread == "") {
			continue
		}
		p := fold.ProductionOf(a, q.By)
		if q.By == "label" && len(a.Labels) == 0 && !slices.Contains(q.Apart, a.ID) {
			p.Key = ""
		}
		list = append(list, p)
	}
	return productions(list), err
}

// threadsIn returns the threads that published in a session or run.
func (m *Reference) threadsIn(ctx context.Context, id string) (list []handoff.Production, err error) {
	threads := map[string]bool{}
	for _, slot := range []string{"session", "run"} {
		page, err := m.Artifacts(ctx, handoff.ArtifactQuery{Producer: map[string]string{slot: id},
			IncludeInactive: true})
		if err != nil {
			return nil, err
		}
		for _, a := range page.Artifacts {
			threads[a.Producer.Thread] = true
		}
	}
	delete(threads, "")
	for uri := range threads {
		list = append(list, handoff.Production{Thread: uri})
	}
	return list, nil
}

// known reports whether the record of an artifact was applied.
func known(a *fold.ArtifactState) bool { return a != nil && a.Published != nil }

// isUsedBy reports whether an agent, session or run used an artifact.
func isUsedBy(s fold.Store, a *fold.ArtifactState, user string) bool {
	v, err := fold.View(s, a)
	return err == nil && slices.ContainsFunc(v.UsedBy, func(u handoff.Use) bool {
		return u.Agent == user || u.Session == user || u.RunID == user
	})
}
