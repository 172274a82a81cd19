// Package cost computes what work used and what that cost, and attributes it to
// sessions, agents and artifacts.
//
// Every token is counted once. The unit that is counted is a Leaf: a thread,
// or work that a harness reported without one. Sums of leaves are Amounts; a value
// that was not reported is absent, never 0.
package cost

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/trace/price"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
)

// Compare orders by cost, then by tokens.
func Compare(a, b trace.Usage) int {
	return cmp.Or(cmp.Compare(value(a.Cost), value(b.Cost)), cmp.Compare(value(a.TotalTokens), value(b.TotalTokens)))
}

// noUsage begins the reason of a sum in which the usage of a part is missing.
const noUsage = "a part has no usage"

// Add adds b to a.
func Add(a *trace.Usage, b trace.Usage) {
	a.Input, a.Output = sum(a.Input, b.Input), sum(a.Output, b.Output)
	a.CacheRead, a.CacheWrite = sum(a.CacheRead, b.CacheRead), sum(a.CacheWrite, b.CacheWrite)
	a.Reasoning, a.TotalTokens = sum(a.Reasoning, b.Reasoning), sum(a.TotalTokens, b.TotalTokens)
	a.Cost = sum(a.Cost, b.Cost)
	switch {
	case a.Completeness == "":
		a.Completeness, a.Reason = b.Completeness, b.Reason
	case b.Completeness == "" || a.Completeness == b.Completeness:
	case a.Completeness == thread.NoUsage || b.Completeness == thread.NoUsage:
		reason := a.Reason
		if b.Completeness == thread.NoUsage {
			reason = b.Reason
		}
		a.Completeness, a.Reason = thread.LowerBound, noUsage
		if reason != "" {
			a.Reason += ": " + reason
		}
	case a.Completeness == thread.Exact || b.Completeness == thread.LowerBound:
		a.Completeness, a.Reason = b.Completeness, b.Reason
	}
	a.AboveTier = a.AboveTier || b.AboveTier
	a.Unpriced, a.Estimated = union(a.Unpriced, b.Unpriced), union(a.Estimated, b.Estimated)
}

// union returns the elements of two lists, sorted, each once.
func union(a, b []string) []string {
	all := append(a, b...)
	slices.Sort(all)
	return slices.Compact(all)
}

// each returns the cost of each of n artifacts, nil if it is not known.
func each(u trace.Usage, n int) *float64 {
	if n == 0 || u.Cost == nil {
		return nil
	}
	c := *u.Cost / float64(n)
	return &c
}

// cacheRate returns which part of the input tokens was read from a cache: of those that were
// read from it, written to it, or neither. nil if no read of one is known.
func cacheRate(u trace.Usage) *float64 {
	all := value(u.CacheRead) + value(u.CacheWrite) + value(u.Input)
	if u.CacheRead == nil || all == 0 {
		return nil
	}
	rate := float64(*u.CacheRead) / float64(all)
	return &rate
}

// Change sets the rate of a change from what was used in the period before to now, or the
// reason why there is none.
func Change(c *trace.CostChange, now trace.Usage) {
	bound := func(of string, u trace.Usage) string {
		reason := u.Reason
		if len(u.Unpriced) > 0 {
			reason = "no price is known of " + strings.Join(u.Unpriced, ", ")
		}
		return strings.TrimSuffix("the cost of "+of+" is a lower bound: "+reason, ": ")
	}
	unused := func(u trace.Usage) bool { return value(u.TotalTokens) == 0 && value(u.Cost) == 0 && u.Reason == "" }
	rate := func() *float64 {
		rate := (value(now.Cost) - *c.Before.Cost) / *c.Before.Cost
		return &rate
	}
	switch {
	case unused(now):
		c.Reason = "nothing was used in the period"
	case unused(c.Before):
		c.Reason = "nothing was used in the period before"
	case now.IsLowerBound():
		c.Reason = bound("the period", now)
		if isRecorded(now) && isRecorded(c.Before) {
			c.RecordedRate = rate()
		}
	case c.Before.IsLowerBound():
		c.Reason = bound("the period before", c.Before)
	case value(c.Before.Cost) == 0:
		c.Reason = "the period before cost nothing"
	default:
		c.Rate = rate()
	}
}

// isRecorded reports whether a cost is a lower bound of which each thread has a part. A thread
// without usage or price can have cost any amount: then two costs can't be compared.
func isRecorded(u trace.Usage) bool {
	return u.Completeness == thread.LowerBound && len(u.Unpriced) == 0 && value(u.Cost) > 0 &&
		!strings.HasPrefix(u.Reason, noUsage)
}

// share returns the part of a that n of several owners have, after some others. The
// parts add up to a: the first owners get the remainder of tokens.
func share(a trace.Usage, after, n, of int) trace.Usage {
	part := func(v *int64) *int64 {
		if v == nil {
			return nil
		}
		more := min(max(*v%int64(of)-int64(after), 0), int64(n))
		p := *v/int64(of)*int64(n) + more
		return &p
	}
	a.Input, a.Output, a.CacheRead, a.CacheWrite = part(a.Input), part(a.Output), part(a.CacheRead), part(a.CacheWrite)
	a.Reasoning, a.TotalTokens = part(a.Reasoning), part(a.TotalTokens)
	if a.Cost != nil {
		c := *a.Cost * float64(n) / float64(of)
		a.Cost = &c
	}
	return a
}

func sum[T int64 | float64](a, b *T) *T {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	s := *a + *b
	return &s
}

// limited returns usage whose numbers can be added without overflow: a record may
// have any number.
func limited(u handoff.Usage) handoff.Usage {
	const most = 1 << 48
	for _, n := range []**int64{&u.Input, &u.Output, &u.CacheRead, &u.CacheWrite, &u.Reasoning, &u.TotalTokens} {
		if *n != nil {
			m := min(max(0, **n), most)
			*n = &m
		}
	}
	if u.Cost != nil {
		c := min(max(0, *u.Cost), most)
		u.Cost = &c
	}
	return u
}

// OfWork returns what a harness reported for a unit of work. Where it reported no
// cost, that is computed from the prices.
func OfWork(w handoff.Work, prices *Pricer) trace.Usage {
	if w.Usage == nil {
		return trace.Usage{}
	}
	a := trace.Usage{Usage: limited(*w.Usage), Completeness: thread.Exact}
	if a.TotalTokens == nil {
		a.TotalTokens = sum(sum(a.Input, a.Output), sum(a.CacheRead, a.CacheWrite))
	}
	if a.Input == nil || a.Output == nil {
		a.Completeness, a.Reason = thread.LowerBound, "the harness reported only some of its usage"
	}
	if a.Cost != nil || a.TotalTokens == nil || *a.TotalTokens == 0 {
		return a
	}
	p, ok := prices.at(Model{w.Model.Provider, w.Model.ID}, w.StartedAt)
	if !ok {
		a.Unpriced = []string{cmp.Or(w.Model.ID, thread.UnknownModel)}
		return a
	}
	of := func(v *int64) int64 {
		if v == nil {
			return 0
		}
		return *v
	}
	a.AboveTier = p.InTier(of(a.Input) + of(a.CacheRead) + of(a.CacheWrite))
	p.Tiers = nil // they apply to single requests
	c := p.Cost(price.Tokens{Input: of(a.Input), CacheRead: of(a.CacheRead), CacheWrite: of(a.CacheWrite),
		Output: of(a.Output), Reasoning: of(a.Reasoning)})
	a.Cost = &c
	if p.Estimated {
		a.Estimated = []string{w.Model.ID}
	}
	return a
}
