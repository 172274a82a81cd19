package localstate

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"sync"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/checkpoint"
	"github.com/agent-handoff/handoff/internal/log/content"
	"github.com/agent-handoff/handoff/internal/tool/userdir"
	"github.com/agent-handoff/handoff/storage"
)

// A Memory compares a log with the newest record of it that this machine remembers,
// in the user's state directory, and remembers what is read and appended. Where
// nothing can be stored, it remembers nothing and nothing fails.
//
// The comparison needs no request of its own: the record is read together with those
// that a command reads anyway.
type Memory struct {
	log    handoff.Log
	file   *checkpoint.File
	remote bool
	fixed  bool // the location names one log for ever: another ID is a loss

	mu        sync.Mutex
	loaded    bool
	id        string           // of the log, when it was last asked for
	known     checkpoint.Point // of the log with that ID
	confirmed bool             // a remote log has known; its engine notices what it loses later
}

// NewMemory returns what this machine remembers of the log of a workspace, which the
// setting of a backend's location selected.
func NewMemory(log handoff.Log, b storage.Backend, location, runtime string, getenv func(string) string) *Memory {
	place, fixed := placeOf(b, location, runtime)
	return &Memory{log: log, file: checkpoint.Open(userdir.State(getenv), place), remote: b.Remote, fixed: fixed}
}

// Remembered returns the ID of a log and the newest record of it that this machine
// remembers, for the location that selected it.
func Remembered(b storage.Backend, location, runtime string, getenv func(string) string) (log string,
	newest handoff.Seq) {
	place, _ := placeOf(b, location, runtime)
	p := checkpoint.Open(userdir.State(getenv), place).Load()
	return p.Log, p.Seq
}

// placeOf returns the location under which a log is remembered, and whether no other log
// can take its place. A copy of a runtime directory is another location, and a person
// may delete one and start anew. What a location that depends on the workspace names,
// such as a remote of its repository, may change.
func placeOf(b storage.Backend, location, runtime string) (place string, fixed bool) {
	id := Identity(b, location)
	if u, err := url.Parse(id); err == nil && b.Remote && u.Opaque == "" {
		return id, true
	}
	return b.Scheme + " " + id + " in " + runtime, false
}

// errLost is the reason of the errors about records that this machine knows and the
// log does not have.
var errLost = errors.New("the log has lost records")

// lost returns the error for a record that the log does not have.
func lost(p checkpoint.Point, why string) error {
	return handoff.E("read log", fmt.Sprintf("record %d", p.Seq), handoff.Corrupt, fmt.Errorf("%w: %s", errLost, why),
		handoff.Suggest("accept the loss on this machine, if the log can't be restored from a copy",
			handoff.ActionRepair))
}

// expected returns the record that the log must have, the zero Point if there is
// nothing to compare. It is loaded before the log is asked.
func (m *Memory) expected(ctx context.Context) (checkpoint.Point, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.confirmed && m.id != "" {
		return checkpoint.Point{}, nil
	}
	if !m.loaded {
		m.known, m.loaded = m.file.Load(), true
	}
	if m.known.Seq == 0 {
		return checkpoint.Point{}, nil
	}
	if m.id == "" || !m.remote { // a person may delete a runtime directory, and a repair gives its log another ID
		if err := m.ask(ctx); err != nil {
			return checkpoint.Point{}, err
		}
	}
	if m.fixed && m.known.Log != m.id { // it may have answered from before another process created it
		refresh(m.log)
		if err := m.ask(ctx); err != nil {
			return checkpoint.Point{}, err
		}
	}
	switch {
	case isOffline(m.log): // it is compared when the log can be reached
		return checkpoint.Point{}, nil
	case m.known.Log == m.id:
		return m.known, nil
	case m.fixed && m.id == "":
		return checkpoint.Point{}, lost(m.known, "the log was removed; it had this record")
	case m.fixed:
		return checkpoint.Point{}, lost(m.known, "another log is in its place")
	}
	if m.id != "" {
		m.known = checkpoint.Point{}
	}
	return checkpoint.Point{}, nil
}

// ask asks for the ID of the log.
func (m *Memory) ask(ctx context.Context) (err error) {
	m.id, _, err = LogID(ctx, m.log)
	return err
}

// identify notes the ID of the log, which was just asked for.
func (m *Memory) identify(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.id = id
	if !m.loaded {
		m.known, m.loaded = m.file.Load(), true
	}
}

// confirm notes that a remote log has a record of the index, which may be the one that
// is remembered. A log of files is compared at each read: it can be set back while a
// process runs.
func (m *Memory) confirm(seq handoff.Seq, record string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.remote && m.known.Log == m.id && seq == m.known.Seq && record == m.known.Record {
		m.confirmed = true
	}
}

