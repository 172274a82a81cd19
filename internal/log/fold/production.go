package fold

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
)

// ProductionOf returns an artifact as a production, see handoff.ProductionQuery for by. For
// "label" each artifact is told apart.
func ProductionOf(a handoff.Artifact, by string) handoff.Production {
	maker := a.PublishedBy()
	if uri, _, message := strings.Cut(maker.Thread, "#"); message {
		maker.Thread, maker.WorkID = uri, "" // which is that of the thread that the record names
	}
	p := handoff.Production{Thread: maker.Thread, Harness: maker.Harness, WorkID: maker.WorkID, Count: 1,
		Session: maker.Session, RunID: maker.RunID, Agent: maker.Agent, Newest: a.CreatedAt,
		RefsPassed: readers(a.Producer, a.UsedBy)}
	if a.Revision > 1 {
		p.Revisions = 1
	}
	if a.Status == handoff.Active {
		p.Active = 1
	}
	if by != "work" && p.Thread != "" {
		p.Harness, p.WorkID = "", ""
	}
	switch by {
	case "session":
		p.Key = maker.Session + "/" + maker.RunID
	case "channel":
		p.Key = a.Channel
	case "day":
		p.Key = a.CreatedAt.UTC().Format(time.DateOnly)
	case "revision":
		p.Key = strconv.Itoa(p.Revisions)
	case "artifact", "label":
		p.Key = a.ID
	}
	switch by {
	case "tag":
		p.Values = slices.Compact(slices.Sorted(slices.Values(a.Tags)))
	case "label":
		p.Values = slices.Sorted(slices.Values(a.Labels))
	}
	if a.SizeBytes == nil {
		return p
	}
	size := min(max(0, *a.SizeBytes), MaxCounted)
	if read := size * int64(p.RefsPassed); p.RefsPassed > 0 {
		p.BytesRead = &read
	} else {
		p.BytesStayed = &size
	}
	return p
}

// MaxCounted is the most bytes that an artifact counts for in sums: a record may have
// any size.
const MaxCounted = 1 << 40

// readers is Readers for a view.
func readers(by handoff.Producer, users []handoff.Use) int {
	if by.WorkID != "" && slices.ContainsFunc(users, func(u handoff.Use) bool { return u.Of(by) }) {
		return len(users) - 1
	}
	return len(users)
}

// AddProduction adds the numbers of p to s.
func AddProduction(s *handoff.Production, p handoff.Production) {
	s.Count = s.Count + p.Count
	s.Revisions = s.Revisions + p.Revisions
	s.Active = s.Active + p.Active
	s.RefsPassed += p.RefsPassed
	s.BytesRead, s.BytesStayed = sum(s.BytesRead, p.BytesRead), sum(s.BytesStayed, p.BytesStayed)
}

func sum(a, b *int64) *int64 {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	s := *a + *b
	return &s
}

// CompareProductions orders productions by thread, work, key and values. Those of which no
// thread is known are also told apart by session, run and agent.
func CompareProductions(a, b handoff.Production) int {
	if a.Thread == "" && b.Thread == "" {
		if c := cmp.Or(strings.Compare(a.WorkID, b.WorkID), strings.Compare(a.Harness, b.Harness),
			strings.Compare(a.Session, b.Session),
			strings.Compare(a.RunID, b.RunID), strings.Compare(a.Agent, b.Agent)); c != 0 {
			return c
		}
	}
	return cmp.Or(strings.Compare(a.Thread, b.Thread), strings.Compare(a.WorkID, b.WorkID),
		strings.Compare(a.Harness, b.Harness), strings.Compare(a.Key, b.Key), slices.Compare(a.Values, b.Values))
}
