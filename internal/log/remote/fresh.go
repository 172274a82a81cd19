package remote

import (
	"sync/atomic"
	"time"
)

// A Freshness states whether a remote was asked a short time ago. Its zero value is
// not fresh.
type Freshness struct{ fresh atomic.Bool }

// Set makes f fresh for a time.
func (f *Freshness) Set(d time.Duration) {
	if d > 0 {
		f.fresh.Store(true)
		time.AfterFunc(d, f.Clear)
	}
}

// Clear makes f not fresh.
func (f *Freshness) Clear() { f.fresh.Store(false) }

// Is reports whether f is fresh.
func (f *Freshness) Is() bool { return f.fresh.Load() }
