package activity

import (
	"cmp"
	"slices"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/trace"
)

// pause is the longest time between two requests of a thread in which it is taken to work: it
// waits for a tool or for the answer. After that it waits for a person.
const pause = 5 * time.Minute

// A Concurrency counts threads that work at once.
type Concurrency struct {
	since, until time.Time
	changes      []change
	minutes      int // of all threads
}

// A change is a time at which a thread starts to work (1), or ends (-1).
type change struct {
	at time.Time
	by int
}

// NewConcurrency returns one of the minutes from since to until.
func NewConcurrency(since, until time.Time) *Concurrency {
	since = since.Truncate(time.Minute)
	return &Concurrency{since: since, until: since.Add(until.Sub(since).Truncate(time.Minute))}
}

// Add counts a thread or subagent by its start and the times of its requests, in any order. It
// works from the first to the last of requests that are at most five minutes apart, and from its
// start if that is as close to the first one.
func (c *Concurrency) Add(started time.Time, requests []time.Time) {
	requests = slices.SortedFunc(slices.Values(requests), time.Time.Compare)
	if len(requests) > 0 && started.Before(requests[0]) && requests[0].Sub(started) <= pause {
		requests = slices.Insert(requests, 0, started)
	}
	minute := func(t time.Time) int { return int(t.Sub(c.since) / time.Minute) }
	next := 0 // the first minute in which it is not counted yet
	for i := 0; i < len(requests); {
		from := requests[i]
		for i++; i < len(requests) && requests[i].Sub(requests[i-1]) <= pause; {
			i++
		}
		to := requests[i-1]
		if to.Before(c.since) || !from.Before(c.until) {
			continue
		}
		from, to = slices.MaxFunc([]time.Time{from, c.since}, time.Time.Compare),
			slices.MinFunc([]time.Time{to, c.until.Add(-1)}, time.Time.Compare)
		c.changes = append(c.changes, change{from, 1}, change{to, -1})
		c.minutes += max(0, minute(to)+1-max(next, minute(from)))
		next = minute(to) + 1
	}
}

// By returns what was counted, in slots of a length. A thread that ends when another one starts
// works at once with it.
func (c *Concurrency) By(slot time.Duration) trace.Concurrency {
	r := trace.Concurrency{Since: c.since, Slot: slot, AgentMinutes: c.minutes,
		Most: make([]int, max(0, (c.until.Sub(c.since)+slot-1)/slot))}
	order.Sort(c.changes, func(a, b change) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(b.by, a.by)) })
	n, next := 0, 0
	for _, change := range c.changes {
		last := int(change.at.Sub(c.since) / slot)
		for ; next <= last; next++ {
			r.Most[next] = n
		}
		n += change.by
		r.Most[last] = max(r.Most[last], n)
		if n > r.Peak {
			r.Peak, r.PeakAt = n, change.at
		}
	}
	return r
}
