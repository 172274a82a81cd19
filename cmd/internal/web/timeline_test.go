package web

import (
	"testing"
	"time"
)

// TestTook shows durations in the same form everywhere.
func TestTook(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "", 46 * time.Millisecond: "46ms", 25 * time.Second: "25s",
		15*time.Minute + time.Second: "15m 01s", 4 * time.Minute: "4m 00s", 3 * time.Hour: "3h 00m",
		50 * time.Hour: "2d 02h"} {
		if got := took(d); got != want {
			t.Errorf("took(%v) = %q, want %q", d, got, want)
		}
		if got := (timeline{Start: time.Unix(7, 0), End: time.Unix(7, 0).Add(d)}).Took(); got != want {
			t.Errorf("a timeline of %v took %q, want %q", d, got, want)
		}
	}
}

// TestPlace fills a timeline of less than a second, and marks bars that are too thin for a line
// around them.
func TestPlace(t *testing.T) {
	start := time.Unix(7, 0)
	for _, total := range []time.Duration{40 * time.Millisecond, time.Hour} {
		l := timeline{Rows: []barRow{{Bars: []bar{{Start: start, End: start.Add(total)}}},
			{Bars: []bar{{Start: start.Add(total), End: start.Add(total)}}}}}
		l.place()
		long, short := l.Rows[0].Bars[0], l.Rows[1].Bars[0]
		if long.X != 0 || long.Width != 1000 || long.IsThin() {
			t.Errorf("in %v: got %+v, want a bar over the timeline", total, long)
		}
		if short.X+short.Width != 1000 || !short.IsThin() {
			t.Errorf("in %v: got %+v, want a thin bar at the end", total, short)
		}
	}
}
