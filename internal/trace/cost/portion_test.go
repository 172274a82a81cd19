package cost

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/internal/trace/price"
	"github.com/agent-handoff/handoff/thread"
)

// TestPortions checks that each request has the price of its context and time, and
// belongs to its day.
func TestPortions(t *testing.T) {
	lists, err := price.Parse([]byte(`{"providers":[{"id":"p","models":[{"id":"m","prices":[
		{"input":1,"output":0,"cacheRead":0.1,"tiers":[{"above":1000,"input":2,"output":0,"cacheRead":0.2}]},
		{"input":10,"output":0,"from":"2026-09-21"}]}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	request := func(at time.Time, model string, calls int, tokens thread.Tokens) thread.Request {
		tokens.Calls = calls
		return thread.Request{At: at, ModelUsage: thread.ModelUsage{Provider: "p", Model: model, Tokens: tokens}}
	}
	next := start.Add(24 * time.Hour)
	c := Conversation{Completeness: thread.Exact, Last: start, Requests: []thread.Request{
		// 550
		request(start, "m", 1, thread.Tokens{Input: 500, CacheRead: 500}),
		// 1100.2: a long context
		request(start, "m", 1, thread.Tokens{Input: 500, CacheRead: 501}),
		// 2000: of two contexts
		request(start, "m", 2, thread.Tokens{Input: 2000}),
		// 3000: of an unknown number of contexts
		request(start, "m", 0, thread.Tokens{Input: 3000}),
		// 1000: another price
		request(next, "m", 1, thread.Tokens{Input: 100}),
		// 7: recorded
		{At: next, ModelUsage: thread.ModelUsage{Provider: "p", Model: "m", Tokens: thread.Tokens{Input: 1, Cost: 7e-6}}},
		request(time.Time{}, "x", 1, thread.Tokens{Output: 3}), // unknown
	}}
	list := pricer(lists).portions(c)
	want := []struct {
		model, day string
		tokens     int64
		cost       float64
	}{{"m", "2026-09-20", 7001, 6650.2}, {"m", "2026-09-21", 101, 1007}, {"x", "2026-09-20", 3, 0}}
	if len(list) != len(want) {
		t.Fatalf("got %+v, want %d portions", list, len(want))
	}
	for i, w := range want {
		p := list[i]
		if p.Name != w.model || p.Day != w.day || *p.Amount.TotalTokens != w.tokens ||
			math.Abs(value(p.Amount.Cost)*1e6-w.cost) > 1e-6 {
			t.Errorf("got %s on %s: %d tokens for %v, want %+v", p.Name, p.Day, *p.Amount.TotalTokens, value(p.Amount.Cost)*1e6,
				w)
		}
	}
	if !list[0].Amount.AboveTier || list[1].Amount.AboveTier {
		t.Error("only the first day has requests whose context is not known")
	}
	if u := list[2].Amount; u.Cost != nil || len(u.Unpriced) != 1 || u.Unpriced[0] != "x" {
		t.Errorf("got %+v, want a model without a price, and no cost", u)
	}
	leaves := Leaves(Sources{Threads: []Conversation{c}, Prices: pricer(lists)})
	byDay := Summarize(ByDay, leaves)
	if len(byDay.Rows) != 2 || value(byDay.Total.Amount.TotalTokens) != 7105 {
		t.Errorf("got %+v, want two days with 7,105 tokens", byDay)
	}
}

// pricer returns the prices of lists, and then those that are built in.
func pricer(own ...*price.List) *Pricer { return &Pricer{own: own, known: map[Model]price.Model{}} }

// TestEstimated has requests at a provider whose prices are not known, and writes to a
// cache for an hour without a rate.
func TestEstimated(t *testing.T) {
	own, err := price.Parse([]byte(`{"providers":[{"id":"p","models":[{"id":"m","prices":[{"input":1,"output":1}]}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	request := func(provider, model string, tokens thread.Tokens) thread.Request {
		tokens.Calls = 1
		return thread.Request{At: time.Date(2026, 9, 20, 0, 0, 0, 0, time.UTC),
			ModelUsage: thread.ModelUsage{Provider: provider, Model: model, Tokens: tokens}}
	}
	million := thread.Tokens{Input: 1e6}
	for _, tt := range []struct {
		name      string
		request   thread.Request
		cost      float64
		estimated []string
		complete  thread.Completeness
	}{
		{"a proxy", request("corp-proxy", "gpt-5", million), 1.25, []string{"gpt-5"}, thread.Exact},
		{"the maker", request("openai", "gpt-5", million), 1.25, nil, thread.Exact},
		{"a recorded amount", request("corp-proxy", "gpt-5", thread.Tokens{Input: 1e6, Cost: 7}), 7, nil, thread.Exact},
		{"a cache for an hour", request("p", "m", thread.Tokens{CacheWrite: 1e6, CacheWrite1h: 1e6}), 1, nil,
			thread.LowerBound},
		{"a cache", request("p", "m", thread.Tokens{CacheWrite: 1e6}), 1, nil, thread.Exact},
	} {
		c := Conversation{Completeness: thread.Exact, Requests: []thread.Request{tt.request}}
		got := pricer(own).portions(c)[0].Amount
		if value(got.Cost) != tt.cost || !slices.Equal(got.Estimated, tt.estimated) || got.Completeness != tt.complete ||
			got.Completeness != thread.Exact && got.Reason == "" {
			t.Errorf("%s: got %v, estimated %q, %s %q, want %v, %q, %s", tt.name, value(got.Cost), got.Estimated,
				got.Completeness, got.Reason, tt.cost, tt.estimated, tt.complete)
		}
	}
}
