package workspace

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/cost"
	"github.com/agent-handoff/handoff/internal/threadindex"
	"github.com/agent-handoff/handoff/thread"
)

// CostOptions select what Cost counts, and how it groups that.
type CostOptions struct {
	By           string // one of CostGroups, by default session
	Since, Until string // a time, see ParseTime: work and conversations last active at or after, before
	Everywhere   bool   // with conversations of other directories
	Prices       string // a file with prices that count before those of handoff
	NoIndex      bool   // read the transcripts, not the index of conversations
}

// CostGroups returns what Cost can group by.
func CostGroups() []string { return slices.Clone(cost.Groups) }

// A CostReport has the usage of each group, the most expensive first. The rows and
// Unattributed, which is what belongs to no group, add up to Total.
type CostReport struct {
	By           string      `json:"by"`
	Rows         []CostRow   `json:"rows"`
	Unattributed CostRow     `json:"unattributed"`
	Total        CostRow     `json:"total"`
	Prices       PriceSource `json:"prices"`
	Warnings     []string    `json:"warnings,omitempty"`
}

// A CostRow is the usage of one group.
type CostRow = cost.Row

// A PriceSource is where prices are from, and their date.
type PriceSource struct {
	Source string `json:"source"`
	Date   string `json:"date"`
}

// Cost reports what the conversations of this repository, and the work that
// harnesses reported, used and cost. Each token is counted once, also that of
// subagents. Usage that a harness reported is preferred to that of the transcript.
//
// Kinds: Invalid (the group, a time, the prices), NotFound (the file with prices).
func (w *Workspace) Cost(ctx context.Context, set *thread.Set, o CostOptions) (CostReport, error) {
	if o.By == "" {
		o.By = cost.BySession
	}
	if !slices.Contains(cost.Groups, o.By) {
		return CostReport{}, invalid("cost", o.By, "unknown group", "group by "+strings.Join(cost.Groups, ", "))
	}
	prices, err := cost.Prices(w.path(o.Prices), o.Prices)
	if err != nil {
		return CostReport{}, err
	}
	s := cost.Sources{Prices: cost.NewPricer(prices...)}
	warnings, err := w.costSources(ctx, set, o, &s)
	if err != nil {
		return CostReport{}, err
	}
	leaves := cost.Leaves(s)
	sum := cost.Summarize(o.By, leaves)
	r := CostReport{o.By, sum.Rows, sum.Unattributed, sum.Total, PriceSource{prices[0].Source, prices[0].Date}, append(warnings, sum.Warnings(leaves)...)}
	if o.By == cost.BySession {
		for i := range r.Rows {
			if d, err := w.sessions.Session(ctx, r.Rows[i].Key); err == nil {
				r.Rows[i].Name = d.Name
			}
		}
	}
	return r, ctx.Err()
}

// costSources adds to s what was active in the time of o.
func (w *Workspace) costSources(ctx context.Context, set *thread.Set, o CostOptions, s *cost.Sources) (warnings []string, err error) {
	since, until, err := w.times(o.Since, o.Until)
	if err != nil {
		return nil, err
	}
	inTime := func(t time.Time) bool { return !t.Before(since) && (until.IsZero() || t.Before(until)) }
	if s.Work, err = w.hub.WorkIn(ctx, ""); err != nil {
		return nil, err
	}
	s.Work = slices.DeleteFunc(s.Work, func(work handoff.Work) bool {
		return !inTime(work.StartedAt) && !inTime(work.EndedAt)
	})
	for page, err := range w.Pages(ctx, ListOptions{Filter: Filter{IncludeInactive: true, Since: o.Since, Until: o.Until}}) {
		if err != nil {
			return nil, err
		}
		s.Artifacts = append(s.Artifacts, page.Artifacts...)
	}
	q, err := w.threadQuery(ThreadOptions{Since: o.Since, Until: o.Until, Everywhere: o.Everywhere})
	if err != nil {
		return nil, err
	}
	return w.archive(set, ThreadOptions{NoIndex: o.NoIndex}).EachUsage(ctx, q, func(u threadindex.ThreadUsage) error {
		s.Threads = append(s.Threads, cost.Conversation{URI: u.URI, Agent: u.Agent, Main: u.Main, Started: u.Started, Last: u.Modified, Status: u.Status,
			Requests: u.Requests, Completeness: u.Completeness, Reason: u.Reason})
		return nil
	})
}
