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
	KeepBytes int64             `json:"keepBytes"` // what remains
	Dropped   bool              `json:"dropped"`   // the bodies have been removed
}

// A RetainedSession is what a policy decides about the files of a session in the trash.
type RetainedSession struct {
	ID        string `json:"id"`
	SizeBytes int64  `json:"sizeBytes"`
	Drop      bool   `json:"drop"`
	Reason    string `json:"reason"`
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
