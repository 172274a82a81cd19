// Package trace has the types of what happened and why: the origin of a file, usage and cost,
// claims and their evidence, what is going on, the events of hooks.
//
// It has nouns only. Package workspace and the packages beside it return them.
package trace

import "time"

// An Origin is where something comes from and who has used it.
type Origin struct {
	Subject  string   `json:"subject"` // as it was named
	Hops     []Hop    `json:"hops"`    // the first is the subject
	Warnings []string `json:"warnings,omitempty"`
}

// Known reports whether anything is known about the subject.
func (t Origin) Known() bool { return len(t.Hops) > 1 }

// A HopKind is what a hop is about.
type HopKind string

// The kinds of hops.
const (
	HopFile      HopKind = "file"
	HopLine      HopKind = "line"
	HopArtifact  HopKind = "artifact"
	HopMoved     HopKind = "moved" // the path at which the artifact was published
	HopSession   HopKind = "session"
	HopWork      HopKind = "work"
	HopPublished HopKind = "published" // the message that published the artifact
	HopWrote     HopKind = "wrote"     // a message that wrote the bytes
	HopCommitted HopKind = "committed" // the message that made the commit
	HopParent    HopKind = "parent"    // the thread that started a subagent
	HopContinues HopKind = "continues" // the thread whose work the thread states to continue
	HopCost      HopKind = "cost"
	HopCommit    HopKind = "commit"
	HopInput     HopKind = "input" // what was read to make it
	HopUse       HopKind = "use"   // who has read it since, or made something from it
)

// A Certainty is how certain a hop is.
type Certainty string

// The certainties.
const (
	Recorded Certainty = "recorded" // a record, a transcript or git states it
	Exact    Certainty = "exact"    // the bytes are equal
	Inferred Certainty = "inferred" // path and time agree, and nothing disagrees
	Claimed  Certainty = "claimed"  // a thread states it, which nothing shows
)

// A Hop is one step of a trace.
type Hop struct {
	Kind      HopKind    `json:"hop"`
	Ref       string     `json:"ref"`            // path, ID of an artifact, session or commit, or URI of a message
	Text      string     `json:"text,omitempty"` // for people: a title, a subject, a path
	Agent     string     `json:"agent,omitempty"`
	At        time.Time  `json:"createdAt,omitzero"`
	Certainty Certainty  `json:"certainty"`
	Cost      *Usage     `json:"cost,omitempty"`
	Evidence  []Evidence `json:"evidence"`
}

// An Authorship is who wrote the lines that a commit adds, in the format of git-ai.
type Authorship struct {
	Commit string
	Lines  int    // that have a writer
	Note   string // the text of the note
}

// CommitLines are the lines that a commit adds and whose writer is exact.
type CommitLines struct {
	Commit string
	Lines  []WrittenLines
}

// WrittenLines are lines of a file, from 1, that one message of a thread wrote.
type WrittenLines struct {
	Path     string
	From, To int
	Message  string // its URI
	Model    string
}

// Evidence is something that shows a hop, and where to find it.
type Evidence struct {
	Kind string `json:"kind"` // record, message, blob, digest, commit, command, path, lines, note or time
	Ref  string `json:"ref"`
}
