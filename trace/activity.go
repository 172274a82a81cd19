package trace

import (
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/transcript"
)

// An Activity is what is going on in a workspace.
type Activity struct {
	Sessions []ActiveSession `json:"sessions"` // running and stalled, newest first
	Threads  []RunningThread `json:"threads"`  // running threads, the last active first

	// Collisions are the files that two of these threads or their subagents
	// changed since the last messages of their users, each while the other was active,
	// the newest first, at most 20.
	Collisions []transcript.Collision `json:"collisions,omitempty"`

	Warnings []string `json:"warnings,omitempty"`
}

// An ActiveSession is a session or run that was not closed.
type ActiveSession struct {
	session.View
	// its last record, or the last change of its threads
	ActiveAt     time.Time          `json:"activeAt"`
	Expectations []session.Expected `json:"expectedOutputs,omitempty"` // what it should leave
	NewestRef    string             `json:"newestArtifactId,omitempty"`
	Threads      []string           `json:"threads,omitempty"` // URIs of its threads
	Writing      []transcript.Write `json:"writing,omitempty"` // what its running threads changed last

	// Idle reports that the session was probably not closed: it has no process, and
	// none of its threads is running.
	Idle bool `json:"idle,omitempty"`

	Newest *handoff.Artifact `json:"-"` // with NewestRef
}

// A RunningThread is one that has not ended its turn: it works, or waits for a person.
type RunningThread struct {
	URI      string       `json:"uri"`
	Title    string       `json:"title,omitempty"` // or the beginning of the first message
	Dir      string       `json:"cwd,omitempty"`
	Branch   string       `json:"branch,omitempty"`
	State    thread.State `json:"state"`
	Started  time.Time    `json:"startedAt,omitzero"`
	ActiveAt time.Time    `json:"activeAt"`
	Session  string       `json:"sessionId,omitempty"` // the session of handoff that it belongs to

	// Writing are the files that it and its subagents changed last since the last
	// message of its user, the newest change first.
	Writing []transcript.Write `json:"writing,omitempty"`

	thread.Chain // by the threads that are running

	Writes []transcript.Write `json:"-"` // all changes since then, in the order of time
}

// A Concurrency is how many threads and subagents worked at once.
type Concurrency struct {
	Since        time.Time     `json:"since"`
	Slot         time.Duration `json:"slot"`
	Most         []int         `json:"most"`         // the most at once in each slot
	Peak         int           `json:"peak"`         // the most at once
	PeakAt       time.Time     `json:"peakAt"`       // when it was first reached
	AgentMinutes int           `json:"agentMinutes"` // the minutes of all of them
}
