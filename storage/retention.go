package storage

import "github.com/agent-handoff/handoff"

// A DiskUsage is the space that one group of stored data takes.
type DiskUsage struct {
	By         string `json:"by"`   // channel, agent, session or state; threads, comments, unneeded, trash, index, caches
	Name       string `json:"name"` // of the group, "" if there is one
	SizeBytes  int64  `json:"sizeBytes"`
	Bodies     int    `json:"bodies,omitempty"`
	Superseded int    `json:"superseded,omitempty"` // bodies that superseded artifacts need only
}

// A RetainedBody is what a policy decides about a stored body.
type RetainedBody struct {
	handoff.StoredBody
	Drop     bool   `json:"drop"`
	Reason   string `json:"reason"`
	Artifact string `json:"artifact,omitempty"` // the newest one that has the body
	Channel  string `json:"channel,omitempty"`
	Thread   string `json:"thread,omitempty"` // whose copy it is
}

// A Retention is what a policy decides about all stored bodies.
type Retention struct {
	Policy    string            `json:"policy"`
	Bodies    []RetainedBody    `json:"bodies"`             // the oldest first
	Sessions  []RetainedSession `json:"sessions,omitempty"` // in the trash, the oldest first
	DropBytes int64             `json:"dropBytes"`
	KeepBytes int64             `json:"keepBytes"`           // what remains
	OverBytes int64             `json:"overBytes,omitempty"` // by how much this is above max-size
	Dropped   bool              `json:"dropped"`             // the bodies have been removed
}

// A RetainedSession is what a policy decides about the files of a session in the trash.
type RetainedSession struct {
	ID        string `json:"id"`
	SizeBytes int64  `json:"sizeBytes"`
	Drop      bool   `json:"drop"`
	Reason    string `json:"reason"`
}

// Limit keeps what need not be dropped for a size, 0 for no limit, and adds up the rest:
// sessions in the trash go before bodies, and the oldest first. KeepBytes is the size of
// everything before.
func (r *Retention) Limit(size int64) {
	decide := func(bytes int64, drop *bool, reason *string) {
		switch {
		case !*drop:
		case size > 0 && r.KeepBytes <= size:
			*drop, *reason = false, "max-size is met without it"
		default:
			r.DropBytes += bytes
			r.KeepBytes -= bytes
		}
	}
	for i := range r.Sessions {
		decide(r.Sessions[i].SizeBytes, &r.Sessions[i].Drop, &r.Sessions[i].Reason)
	}
	for i := range r.Bodies {
		decide(r.Bodies[i].SizeBytes, &r.Bodies[i].Drop, &r.Bodies[i].Reason)
	}
	if size > 0 {
		r.OverBytes = max(0, r.KeepBytes-size)
	}
}

// Drops returns the number of bodies that go.
func (r *Retention) Drops() (n int) {
	for _, b := range r.Bodies {
		if b.Drop {
			n++
		}
	}
	return n
}

// DropsSessions returns the number of sessions in the trash whose files go.
func (r *Retention) DropsSessions() (n int) {
	for _, s := range r.Sessions {
		if s.Drop {
			n++
		}
	}
	return n
}
