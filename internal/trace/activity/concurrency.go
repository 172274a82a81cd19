package activity

import (
	"slices"
	"time"

	"github.com/agent-handoff/handoff/trace"
)

// pause is the longest time between two requests of a thread in which it is taken to work: it
// waits for a tool or for the answer. After that it waits for a person.
const pause = 5 * time.Minute

// A Concurrency counts threads that work at once, by the minute.
type Concurrency struct {
	since   time.Time
	minutes []int
}

// NewConcurrency returns one of the minutes from since to until.
func NewConcurrency(since, until time.Time) *Concurrency {
	since = since.Truncate(time.Minute)
	return &Concurrency{since, make([]int, max(0, until.Sub(since)/time.Minute))}
}

// Add counts a thread or subagent by the times of its requests, in any order. It works in the
// minute of each, and in those between two that are at most five minutes apart.
func (c *Concurrency) Add(requests []time.Time) {
	requests = slices.SortedFunc(slices.Values(requests), time.Time.Compare)
	next := 0 // the first minute in which it is not counted yet
	for i, at := range requests {
		from := at
		if i > 0 && at.Sub(requests[i-1]) <= pause {
			from = requests[i-1]
		}
		if at.Before(c.since) {
			continue
		}
		last := int(at.Sub(c.since) / time.Minute)
		for m := max(next, int(from.Sub(c.since)/time.Minute)); m <= last && m < len(c.minutes); m++ {
			c.minutes[m]++
		}
		next = max(next, last+1)
	}
}

// By returns what was counted, in slots of a length that is a number of minutes.
func (c *Concurrency) By(slot time.Duration) trace.Concurrency {
	r := trace.Concurrency{Since: c.since, Slot: slot}
	for part := range slices.Chunk(c.minutes, max(1, int(slot/time.Minute))) {
		r.Most = append(r.Most, slices.Max(part))
	}
	for _, n := range c.minutes {
		r.AgentMinutes += n
	}
	return r
}
