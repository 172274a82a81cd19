package lifecycle

import (
	"maps"
	"sync"
	"time"
)

// renderInterval is the minimum time between two renderings of one manifest by
// one process: replacing a file costs more than appending a record.
const renderInterval = time.Second

// A throttle limits how often a process renders one manifest. A rendering that
// it delays runs within renderInterval, or at the next flush. It is safe for
// concurrent use.
type throttle struct {
	now func() time.Time

	mu      sync.Mutex
	last    map[string]time.Time // when each session was last rendered
	pending map[string]*delayed
	running sync.WaitGroup
}

type delayed struct {
	timer  *time.Timer
	render func()
}

func newThrottle(now func() time.Time) *throttle {
	return &throttle{now: now, last: map[string]time.Time{}, pending: map[string]*delayed{}}
}

// allow reports whether a session's manifest may be rendered now. If not, the
// throttle calls render later, once for any number of calls until then.
func (t *throttle) allow(id string, render func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pending[id] != nil {
		return false
	}
	now := t.now()
	maps.DeleteFunc(t.last, func(_ string, at time.Time) bool { return now.Before(at) || now.Sub(at) >= renderInterval })
	if _, recent := t.last[id]; recent {
		t.running.Add(1)
		t.pending[id] = &delayed{time.AfterFunc(renderInterval, func() { t.run(id) }), render}
		return false
	}
	t.last[id] = now
	return true
}

// run performs a delayed rendering.
func (t *throttle) run(id string) {
	defer t.running.Done()
	t.mu.Lock()
	d := t.pending[id]
	delete(t.pending, id)
	t.last[id] = t.now()
	t.mu.Unlock()
	d.render()
}

// flush performs all delayed renderings and returns when they are done.
func (t *throttle) flush() {
	t.mu.Lock()
	var ids []string
	for id, d := range t.pending {
		if d.timer.Stop() {
			ids = append(ids, id)
		}
	}
	t.mu.Unlock()
	for _, id := range ids {
		t.run(id)
	}
	t.running.Wait()
}
