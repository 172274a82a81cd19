package web

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/trace"
)

// The time that the first page shows how many threads worked at once in.
const (
	busyTime = 24 * time.Hour
	busyEnd  = 15 * time.Minute // it ends at a multiple of this, so that few pages differ
	busyRest = 30 * time.Second // so long it is not read again
)

// A busyChart shows how many threads worked at once, by the minute. It is as wide as it has
// minutes, and 100 high.
type busyChart struct {
	trace.Concurrency
	Line string // a path around the area
}

// busy returns how many threads worked at once as it was last read, without waiting for it.
func (s *Server) busy(p *page) *busyChart {
	if s.o.Source.Threads == nil {
		return nil
	}
	until := s.o.Now().Truncate(busyEnd).Add(busyEnd)
	found, _, err := s.concurrent.get(s, reading[trace.Concurrency]{least: busyRest,
		read: func(ctx context.Context) (trace.Concurrency, error) {
			c, _, err := s.o.Source.Conversations.Concurrency(ctx, until.Add(-busyTime), until, time.Minute)
			return c, err
		}})
	p.warn(err)
	if found.AgentMinutes == 0 {
		return nil
	}
	return &busyChart{found, area(found)}
}

// area returns the path around the area below the numbers of a concurrency. Minutes that follow
// each other with the same number are one step.
func area(c trace.Concurrency) string {
	var path strings.Builder
	path.WriteString("M0 100")
	for i, n := range c.Most {
		if i == 0 || n != c.Most[i-1] {
			fmt.Fprintf(&path, "H%dV%d", i, 100-100*n/c.Peak)
		}
	}
	fmt.Fprintf(&path, "H%dV100Z", len(c.Most))
	return path.String()
}

// A busyHour is an hour of a busyChart, with its text.
type busyHour struct {
	X     int
	Title string
}

// Hours are the hours of the chart.
func (c busyChart) Hours() (list []busyHour) {
	x := 0
	for part := range slices.Chunk(c.Most, 60) {
		list = append(list, busyHour{x, fmt.Sprintf("%s to %s UTC: at most %d at once", c.at(x).Format("15:04"),
			c.at(x+len(part)).Format("15:04"), slices.Max(part))})
		x += len(part)
	}
	return list
}

// at returns the start of a minute.
func (c busyChart) at(minute int) time.Time {
	return c.Since.UTC().Add(time.Duration(minute) * time.Minute)
}

// Peaked is the time of the peak.
func (c busyChart) Peaked() string { return c.PeakAt.UTC().Format("15:04") + " UTC" }

// Marks are the times on the axis, from the first to the end.
func (c busyChart) Marks() (list []string) {
	for i := range 5 {
		list = append(list, c.at(i*len(c.Most)/4).Format("15:04"))
	}
	return list
}
