package activity

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestConcurrency counts threads that work in the same minutes.
func TestConcurrency(t *testing.T) {
	since := time.Date(2026, 11, 23, 8, 0, 30, 0, time.UTC)
	for _, tt := range []struct {
		name    string
		threads [][]float64 // the minutes of their requests after 8:00
		want    string
	}{
		{"none", nil, "[0 0 0 0] 0"},
		{"one request", [][]float64{{16}}, "[0 1 0 0] 1"},
		{"several in a minute", [][]float64{{16, 16.2, 16.9}}, "[0 1 0 0] 1"},
		{"between requests that are five minutes apart", [][]float64{{13, 18}}, "[1 1 0 0] 6"},
		{"not between others", [][]float64{{13, 18.1}}, "[1 1 0 0] 2"},
		{"in any order", [][]float64{{18, 13}}, "[1 1 0 0] 6"},
		{"two at once", [][]float64{{20, 22}, {22, 24}}, "[0 2 0 0] 6"},
		{"two that follow each other in a slot", [][]float64{{20}, {22}}, "[0 1 0 0] 2"},
		{"one after the other in a minute", [][]float64{{20, 20.2}, {20.5, 20.9}}, "[0 1 0 0] 2"},
		{"over several slots", [][]float64{{14, 18, 22, 26, 31}, {29.5, 30}}, "[1 2 2 0] 20"},
		{"before and after the time", [][]float64{{-9, -2, 1}, {59, 62}, {-2}, {70}}, "[1 0 0 1] 3"},
	} {
		c := NewConcurrency(since, since.Add(time.Hour))
		for _, minutes := range tt.threads {
			var times []time.Time
			for _, m := range minutes {
				times = append(times, since.Truncate(time.Minute).Add(time.Duration(m*float64(time.Minute))))
			}
			c.Add(time.Time{}, times)
		}
		r := c.By(15 * time.Minute)
		if got := fmt.Sprint(r.Most, r.AgentMinutes); got != tt.want || !r.Since.Equal(since.Truncate(time.Minute)) {
			t.Errorf("%s: got %s from %v, want %s", tt.name, got, r.Since, tt.want)
		}
		if r.Peak != slices.Max(r.Most) {
			t.Errorf("%s: got the peak %d, want that of %v", tt.name, r.Peak, r.Most)
		}
	}
}

// TestPeak finds when most threads worked at once first.
func TestPeak(t *testing.T) {
	since := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	c := NewConcurrency(since, since.Add(24*time.Hour))
	at := func(minutes ...int) (times []time.Time) {
		for _, m := range minutes {
			times = append(times, since.Add(time.Duration(m)*time.Minute))
		}
		return times
	}
	c.Add(at(391)[0], at(395))
	c.Add(at(385)[0], at(392, 393)) // too long before
	c.Add(at(800)[0], at(800, 801))
	c.Add(time.Time{}, at(800, 801))
	r := c.By(time.Minute)
	if r.Peak != 2 || !r.PeakAt.Equal(since.Add(392*time.Minute)) || len(r.Most) != 24*60 || r.Most[390] != 0 ||
		r.Most[391] != 1 ||
		r.Most[392] != 2 || r.Most[394] != 1 || r.Most[396] != 0 {
		t.Errorf("got %d at %v, and %v from 390 to 396, want 2 at 14:32", r.Peak, r.PeakAt, r.Most[390:397])
	}
}
