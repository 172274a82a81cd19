package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestSet checks that the percentage of the garbage collector is set, and set back.
func TestSet(t *testing.T) {
	before := debug.SetGCPercent(123)
	defer debug.SetGCPercent(before)
	for gogc, want := range map[string]int{"": 50, "123": 123} {
		reset := Set(func(string) string { return gogc }, 50)
		got := debug.SetGCPercent(want)
		reset()
		if after := debug.SetGCPercent(123); got != want || after != 123 {
			t.Errorf("GOGC=%q: got %d, then %d, want %d, then 123", gogc, got, after, want)
		}
	}
}

// TestGrow checks that the percentage of the garbage collector is the usual one
// after the first collection, or that which a command has set.
func TestGrow(t *testing.T) {
	percent := func() int {
		n := debug.SetGCPercent(-1)
		debug.SetGCPercent(n)
		return n
	}
	before := percent()
	defer debug.SetGCPercent(before)
	t.Setenv("GOGC", "")
	for set, want := range map[int]int{0: 100, 50: 50} {
		if Grow(os.Getenv, 200); percent() != 200 {
			t.Errorf("before the first collection: got %d, want 200", percent())
		}
		if Grow(os.Getenv, 800); percent() != 800 {
			t.Errorf("a command that needs more: got %d, want 800", percent())
		}
		if set > 0 {
			debug.SetGCPercent(set)
		}
		for n := range 100 { // the cleanup runs in another goroutine
			if runtime.GC(); percent() == want && n >= 10 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if got := percent(); got != want {
			t.Errorf("after a collection, a command has set %d: got %d, want %d", set, got, want)
		}
	}
	debug.SetGCPercent(30)
	t.Setenv("GOGC", "30")
	if Grow(os.Getenv, 200); percent() != 30 {
		t.Errorf("GOGC=30: got %d", percent())
	}
}
