package workspace

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/cost"
	"github.com/agent-handoff/handoff/internal/plainfile"
	"github.com/agent-handoff/handoff/internal/price"
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
	prices, err := w.prices(o.Prices)
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
	r := CostReport{o.By, sum.Rows, sum.Unattributed, sum.Total, PriceSource{prices[0].Source, prices[0].Date}, warnings}
	if n := len(slices.DeleteFunc(leaves, func(l cost.Leaf) bool { _, differs := l.Disputed(); return !differs })); n > 0 {
		r.Warnings = append(r.Warnings, strconv.Itoa(n)+" of the conversations: the harness reported usage that differs by more than 5 % from the transcript")
	}
	if r.Total.Amount.AboveTier {
		r.Warnings = append(r.Warnings, "some models cost more for long contexts; how long some contexts were is not known, so the cost is a lower bound")
	}
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
	since, err := ParseTime("since", o.Since, w.now())
	if err != nil {
		return nil, err
	}
	until, err := ParseTime("until", o.Until, w.now())
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

// prices returns the prices of a file, and then those of handoff.
func (w *Workspace) prices(file string) ([]*price.List, error) {
	if file == "" {
		return []*price.List{price.Embedded()}, nil
	}
	const most = 4 << 20
	b, err := plainfile.Read(w.path(file), most)
	if err != nil {
		return nil, &handoff.Error{Op: "read prices", Name: file, Kind: handoff.NotFound, Err: err, Hint: handoff.Advice("name a file with prices")}
	}
	own, err := price.Parse(b)
	if err != nil {
		return nil, &handoff.Error{Op: "read prices", Name: file, Kind: handoff.Invalid, Err: err, Hint: handoff.Advice("see docs/cost.md for the form")}
	}
	return []*price.List{own, price.Embedded()}, nil
}
