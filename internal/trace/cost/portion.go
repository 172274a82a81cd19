package cost

import (
	"slices"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/trace/price"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
)

// A Model is a model of a provider. Both may be unknown.
type Model struct{ Provider, Name string }

// A Pricer has the prices of models, none if it is nil. It reads the embedded ones when the
// price of a model is needed, which takes some milliseconds. It is for one goroutine.
type Pricer struct {
	own   []*price.List // of the user, which count first
	known map[Model]price.Model
}

func (p *Pricer) lists() []*price.List { return append(slices.Clone(p.own), price.Embedded()) }

// First returns the list whose prices count first.
func (p *Pricer) First() *price.List { return p.lists()[0] }

// Has reports whether the prices have a model with a name, of any provider.
func (p *Pricer) Has(name string) bool {
	m := price.Find(p.lists(), "", name)
	return len(m) > 0 && !m[0].Estimated
}

func (p *Pricer) at(m Model, at time.Time) (price.Price, bool) {
	if p == nil {
		return price.Price{}, false
	}
	prices, ok := p.known[m]
	if !ok {
		prices = price.Find(p.lists(), m.Provider, m.Name)
		p.known[m] = prices
	}
	return prices.At(at)
}

// A Portion is the part of a thread's usage that one model had on one day.
type Portion struct {
	Model
	Day    string // in UTC, "" if it is unknown
	Amount trace.Usage
}

// portions returns what a thread used. The cost of a request is that which its
// tool recorded, otherwise that of the prices at its time.
func (p *Pricer) portions(c Conversation) (list []Portion) {
	var tallies []*tally
	var t *tally
	for _, r := range c.Requests {
		at := r.At
		if at.IsZero() {
			at = c.Last
		}
		m, day := Model{r.Provider, r.Model}, int64(noDay)
		if !at.IsZero() {
			day = at.Unix() / secondsPerDay
		}
		if t == nil || t.model != m || t.day != day {
			i := slices.IndexFunc(tallies, func(t *tally) bool { return t.model == m && t.day == day })
			if i < 0 {
				i = len(tallies)
				tallies = append(tallies, &tally{model: m, day: day})
			}
			t = tallies[i]
		}
		t.add(p, r, at)
	}
	for _, t := range tallies {
		a := t.amount()
		a.Completeness, a.Reason = c.Completeness, c.Reason
		if t.unrated && a.Completeness == thread.Exact {
			a.Completeness, a.Reason = thread.LowerBound, "the price of a cache that is kept for an hour is not known"
		}
		list = append(list, Portion{t.model, t.date(), a})
	}
	if len(list) == 0 {
		list = []Portion{{Amount: trace.Usage{Completeness: c.Completeness, Reason: c.Reason}}}
	}
	return list
}

// OfUsage returns what a thread used whose requests are not known, with the
// prices at a time.
func (p *Pricer) OfUsage(u thread.Usage, at time.Time) (sum trace.Usage) {
	c := Conversation{Last: at, Completeness: u.Completeness, Reason: u.Reason}
	for _, m := range u.Models {
		c.Requests = append(c.Requests, thread.Request{ModelUsage: m})
	}
	for _, portion := range p.portions(c) {
		Add(&sum, portion.Amount)
	}
	return sum
}

const (
	secondsPerDay = 24 * 60 * 60
	noDay         = -1 << 62
)

// A tally adds up requests to one model on one day.
type tally struct {
	model     Model
	day       int64 // since 1970
	tokens    thread.Tokens
	cost      float64
	priced    bool
	unpriced  bool
	estimated bool
	unrated   bool // tokens were written to a cache for an hour, and the price has no rate for that
	aboveTier bool
}

func (t *tally) add(p *Pricer, r thread.Request, at time.Time) {
	t.tokens.Add(r.Tokens)
	if r.Cost > 0 {
		t.cost, t.priced = t.cost+r.Cost, true
		return
	}
	if r.Total() == 0 {
		return
	}
	rates, ok := p.at(t.model, at)
	if !ok {
		t.unpriced = true
		return
	}
	if r.Calls != 1 { // the lengths of their contexts are unknown
		t.aboveTier = t.aboveTier || rates.InTier(r.Input+r.CacheRead+r.CacheWrite)
		rates.Tiers = nil
	}
	tokens := price.Tokens{Input: r.Input, CacheRead: r.CacheRead, CacheWrite: r.CacheWrite,
		CacheWrite1h: r.CacheWrite1h, Output: r.Output, Reasoning: r.Reasoning}
	t.cost += rates.Cost(tokens)
	t.priced = true
	t.estimated = t.estimated || rates.Estimated
	t.unrated = t.unrated || rates.IsBound(tokens)
}

func (t *tally) date() string {
	if t.day == noDay {
		return ""
	}
	return time.Unix(t.day*secondsPerDay, 0).UTC().Format(time.DateOnly)
}

func (t *tally) amount() trace.Usage {
	total := t.tokens.Total()
	// Not every program records the cache and reasoning: 0 can mean unknown.
	counted := func(n *int64) *int64 {
		if *n == 0 {
			return nil
		}
		return n
	}
	a := trace.Usage{AboveTier: t.aboveTier, Usage: handoff.Usage{Input: &t.tokens.Input, Output: &t.tokens.Output,
		CacheRead:  counted(&t.tokens.CacheRead),
		CacheWrite: counted(&t.tokens.CacheWrite), Reasoning: counted(&t.tokens.Reasoning), TotalTokens: &total}}
	if t.priced {
		a.Cost = &t.cost
	}
	if t.unpriced {
		a.Unpriced = []string{t.model.Name}
	}
	if t.estimated {
		a.Estimated = []string{t.model.Name}
	}
	return a
}