// read is Log.Read, after which the log is known to have what is remembered. Kind:
// Corrupt (it has lost records).
func (m *Memory) read(ctx context.Context, after handoff.Seq) iter.Seq2[handoff.Record, error] {
	return func(yield func(handoff.Record, error) bool) {
		p, err := m.expected(ctx)
		if err != nil {
			yield(handoff.Record{}, err)
			return
		}
		var last handoff.Record
		from := after
		if p.Seq > 0 {
			from = min(after, p.Seq-1)
		}
		for refreshed := false; ; refreshed = true {
			for r, err := range m.log.Read(ctx, from) {
				if err == nil && r.Seq == p.Seq && !p.Has(r) {
					err = lost(p, fmt.Sprintf("it is %s, and was %s", r.ID, p.Record))
				}
				if err != nil {
					yield(handoff.Record{}, err)
					return
				}
				from, last = r.Seq, r
				if r.Seq > after && !yield(r, nil) {
					m.remember(ctx, last, from >= p.Seq)
					return
				}
			}
			if from >= p.Seq || ctx.Err() != nil || isOffline(m.log) {
				break
			}
			if refreshed {
				yield(handoff.Record{}, lost(p, "it is missing: "+p.Record))
				return
			}
			refresh(m.log) // it may have answered from before another process appended
		}
		m.remember(ctx, last, from >= p.Seq)
	}
}

// refresh makes a log ask its engine at the next question.
func refresh(log handoff.Log) {
	if r, ok := log.(interface{ Refresh() }); ok {
		r.Refresh()
	}
}

// remember notes the last record that was read, and whether the log has what was
// remembered before. What can't be stored is not remembered.
func (m *Memory) remember(ctx context.Context, last handoff.Record, has bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !has {
		return
	}
	if p, ok := m.later(ctx, last.Seq, last.ID); ok {
		_ = m.file.Read(ctx, p)
		m.known = p
	}
	m.confirmed = m.remote && m.loaded && !isOffline(m.log)
}

// appended remembers a record that this machine has appended.
func (m *Memory) appended(ctx context.Context, seq handoff.Seq, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p, ok := m.later(ctx, seq, id); ok {
		_ = m.file.Published(context.WithoutCancel(ctx), p, m.remote)
		m.known = p
	}
}

// later returns the Point of a record that comes after what is known.
func (m *Memory) later(ctx context.Context, seq handoff.Seq, id string) (p checkpoint.Point, ok bool) {
	if m.file == nil || seq <= m.known.Seq {
		return p, false
	}
	if m.id == "" && m.ask(ctx) != nil {
		return p, false
	}
	return checkpoint.Point{Log: m.id, Seq: seq, Record: id}, m.id != ""
}

// verify reads only what is needed to know whether the log has what is remembered.
func (m *Memory) verify(ctx context.Context) error {
	p, err := m.expected(ctx)
	if err != nil || p.Seq == 0 {
		return err
	}
	for _, err := range m.read(ctx, p.Seq-1) {
		return err
	}
	return nil
}

// accept remembers the log as it is now.
func (m *Memory) accept(ctx context.Context) error {
	refresh(m.log)
	if q, ok := m.log.(interface{ Forget(context.Context) error }); ok {
		if err := q.Forget(ctx); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.loaded, m.confirmed = false, false
	p := checkpoint.Point{}
	if err := m.ask(ctx); err != nil || m.id == "" {
		return errors.Join(err, m.file.Accept(ctx, p))
	}
	if e, ok := m.log.(handoff.Ender); ok {
		newest, err := e.Newest(ctx)
		if err != nil {
			return err
		}
		r, found, err := recordAt(ctx, m.log, newest)
		if err != nil {
			return err
		}
		if found {
			p = checkpoint.Point{Log: m.id, Seq: r.Seq, Record: r.ID}
		}
	}
	return m.file.Accept(ctx, p)
}

// A checkedLog is a log whose check also finds the loss of records that this machine
// knows.
type checkedLog struct {
	handoff.Log
	index *Index
}

// CheckedLog returns a log that is a handoff.LogChecker. Its check verifies the log as
// it was opened, and what this machine remembers of it.
func CheckedLog(log handoff.Log, x *Index) handoff.Log { return checkedLog{log, x} }

// ID implements handoff.Identifier.
func (c checkedLog) ID(ctx context.Context) (string, error) {
	id, _, err := LogID(ctx, c.Log)
	return id, err
}

// Check implements handoff.LogChecker.
func (c checkedLog) Check(ctx context.Context, each func(handoff.Record)) (handoff.Report, error) {
	if each == nil {
		each = func(handoff.Record) {}
	}
	report, err := content.CheckLog(ctx, c.Log, each)
	if err != nil {
		return report, err
	}
	var e *handoff.Error
	if err = c.index.place.memory.verify(ctx); errors.Is(err, errLost) && errors.As(err, &e) {
		report.Findings = append(report.Findings, handoff.Finding{Name: e.Name, Text: e.Err.Error(), Hint: e.Hint})
	} else if report.OK() {
		return report, err
	}
	return report, nil
}
