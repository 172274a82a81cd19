package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/remote"
	"github.com/agent-handoff/handoff/storage"
)

// sendWait is how long a process waits for another that sends.
const sendWait = 30 * time.Second

// batch is the number of records that are sent at once.
const batch = 64

// Send sends what is queued to the engine, in order and each record once, also what
// it refused before, and what a copied directory has queued. A record that the engine
// refuses is kept, and the others are sent.
//
// Kinds: those of the engine, after which the rest is queued still.
func (l *Log) Send(ctx context.Context) (storage.Sent, error) {
	l.offline.Clear()
	return l.send(ctx, true)
}

// SendNew is Send without what was refused before, and without what a copied
// directory has queued.
func (l *Log) SendNew(ctx context.Context) (storage.Sent, error) { return l.send(ctx, false) }

// send is Send; only with all it sends what was refused or copied.
func (l *Log) send(ctx context.Context, all bool) (storage.Sent, error) {
	s, err := l.load()
	if err != nil || !s.Queued || (s.foreign && !all) {
		return storage.Sent{Refused: s.Refused}, err
	}
	if list, err := l.pending(ctx, s, all); err != nil || (len(list) == 0 && !all) {
		return storage.Sent{Refused: s.Refused}, err
	}
	sender := sender{log: l}
	err = l.locked(ctx, "send.lock", sendWait, func() error { return sender.run(ctx, all) })
	l.unavailable(err)
	return sender.result, l.removed(err)
}

// A sender sends what is queued, while no other process does.
type sender struct {
	log    *Log
	base   handoff.Seq       // where the queue was started
	stored map[string]bool   // IDs of the engine's records since the queue was started
	keys   map[string]string // the digest that a key was first used for, of these records
	result storage.Sent

	queue    []handoff.Record          // the queued records, sent or not
	redacted handoff.Redactions        // of these records
	targets  map[string]handoff.Record // what the engine has of the records that they change, by ID
}

func (s *sender) run(ctx context.Context, all bool) error {
	l := s.log
	now, err := l.load()
	if err != nil {
		return err
	}
	list, err := l.pending(ctx, now, all)
	if err != nil {
		return err
	}
	if s.result.Refused = now.Refused; len(list) > 0 {
		s.base = now.Base
		if err = s.loadRedactions(ctx, now); err == nil {
			err = s.scan(ctx)
		}
		s.redact(list)
	}
	for len(list) > 0 && err == nil {
		n, size := 0, 0
		for ; n < len(list) && n < batch; n++ {
			b, _ := list[n].JSON()
			if size += len(b); n > 0 && size > remote.MaxBatchBytes {
				break
			}
		}
		if err = s.sendBatch(ctx, list[:n]); err == nil {
			list = list[n:]
		}
	}
	if err != nil {
		return err
	}
	return s.log.finish(ctx)
}

// loadRedactions reads the queue, of which a part may have been sent.
func (s *sender) loadRedactions(ctx context.Context, now state) error {
	s.targets = map[string]handoff.Record{}
	for r, err := range s.log.records(now).Read(ctx, 0) {
		if err != nil {
			return err
		}
		s.queue = append(s.queue, r)
		s.redacted.Add(r)
		if f, ok := r.Fact.(*handoff.RecordRedacted); ok {
			s.targets[f.RecordID] = handoff.Record{}
		}
	}
	return nil
}

// redact replaces secrets in the records to send, as queued redactions say. A redaction
// of a record that the engine has with its secrets is sent as it is.
func (s *sender) redact(list []handoff.Record) {
	replaced := map[string]bool{}
	for _, r := range s.queue {
		if stored, ok := s.targets[r.ID]; ok {
			replaced[r.ID] = stored.ID == "" || !equal(stored, r)
		}
	}
	for i, r := range list {
		if f, ok := r.Fact.(*handoff.RecordRedacted); !ok || replaced[f.RecordID] {
			list[i] = s.redacted.Record(r)
		}
	}
}

func equal(a, b handoff.Record) bool {
	x, err := a.JSON()
	y, err2 := b.JSON()
	return err == nil && err2 == nil && bytes.Equal(x, y)
}

// scan reads what the engine has stored since the queue was started. The
// acknowledgement of a queued record may have been lost.
func (s *sender) scan(ctx context.Context) error {
	s.log.Refresh()
	s.stored, s.keys = map[string]bool{}, map[string]string{}
	for r, err := range s.log.engine.Read(ctx, s.base) {
		if err != nil {
			return err
		}
		s.stored[r.ID] = true
		if _, ok := s.targets[r.ID]; ok {
			s.targets[r.ID] = r
		}
		if f, ok := r.Fact.(*handoff.ArtifactPublished); ok && f.Key != "" && s.keys[f.Key] == "" {
			s.keys[f.Key] = f.Digest.Value
		}
	}
	return nil
}

