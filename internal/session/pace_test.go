package session

import (
	"sync"
	"testing"
	"time"
)

// TestPace lets records come for two sessions while the clock stands still,
// and after it moved on.
func TestPace(t *testing.T) {
	now := at(t, "2025-10-08 12:00")
	p := &Pace{Now: func() time.Time { return now }}
	var mu sync.Mutex
	rendered := map[string]int{}
	change := func(id string) {
		render := func() { mu.Lock(); rendered[id]++; mu.Unlock() }
		if p.turn(id, render) {
			render()
		}
	}
	check := func(a, b int) {
		t.Helper()
		if rendered["a"] != a || rendered["b"] != b {
			t.Errorf("rendered %v, want a %d times and b %d times", rendered, a, b)
		}
	}
	change("a")
	change("b")
	check(1, 1)
	p.Flush() // nothing was put off
	check(1, 1)
	for range 100 {
		change("a")
	}
	p.Flush()
	check(2, 1)
	p.Flush()
	check(2, 1)
	now = now.Add(renderEvery)
	change("a")
	change("b")
	check(3, 2)
	now = now.Add(-time.Hour) // a clock that is set back makes nobody wait
	change("a")
	check(4, 2)
	if len(p.last) > 2 {
		t.Errorf("%d turns are remembered", len(p.last))
	}
}

// TestPaceByItself waits for what was put off, without a Flush.
func TestPaceByItself(t *testing.T) {
	p := &Pace{Now: func() time.Time { return time.Unix(0, 0) }}
	done := make(chan struct{})
	if !p.turn("a", nil) || p.turn("a", func() { close(done) }) {
		t.Fatal("the second turn came at once, or the first did not")
	}
	<-done
	p.Flush()
}
