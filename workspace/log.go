package workspace

import (
	"cmp"
	"context"
	"crypto/rand"
	"io"
	"path/filepath"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/log/localstate"
	"github.com/agent-handoff/handoff/internal/log/logcopy"
	"github.com/agent-handoff/handoff/internal/log/queue"
)

// A LogCopy is what CopyLog did.
type LogCopy = logcopy.Result

// CopyLog appends to a log the records of another that it does not have, with their
// bodies. The locations are URLs as in HANDOFF_LOG; "file:" is the built-in log of the
// workspace that dir belongs to. Records keep their IDs, and the target has an ID of
// its own. If the copy ends early, the next one continues.
//
// Kinds: Invalid (a location), Conflict (the target is not the beginning of the
// source), Corrupt, Unavailable, Unsupported.
func CopyLog(ctx context.Context, dir string, o Options, from, to string) (result LogCopy, err error) {
	return copyLog(ctx, dir, o, from, to, false)
}

// CopyRedactedLog is CopyLog for a new log without the secrets that were redacted: it
// writes records with their replacements.
func CopyRedactedLog(ctx context.Context, dir string, o Options, from, to string) (LogCopy, error) {
	return copyLog(ctx, dir, o, from, to, true)
}

func copyLog(ctx context.Context, dir string, o Options, from, to string, redact bool) (result LogCopy, err error) {
	o.Getenv, o.Rand = o.environment(), cmp.Or[io.Reader](o.Rand, rand.Reader)
	if dir, err = filepath.Abs(dir); err != nil {
		return result, err
	}
	found, settings, _, err := localstate.Find(dir, o.Getenv)
	if err != nil {
		return result, err
	}
	c := localstate.Copier{Backends: o.Backends, ShareThreads: settings.SharesThreads(), Redact: redact,
		Progress: o.Progress,
		Options:  BackendOptions{Root: found.Root, Runtime: found.Runtime, Rand: o.Rand, Getenv: o.Getenv, Warn: o.Warn}}
	return c.Copy(ctx, from, to)
}

// openQueue returns the log and bodies that were opened, with a queue for the time in
// which the log can't be reached, unless it is switched off.
func openQueue(c config.Config, opened localstate.Opened, runtime string, o Options) (handoff.Log, handoff.Bodies,
	*queue.Log) {
	engine, ok := opened.Log.(queue.Engine)
	on := opened.Backend.Queue
	if c.Queue != nil {
		on = *c.Queue
	}
	if !ok || !on || !opened.Backend.Remote {
		return opened.Log, opened.Bodies, nil
	}
	q := queue.New(engine, queue.Options{Runtime: runtime, Location: opened.Backend.Identity(c.Log),
		Text: config.Redact(c.Log), Rand: o.Rand, Warn: o.Warn,
		Known: func() (string, handoff.Seq) { return localstate.Remembered(opened.Backend, c.Log, runtime, o.Getenv) }})
	return q, q.Bodies(opened.Bodies), q
}