// sendBatch sends records and notes the result of each.
func (s *sender) sendBatch(ctx context.Context, list []handoff.Record) error {
	var fresh []handoff.Record
	refused := map[string]error{}
	for _, r := range list {
		if s.stored[r.ID] {
			continue
		}
		err := s.check(r)
		if err == nil {
			err = s.bodies(ctx, r)
		}
		switch {
		case isRefusal(err):
			refused[r.ID] = err
		case err != nil:
			return err
		default:
			fresh = append(fresh, r)
		}
	}
	err := s.appendAll(ctx, fresh, refused)
	if err != nil {
		return err
	}
	return s.note(ctx, list, refused)
}

// appendAll appends records; if the engine refuses them, one by one.
func (s *sender) appendAll(ctx context.Context, list []handoff.Record, refused map[string]error) error {
	if a, ok := s.log.engine.(handoff.BatchAppender); ok && len(list) > 1 {
		_, err := a.AppendAll(ctx, list)
		if !isRefusal(err) {
			return err
		}
		if err := s.scan(ctx); err != nil { // some may be stored
			return err
		}
	}
	for _, r := range list {
		if s.stored[r.ID] {
			continue
		}
		_, err := s.log.engine.Append(ctx, r)
		if isRefusal(err) {
			refused[r.ID] = err
		} else if err != nil {
			return err
		}
	}
	return nil
}

// isRefusal reports whether an error is about one record: sending it again has the
// same result.
func isRefusal(err error) bool {
	var missing *remote.MissingError
	return !errors.As(err, &missing) && (errors.Is(err, handoff.Invalid) || errors.Is(err, handoff.Conflict))
}

// check refuses a publish whose key was used for another body since.
func (s *sender) check(r handoff.Record) error {
	f, ok := r.Fact.(*handoff.ArtifactPublished)
	if !ok || f.Key == "" {
		return nil
	}
	first, used := s.keys[f.Key]
	if used && first != f.Digest.Value {
		return handoff.E("publish", f.Path, handoff.Conflict, fmt.Errorf("key %q was used for another body", f.Key))
	}
	s.keys[f.Key] = f.Digest.Value
	return nil
}

// bodies sends the kept copies of a record.
func (s *sender) bodies(ctx context.Context, r handoff.Record) error {
	for _, d := range handoff.BodiesOf(r.Fact) {
		if s.log.bodies == nil {
			return nil
		}
		if _, redacted := s.redacted.Body(r.Import, d); redacted {
			continue // it was removed, and no other machine gets it
		}
		err := s.log.bodies.Send(ctx, d)
		if errors.Is(err, handoff.NotFound) {
			return handoff.E("send", r.ID, handoff.Invalid, errors.New("its kept copy is missing on this machine"))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// note stores that records were sent, or refused.
func (s *sender) note(ctx context.Context, list []handoff.Record, refused map[string]error) error {
	err := s.log.change(ctx, func(now *state) error {
		now.foreign = false // this was asked for
		for _, r := range list {
			now.Sent = max(now.Sent, r.Seq)
			now.Refused = slices.DeleteFunc(now.Refused, func(f storage.Refusal) bool { return f.ID == r.ID })
			if err := refused[r.ID]; err != nil {
				now.Refused = append(now.Refused, storage.Refusal{ID: r.ID, Reason: err.Error(), Number: r.Seq})
			}
		}
		s.result.Refused = now.Refused
		return nil
	})
	if err == nil {
		s.result.Sent += len(list) - len(refused)
	}
	for id, reason := range refused {
		if s.log.o.Warn != nil {
			s.log.o.Warn("the log refused the queued record " + id + ", which is kept: " + reason.Error())
		}
	}
	return err
}

// finish starts a new log of queued records if all of them were sent.
func (l *Log) finish(ctx context.Context) error {
	cleaned := 0
	err := l.change(ctx, func(now *state) error {
		list, err := l.pending(ctx, *now, true)
		if err != nil || len(list) > 0 || now.foreign {
			return err
		}
		now.Queued = false
		now.Base = 0
		now.Sent = 0
		now.Generation++
		cleaned = now.Generation
		return nil
	})
	if err == nil && cleaned > 0 {
		l.clean(cleaned)
	}
	return err
}
