package activity

import (
	"fmt"
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
		{"before and after the time", [][]float64{{-9, -2, 1}, {59, 62}, {-2}, {70}}, "[1 0 0 1] 3"},
	} {
		c := NewConcurrency(since, since.Add(time.Hour))
		for _, minutes := range tt.threads {
			var times []time.Time
			for _, m := range minutes {
				times = append(times, since.Truncate(time.Minute).Add(time.Duration(m*float64(time.Minute))))
			}
			c.Add(times)
		}
		r := c.By(15 * time.Minute)
		if got := fmt.Sprint(r.Most, r.AgentMinutes); got != tt.want || !r.Since.Equal(since.Truncate(time.Minute)) {
			t.Errorf("%s: got %s from %v, want %s", tt.name, got, r.Since, tt.want)
		}
	}
}
