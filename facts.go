package handoff

import (
	"encoding/json"
	"time"
)

// A Fact is what a record says, in the past tense. The facts are the types in
// this file; a record of any other type has none.
type Fact interface{ factType() string }

// ArtifactPublished says that a file or directory is an artifact.
type ArtifactPublished struct {
	Channel    string `json:"channel"`
	Kind       string `json:"kind,omitempty"`     // what it means: report, patch, log; free
	Path       string `json:"path"`               // slash-separated, below its root
	Root       string `json:"root,omitempty"`     // "" for the workspace, RuntimeRoot or SessionRoot
	Worktree   string `json:"worktree,omitempty"` // the linked git worktree that the path is below, "" for the main one
	TargetType string `json:"targetType"`         // file, directory or symlink
	Title      string `json:"title,omitempty"`
	Summary    string `json:"summary,omitempty"`
	MediaType  string `json:"mediaType,omitempty"`
	SizeBytes  *int64 `json:"sizeBytes,omitempty"` // of a regular file
	Digest     Digest `json:"digest,omitzero"`
	Kept       bool   `json:"kept,omitempty"`      // a copy was kept, under Digest
	Namespace  string `json:"namespace,omitempty"` // the run or session whose name this is
	Name       string `json:"name,omitempty"`      // a logical file name within it

	Replaces []string        `json:"replaces,omitempty"`
	Parents  []string        `json:"parentArtifactIds,omitempty"`
	Tags     []string        `json:"tags,omitempty"`
	Key      string          `json:"key,omitempty"` // makes a repeated publish the same publish
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// RuntimeRoot is the root of a body that handoff itself stores, where the
// runtime directory lies outside the workspace.
const RuntimeRoot = "runtime"

// SessionRoot is the root of what lies in the directory of its producer's
// session, where that is outside the workspace.
const SessionRoot = "session"

// A Digest identifies bytes. Its zero value stands for none.
type Digest struct {
	Algorithm string `json:"algorithm"` // SHA256 or SHA256Tar
	Value     string `json:"value"`     // lower-case hexadecimal
}

// The algorithms of digests.
const (
	SHA256    = "sha256"
	SHA256Tar = "sha256-tar" // of a directory, as one tar
)

// ArtifactWithdrawn says that an artifact no longer stands. Nothing is deleted.
type ArtifactWithdrawn struct {
	ArtifactID string `json:"artifactId"`
	Reason     string `json:"reason,omitempty"`
}

// ArtifactUsed says that the producer's work looked at an artifact.
type ArtifactUsed struct {
	ArtifactID string `json:"artifactId"`
}

// SessionOpened says that a session began, or, with a parent, a run.
type SessionOpened struct {
	SessionID string                     `json:"sessionId"`
	Parent    string                     `json:"parent,omitempty"`
	Title     string                     `json:"title,omitempty"`
	Agent     SessionAgent               `json:"agent,omitzero"`
	Workflow  SessionWorkflow            `json:"workflow,omitzero"`
	User      string                     `json:"user,omitempty"`
	Inputs    map[string]json.RawMessage `json:"inputs,omitempty"`
	Folder    string                     `json:"folder,omitempty"`   // slash-separated, below the main worktree
	StartedAt time.Time                  `json:"startedAt,omitzero"` // where it began before its record was made
	Process   Process                    `json:"process,omitzero"`   // handoff's own, which waits for the child
	Manifest  json.RawMessage            `json:"manifest,omitempty"` // another engine's, as it was found when it was adopted
}

// A SessionAgent names the agent of a session; a SessionWorkflow what it does.
type (
	SessionAgent struct {
		Name   string `json:"name"`
		Title  string `json:"title,omitempty"`
		Bundle string `json:"bundle,omitempty"`
	}
	SessionWorkflow struct {
		Name        string `json:"name"`
		Description string `json:"description,omitempty"`
	}
)

// A Process tells one process from every other that its machine ran or will
// run. Its parts are the system's own, and compared only for equality.
type Process struct {
	BootID       string `json:"bootId"`
	PIDNamespace string `json:"pidNamespace"`
	PID          int    `json:"pid"`
	StartTime    string `json:"startTime"`
}

// SessionClosed says that a session ended, and how: completed, failed or
// cancelled.
type SessionClosed struct {
	SessionID string    `json:"sessionId"`
	Status    string    `json:"status"`
	Reason    string    `json:"reason,omitempty"`
	EndedAt   time.Time `json:"endedAt,omitzero"` // where it ended before its record was made
}

// SessionLinked says that a session builds on another.
type SessionLinked struct {
	SessionID string `json:"sessionId"`
	To        string `json:"to"`
}

// SessionNoted adds to what is known of a session. A field that is absent
// leaves what was noted before.
type SessionNoted struct {
	SessionID    string                     `json:"sessionId"`
	Tags         []string                   `json:"tags,omitempty"`
	RemovedTags  []string                   `json:"removedTags,omitempty"`
	Name         *string                    `json:"name,omitempty"`
	UserSummary  *string                    `json:"userSummary,omitempty"`
	MessageCount *int                       `json:"messageCount,omitempty"`
	Metadata     map[string]json.RawMessage `json:"metadata,omitempty"`
	Child        Process                    `json:"child,omitzero"` // the process that does the session's work
}

// SessionArchived says that a session was put away; SessionRestored that it
// was brought back.
type (
	SessionArchived struct {
		SessionID string `json:"sessionId"`
	}
	SessionRestored struct {
		SessionID string `json:"sessionId"`
	}
)

// PathMoved says that a file or directory of the workspace lies elsewhere now,
// with all that is below it. Paths are slash-separated, below the workspace.
type PathMoved struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// WorkStarted says that a unit of work began. The harness that knows it by
// WorkID is the producer's.
type WorkStarted struct {
	WorkID       string    `json:"workId"`
	ParentWorkID string    `json:"parentWorkId,omitempty"`
	Kind         string    `json:"kind,omitempty"` // prompt, skill, task, tool
	Name         string    `json:"name,omitempty"`
	StartedAt    time.Time `json:"startedAt"`
}

// WorkEnded says that a unit of work ended.
type WorkEnded struct {
	WorkID  string    `json:"workId"`
	EndedAt time.Time `json:"endedAt"`
	IsError bool      `json:"isError,omitempty"`
}

// Gap stands where a record was lost, so that those after it can be read.
type Gap struct {
	Reason string `json:"reason,omitempty"`
}

// Damaged stands for stored bytes that are no record. It is never written.
type Damaged struct{ Err error }

func (*ArtifactPublished) factType() string { return "artifact.published" }
func (*ArtifactWithdrawn) factType() string { return "artifact.withdrawn" }
func (*ArtifactUsed) factType() string      { return "artifact.used" }
func (*SessionOpened) factType() string     { return "session.opened" }
func (*SessionClosed) factType() string     { return "session.closed" }
func (*SessionLinked) factType() string     { return "session.linked" }
func (*SessionNoted) factType() string      { return "session.noted" }
func (*SessionArchived) factType() string   { return "session.archived" }
func (*SessionRestored) factType() string   { return "session.restored" }
func (*PathMoved) factType() string         { return "path.moved" }
func (*WorkStarted) factType() string       { return "work.started" }
func (*WorkEnded) factType() string         { return "work.ended" }
func (*Gap) factType() string               { return "log.gap" }
func (*Damaged) factType() string           { return "" }

// newFact returns an empty fact, by its type.
var newFact = map[string]func() Fact{
	"artifact.published": func() Fact { return new(ArtifactPublished) },
	"artifact.withdrawn": func() Fact { return new(ArtifactWithdrawn) },
	"artifact.used":      func() Fact { return new(ArtifactUsed) },
	"session.opened":     func() Fact { return new(SessionOpened) },
	"session.closed":     func() Fact { return new(SessionClosed) },
	"session.linked":     func() Fact { return new(SessionLinked) },
	"session.noted":      func() Fact { return new(SessionNoted) },
	"session.archived":   func() Fact { return new(SessionArchived) },
	"session.restored":   func() Fact { return new(SessionRestored) },
	"path.moved":         func() Fact { return new(PathMoved) },
	"work.started":       func() Fact { return new(WorkStarted) },
	"work.ended":         func() Fact { return new(WorkEnded) },
	"log.gap":            func() Fact { return new(Gap) },
}
