package cost

import (
	"math"
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
	list := NewPricer(lists).portions(c)
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
	leaves := Leaves(Sources{Threads: []Conversation{c}, Prices: NewPricer(lists)})
	byDay := Summarize(ByDay, leaves)
	if len(byDay.Rows) != 2 || value(byDay.Total.Amount.TotalTokens) != 7105 {
		t.Errorf("got %+v, want two days with 7,105 tokens", byDay)
	}
}
