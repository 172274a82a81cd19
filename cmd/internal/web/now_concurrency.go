package web

import (
	"context"
	"fmt"
	"time"

	"github.com/agent-handoff/handoff/trace"
)

// The time that the first page shows how many threads worked at once in, and its parts.
const (
	busyTime = 24 * time.Hour
	busySlot = 15 * time.Minute
	busyRest = 30 * time.Second // so long it is not read again
)

// A busyChart shows how many threads worked at once.
type busyChart struct {
	trace.Concurrency
	Bars []busyBar
	Peak int // the most at once
}

// A busyBar is a time in which as many threads worked at once. Its places are in a chart that is
// as wide as it has slots, and 100 high.
type busyBar struct {
	X, Y, Width, Height int
	Title               string
}

// busy returns how many threads worked at once as it was last read, without waiting for it.
func (s *Server) busy(p *page) *busyChart {
	if s.o.Source.Threads == nil {
		return nil
	}
	until := s.o.Now().Truncate(busySlot).Add(busySlot)
	found, _, err := s.concurrent.get(s, reading[trace.Concurrency]{least: busyRest,
		read: func(ctx context.Context) (trace.Concurrency, error) {
			c, _, err := s.o.Source.Conversations.Concurrency(ctx, until.Add(-busyTime), until, busySlot)
			return c, err
		}})
	p.warn(err)
	if found.AgentMinutes == 0 {
		return nil
	}
	return chartOfBusy(found)
}

// chartOfBusy returns the chart of a concurrency. Slots that follow each other with the same
// number are one bar.
func chartOfBusy(found trace.Concurrency) *busyChart {
	c := &busyChart{Concurrency: found}
	for _, n := range found.Most {
		c.Peak = max(c.Peak, n)
	}
	for i := 0; i < len(found.Most); {
		n, end := found.Most[i], i+1
		for end < len(found.Most) && found.Most[end] == n {
			end++
		}
		if n > 0 {
			clock := func(slot int) string { return c.at(slot).Format("15:04") }
			height := 100 * n / c.Peak
			c.Bars = append(c.Bars, busyBar{i, 100 - height, end - i, height,
				fmt.Sprintf("%s to %s UTC: at most %d at once", clock(i), clock(end), n)})
		}
		i = end
	}
	return c
}

// at returns the start of a slot.
func (c busyChart) at(slot int) time.Time { return c.Since.UTC().Add(time.Duration(slot) * c.Slot) }

// Marks are the times on the axis, from the first to the end.
func (c busyChart) Marks() (list []string) {
	for i := range 5 {
		list = append(list, c.at(i*len(c.Most)/4).Format("15:04"))
	}
	return list
}
