package lifecycle

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestThrottle changes two sessions at one instant and at later ones, in a
// bubble whose clock no real delay moves.
func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(time.Now)
		var mu sync.Mutex
		rendered := map[string]int{}
		change := func(id string) {
			render := func() {
				mu.Lock()
				defer mu.Unlock()
				rendered[id]++
			}
			if th.allow(id, render) {
				render()
			}
		}
		check := func(when string, a, b int) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if rendered["a"] != a || rendered["b"] != b {
				t.Errorf("%s: rendered %v times, want a:%d b:%d", when, rendered, a, b)
			}
		}
		change("a")
		change("b")
		check("first change", 1, 1)
		th.flush()
		check("flush with nothing pending", 1, 1)
		for range 100 {
			change("a")
		}
		check("100 changes at once", 1, 1)
		time.Sleep(renderInterval - 1)
		check("before the interval ends", 1, 1)
		time.Sleep(time.Nanosecond)
		check("after the interval", 2, 1)
		change("a")
		check("right after a delayed rendering", 2, 1)
		th.flush()
		check("flush", 3, 1)
		time.Sleep(2 * renderInterval)
		check("no timer is left after a flush", 3, 1)
		change("a")
		change("b")
		check("after a pause", 4, 2)
		if len(th.last) != 2 || len(th.pending) != 0 {
			t.Errorf("%d sessions remembered, %d pending, want 2, 0", len(th.last), len(th.pending))
		}
	})
}

// TestThrottleClockSetBack checks that a clock that is set back delays nobody.
func TestThrottleClockSetBack(t *testing.T) {
	now := time.Date(2025, 10, 8, 12, 0, 0, 0, time.UTC)
	th := newThrottle(func() time.Time { return now })
	for range 2 {
		if !th.allow("a", nil) {
			t.Error("a change was delayed after the clock was set back")
		}
		now = now.Add(-time.Hour)
	}
}
