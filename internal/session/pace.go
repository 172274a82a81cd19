package session

import (
	"maps"
	"sync"
	"time"
)

// renderEvery is how often a process renders one manifest at most: to replace
// a file costs more than to append a record.
const renderEvery = time.Second

// A Pace keeps a process that lives long from rendering one manifest over and
// over. What it puts off is rendered within a second, or by Flush. Now must be
// set; a Pace is safe for several goroutines.
type Pace struct {
	Now func() time.Time

	mu   sync.Mutex
	last map[string]time.Time // when a session's turn was
	due  map[string]*putOff
	busy sync.WaitGroup
}

type putOff struct {
	timer  *time.Timer
	render func()
}

// turn reports whether a session's manifest may be rendered now. If not, render
// is called as soon as it may, once for however many asked.
func (p *Pace) turn(id string, render func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.due[id] != nil {
		return false
	}
	now := p.Now()
	maps.DeleteFunc(p.last, func(_ string, at time.Time) bool { return now.Before(at) || now.Sub(at) >= renderEvery })
	if _, recent := p.last[id]; recent {
		if p.due == nil {
			p.due = map[string]*putOff{}
		}
		p.busy.Add(1)
		p.due[id] = &putOff{time.AfterFunc(renderEvery, func() { p.run(id) }), render}
		return false
	}
	if p.last == nil {
		p.last = map[string]time.Time{}
	}
	p.last[id] = now
	return true
}

// run renders what was put off.
func (p *Pace) run(id string) {
	defer p.busy.Done()
	p.mu.Lock()
	due := p.due[id]
	delete(p.due, id)
	if p.last != nil {
		p.last[id] = p.Now()
	}
	p.mu.Unlock()
	due.render()
}

// Flush renders at once what was put off, and returns when that is done.
func (p *Pace) Flush() {
	p.mu.Lock()
	var ids []string
	for id, due := range p.due {
		if due.timer.Stop() {
			ids = append(ids, id)
		}
	}
	p.mu.Unlock()
	for _, id := range ids {
		p.run(id)
	}
	p.busy.Wait()
}
