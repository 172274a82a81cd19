package store

import (
	"context"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/localstate"
	"github.com/agent-handoff/handoff/internal/log/queue"
	"github.com/agent-handoff/handoff/storage"
)

// A LogStatus describes the log of a workspace, and what is queued for it.
type LogStatus struct {
	Location string      `json:"log"` // without user name and password
	Source   string      `json:"source"`
	ID       string      `json:"id,omitempty"` // "" before the first record
	Remote   bool        `json:"remote"`       // other machines may use it
	Origin   string      `json:"origin,omitempty"`
	LastSeq  handoff.Seq `json:"lastSeq"`
	// why it can't be reached; lastSeq is then what this machine knows
	Unavailable string                 `json:"unavailable,omitempty"`
	Queued      []storage.QueuedRecord `json:"queued,omitempty"`  // the oldest first
	Refused     []storage.Refusal      `json:"refused,omitempty"` // queued records that the log refused
	// the queue was copied from elsewhere, and is sent by Send only
	Copied  bool        `json:"copied,omitempty"`
	Details []LogDetail `json:"details,omitempty"` // of a LogDescriber
}

// A LogDetail is something about where a log is stored, such as the number of copies.
type LogDetail struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// A LogDescriber is a log that can say how it is stored.
type LogDescriber interface {
	Describe(ctx context.Context) ([]LogDetail, error)
}

// Status asks the log for its newest record. Kinds: those of the log, except
// Unavailable if records are queued while it can't be reached.
func (s Store) Status(ctx context.Context) (LogStatus, error) {
	st := LogStatus{Remote: s.c.Remote}
	for _, setting := range s.c.Settings.Settings() {
		if setting.Name == "log" {
			st.Location, st.Source = setting.Value, setting.Source
		}
	}
	var err error
	if st.Origin, err = s.c.RuntimeDir.Origin(); err != nil {
		return st, err
	}
	if s.c.Queue != nil {
		queued, err := s.c.Queue.Status(ctx)
		if err != nil {
			return st, err
		}
		st.Queued, st.Refused, st.Copied = queued.Queued, queued.Refused, queued.Foreign
		st.ID, st.LastSeq = queued.Log, queued.Newest
	}
	id, _, err := localstate.LogID(ctx, s.c.RawLog)
	if err == nil {
		st.ID = id
		st.LastSeq, err = s.c.Anonymous.Newest(ctx)
	}
	if d, ok := s.c.RawLog.(LogDescriber); ok && err == nil {
		st.Details, err = d.Describe(ctx)
	}
	if s.c.Queue != nil && s.c.Queue.IsUnavailable(err) {
		st.Unavailable, err = err.Error(), nil
	}
	return st, err
}

// Send sends the records that were queued while the log could not be reached,
// in order and each once, also those that it refused before. A record that the log
// refuses is kept, the others are sent, and the error is of kind Conflict.
//
// Kinds: Conflict, and those of the log, after which the rest is queued still.
func (s Store) Send(ctx context.Context) (storage.Sent, error) {
	if err := s.c.Anonymous.Closed(); err != nil || s.c.Queue == nil {
		return storage.Sent{}, err
	}
	if err := s.c.RuntimeDir.Writable(); err != nil {
		return storage.Sent{}, err
	}
	sent, err := s.c.Queue.Send(ctx)
	if err == nil && sent.Sent > 0 {
		_, err = s.c.Anonymous.Newest(ctx) // this machine remembers what it has sent
	}
	if err == nil {
		err = queue.Error(sent.Refused)
	}
	return sent, err
}

// Queued returns how many records are queued on this machine, and when the oldest was
// made. It does not ask the log.
func (s Store) Queued(ctx context.Context) (n int, oldest time.Time, err error) {
	if err := s.c.Anonymous.Closed(); err != nil || s.c.Queue == nil {
		return 0, time.Time{}, err
	}
	list, err := s.c.Queue.Queued(ctx)
	if len(list) > 0 {
		oldest = list[0].CreatedAt
	}
	return len(list), oldest, err
}

// Refused returns the queued records that the log refused, the oldest first.
func (s Store) Refused(ctx context.Context) ([]storage.RefusedRecord, error) {
	if err := s.c.Anonymous.Closed(); err != nil || s.c.Queue == nil {
		return nil, err
	}
	return s.c.Queue.Refused(ctx)
}

// Drop removes queued records that the log refused, and returns them. Kind:
// NotFound (one was not refused; none is removed).
func (s Store) Drop(ctx context.Context, ids []string) ([]storage.RefusedRecord, error) {
	if err := s.c.Anonymous.Closed(); err != nil || len(ids) == 0 {
		return nil, err
	}
	if err := s.c.RuntimeDir.Writable(); err != nil {
		return nil, err
	}
	return s.c.Queue.Drop(ctx, ids)
}