// A LogStatus describes the log of a workspace, and what is queued for it.
type LogStatus struct {
	Location string      `json:"log"` // without user name and password
	Source   string      `json:"source"`
	ID       string      `json:"id,omitempty"` // "" before the first record
	Remote   bool        `json:"remote"`       // other machines may use it
	Origin   string      `json:"origin,omitempty"`
	LastSeq  handoff.Seq `json:"lastSeq"`
	// why it can't be reached; lastSeq is then what this machine knows
	Unavailable string         `json:"unavailable,omitempty"`
	Queued      []QueuedRecord `json:"queued,omitempty"`  // the oldest first
	Refused     []Refusal      `json:"refused,omitempty"` // queued records that the log refused
	// the queue was copied from elsewhere, and is sent by SendQueued only
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

// A QueuedRecord is a record that is on this machine until the log can be reached.
type QueuedRecord = queue.Item

// A Refusal is a queued record that the log refused. It is kept.
type Refusal = queue.Refusal

// LogStatus asks the log for its newest record. Kinds: those of the log, except
// Unavailable if records are queued while it can't be reached.
func (w *Workspace) LogStatus(ctx context.Context) (LogStatus, error) {
	s := LogStatus{Remote: w.remote}
	for _, setting := range w.settings.Settings() {
		if setting.Name == "log" {
			s.Location, s.Source = setting.Value, setting.Source
		}
	}
	var err error
	if s.Origin, err = w.runtimeDir.Origin(); err != nil {
		return s, err
	}
	if w.queue != nil {
		queued, err := w.queue.Status(ctx)
		if err != nil {
			return s, err
		}
		s.Queued, s.Refused, s.Copied = queued.Queued, queued.Refused, queued.Foreign
		s.ID, s.LastSeq = queued.Log, queued.Newest
	}
	id, _, err := localstate.LogID(ctx, w.rawLog)
	if err == nil {
		s.ID = id
		s.LastSeq, err = w.hub.Newest(ctx)
	}
	if d, ok := w.rawLog.(LogDescriber); ok && err == nil {
		s.Details, err = d.Describe(ctx)
	}
	if w.queue != nil && w.queue.IsUnavailable(err) {
		s.Unavailable, err = err.Error(), nil
	}
	return s, err
}

// Sent is what SendQueued did.
type Sent = queue.Sent

// SendQueued sends the records that were queued while the log could not be reached,
// in order and each once, also those that it refused before. A record that the log
// refuses is kept, the others are sent, and the error is of kind Conflict.
//
// Kinds: Conflict, and those of the log, after which the rest is queued still.
func (w *Workspace) SendQueued(ctx context.Context) (Sent, error) {
	if err := w.hub.Closed(); err != nil || w.queue == nil {
		return Sent{}, err
	}
	if err := w.runtimeDir.Writable(); err != nil {
		return Sent{}, err
	}
	sent, err := w.queue.Send(ctx)
	if err == nil && sent.Sent > 0 {
		_, err = w.hub.Newest(ctx) // this machine remembers what it has sent
	}
	if err == nil {
		err = queue.Error(sent.Refused)
	}
	return sent, err
}

// Queued returns how many records are queued on this machine, and when the oldest was
// made. It does not ask the log.
func (w *Workspace) Queued(ctx context.Context) (n int, oldest time.Time, err error) {
	if err := w.hub.Closed(); err != nil || w.queue == nil {
		return 0, time.Time{}, err
	}
	list, err := w.queue.Queued(ctx)
	if len(list) > 0 {
		oldest = list[0].CreatedAt
	}
	return len(list), oldest, err
}

// A RefusedRecord is a queued record that the log refused, and why.
type RefusedRecord = queue.RefusedRecord

// RefusedRecords returns the queued records that the log refused, the oldest first.
func (w *Workspace) RefusedRecords(ctx context.Context) ([]RefusedRecord, error) {
	if err := w.hub.Closed(); err != nil || w.queue == nil {
		return nil, err
	}
	return w.queue.Refused(ctx)
}

// DropRefused removes queued records that the log refused, and returns them. Kind:
// NotFound (one was not refused; none is removed).
func (w *Workspace) DropRefused(ctx context.Context, ids []string) ([]RefusedRecord, error) {
	if err := w.hub.Closed(); err != nil || len(ids) == 0 {
		return nil, err
	}
	if err := w.runtimeDir.Writable(); err != nil {
		return nil, err
	}
	return w.queue.Drop(ctx, ids)
}

// sendAtEnd sends what is queued when a session ends. What can't be sent is queued
// still, about which the queue warns.
func (w *core) sendAtEnd(ctx context.Context) {
	if w.queue != nil && !w.queue.Offline() {
		if sent, err := w.queue.SendNew(ctx); err == nil && sent.Sent > 0 {
			_, _ = w.hub.Newest(ctx) // this machine remembers what it has sent
		}
	}
}
