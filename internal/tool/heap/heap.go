// Package heap sets when the garbage collector of a short process runs. A user, or a test
// that runs several commands in one process, sets it with GOGC, and it changes nothing.
package heap

import (
	"runtime"
	"runtime/debug"
	"sync/atomic"
)

// grown is the percentage of the garbage collector until its first collection, 0 for the
// usual one.
var grown atomic.Int64

// Grow lets the heap grow to percent of 4 MB before the first garbage collection, unless
// GOGC is set. Many commands end before it. Then the usual percentage applies again, or that
// which a command has set.
func Grow(getenv func(string) string, percent int) {
	const usual = 100
	if getenv("GOGC") != "" {
		return
	}
	first := grown.Swap(int64(percent)) == 0
	debug.SetGCPercent(percent)
	if !first {
		return
	}
	runtime.AddCleanup(new([32]byte), func(int) {
		until := grown.Swap(0)
		if set := debug.SetGCPercent(usual); set != int(until) {
			debug.SetGCPercent(set)
		}
	}, 0)
}

// Set sets the percentage of the garbage collector until reset is called, unless GOGC is set.
func Set(getenv func(string) string, percent int) (reset func()) {
	if getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(percent)
	return func() { debug.SetGCPercent(before) }
}
