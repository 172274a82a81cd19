package fold

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
)

// selectsState reports whether the state of an artifact matches the query.
func selectsState(s Store, q handoff.ArtifactQuery, a *ArtifactState) bool {
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
func hasComment(s Store, a *ArtifactState, comment string) bool {
	id, err := s.Pointer(CommentSpace, comment)
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
		q.Claimed && !IsClaimed(p),
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

// Unapplied returns the records after last, the sequence number of the last
// record that an index has applied. The records must be in the order of their
// Seq; a gap is an error of kind Conflict.
func Unapplied(last handoff.Seq, records []handoff.Record) ([]handoff.Record, error) {
	for len(records) > 0 && records[0].Seq <= last {
		records = records[1:]
	}
	for i, r := range records {
		if want := last + handoff.Seq(i) + 1; r.Seq != want {
			return nil, handoff.E("index", "", handoff.Conflict, fmt.Errorf("got record %d, want %d", r.Seq, want))
		}
	}
	return records, nil
}
