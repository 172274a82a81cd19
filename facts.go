package handoff

import (
	"encoding/json"
	"time"
)

// A Fact is what a record states, in the past tense. Facts are pointers to types
// of this package, such as *ArtifactPublished.
type Fact interface{ factType() string }

// ArtifactPublished states that a file or directory is an artifact.
type ArtifactPublished struct {
	Channel string `json:"channel"`
	Kind    string `json:"kind,omitempty"` // its form: report, patch, log, or any other word
	Path    string `json:"path"`           // slash-separated, relative to its root
	Root    string `json:"root,omitempty"` // "" for the workspace or Worktree, RuntimeRoot, SessionRoot
	// the name of the linked git worktree that contains it, "" for the main one
	Worktree   string `json:"worktree,omitempty"`
	Branch     string `json:"branch,omitempty"` // of the worktree when it was published, "" for none
	TargetType string `json:"targetType"`       // file, directory or symlink
	Title      string `json:"title,omitempty"`
	Summary    string `json:"summary,omitempty"`
	MediaType  string `json:"mediaType,omitempty"`
	SizeBytes  *int64 `json:"sizeBytes,omitempty"` // of a regular file, in bytes
	Digest     Digest `json:"digest,omitzero"`
	Kept       bool   `json:"kept,omitempty"`      // a copy with this digest was kept
	Namespace  string `json:"namespace,omitempty"` // the run or session that Name belongs to
	Name       string `json:"name,omitempty"`      // a logical file name in the namespace

	Replaces []string        `json:"replaces,omitempty"`          // IDs of the artifacts that it supersedes
	Parents  []string        `json:"parentArtifactIds,omitempty"` // IDs of the artifacts that it was made from
	Tags     []string        `json:"tags,omitempty"`
	Key      string          `json:"key,omitempty"` // a second record with this key is ignored
	Metadata json.RawMessage `json:"metadata,omitempty"`

	Resolves  []string `json:"resolves,omitempty"`  // IDs of the comments that it resolves
	AskReview bool     `json:"askReview,omitempty"` // its author asks for a review

	Claims      []Claim      `json:"claims,omitempty"`
	Attestation *Attestation `json:"attestation,omitempty"` // of the command whose output it is
	Tree        *Tree        `json:"tree,omitempty"`        // when it was claimed or, with Attestation, before the command
}

// RuntimeRoot is the root of a file that handoff stores in a runtime directory
// outside the workspace.
const RuntimeRoot = "runtime"

// SessionRoot is the root of a file in the directory of its producer's session,
// if that directory is outside the workspace.
const SessionRoot = "session"

// A Digest identifies bytes. Its zero value is no digest.
type Digest struct {
	Algorithm string `json:"algorithm"` // SHA256 or SHA256Tar
	Value     string `json:"value"`     // lower-case hexadecimal
}

// The algorithms of digests.
const (
	SHA256    = "sha256"
	SHA256Tar = "sha256-tar" // of a directory as a deterministic tar
)

// IsDirectory reports whether the content is a directory, read as one tar. So is that
// of a link without a size.
func (p *ArtifactPublished) IsDirectory() bool {
	return p.Digest.Algorithm == SHA256Tar || p.TargetType == "directory" ||
		(p.TargetType == "symlink" && p.SizeBytes == nil)
}

// ArtifactWithdrawn states that an artifact is withdrawn. Nothing is deleted.
type ArtifactWithdrawn struct {
	ArtifactID string `json:"artifactId"`
	Reason     string `json:"reason,omitempty"`
}

// ArtifactUsed states that the producer's work read an artifact.
type ArtifactUsed struct {
	ArtifactID string `json:"artifactId"`
}

// ArtifactLabeled states that a label was moved to an artifact, away from any other
// artifact of its channel, or, with Removed, that it was removed from the artifact.
type ArtifactLabeled struct {
	ArtifactID string `json:"artifactId"`
	Label      string `json:"label"`
	Removed    bool   `json:"removed,omitempty"`
}

// ArtifactAccepted states that an artifact was chosen over others, which it supersedes until
// it is withdrawn. It is no revision of them.
type ArtifactAccepted struct {
	ArtifactID string   `json:"artifactId"`
	Over       []string `json:"over,omitempty"`  // IDs of the artifacts that were not chosen
	Known      []string `json:"known,omitempty"` // IDs of earlier acceptances that this one may take back
	Reason     string   `json:"reason,omitempty"`
	User       string   `json:"user,omitempty"` // the name of the person, see ArtifactReviewed
}

// ArtifactApplied states that an artifact was put into a working tree, to the files of a commit.
type ArtifactApplied struct {
	ArtifactID string `json:"artifactId"`
	Digest     Digest `json:"digest,omitzero"` // of the bytes that were applied
	Commit     string `json:"commit"`          // the commit of HEAD
	User       string `json:"user,omitempty"`  // the name of the person, see ArtifactReviewed
}

// BodyRedacted states that a body had a secret, and that no artifact's content is read
// from it any more. It is erased, or another body replaces it.
type BodyRedacted struct {
	ArtifactID  string `json:"artifactId"`           // an artifact that has the body
	Digest      Digest `json:"digest,omitzero"`      // of the body, for every artifact that has it
	Replacement Digest `json:"replacement,omitzero"` // the body with its secrets replaced
	SizeBytes   *int64 `json:"sizeBytes,omitempty"`  // of Replacement
	Replaced    int    `json:"replaced,omitempty"`   // how many secrets were replaced
}

// RecordRedacted states that parts of the texts of a record are secrets, which are not
// shown. The record itself never changes.
type RecordRedacted struct {
	ArtifactID string        `json:"artifactId"`
	RecordID   string        `json:"recordId"` // of the artifact, its withdrawal or its acceptance
	Replaced   []Replacement `json:"replaced"`
}

// SessionOpened states that a session or, with a parent, a run was opened.
type SessionOpened struct {
	SessionID string                     `json:"sessionId"`
	Parent    string                     `json:"parent,omitempty"`
	Title     string                     `json:"title,omitempty"`
	Agent     SessionAgent               `json:"agent,omitzero"`
	Workflow  SessionWorkflow            `json:"workflow,omitzero"`
	User      string                     `json:"user,omitempty"`
	Inputs    map[string]json.RawMessage `json:"inputs,omitempty"`
	Folder    string                     `json:"folder,omitempty"`   // slash-separated, relative to the main worktree
	Expected  []string                   `json:"expected,omitempty"` // names or paths of the outputs that it should leave
	// the directory in the workspace that they may be relative to
	Dir       string          `json:"dir,omitempty"`
	StartedAt time.Time       `json:"startedAt,omitzero"` // if earlier than the record
	Process   Process         `json:"process,omitzero"`   // of handoff itself, which waits for the child
	Manifest  json.RawMessage `json:"manifest,omitempty"` // of another engine, as it was when the folder was imported
}

// A SessionAgent is the agent of a session; a SessionWorkflow is its workflow.
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

// A Process identifies a process among all that a machine ever runs. Its fields
// are those of the system, compared only for equality.
type Process struct {
	BootID       string `json:"bootId"`
	PIDNamespace string `json:"pidNamespace"`
	PID          int    `json:"pid"`
	StartTime    string `json:"startTime"`
}

// SessionClosed states that a session ended. Status is completed, failed or
// cancelled.
type SessionClosed struct {
	SessionID string    `json:"sessionId"`
	Status    string    `json:"status"`
	Reason    string    `json:"reason,omitempty"`
	EndedAt   time.Time `json:"endedAt,omitzero"` // if earlier than the record
}

// SessionLinked states that a session builds on another.
type SessionLinked struct {
	SessionID string `json:"sessionId"`
	To        string `json:"to"`
}

// SessionNoted updates a session. A field that is absent leaves the earlier value.
type SessionNoted struct {
	SessionID    string                     `json:"sessionId"`
	Tags         []string                   `json:"tags,omitempty"`
	RemovedTags  []string                   `json:"removedTags,omitempty"`
	Name         *string                    `json:"name,omitempty"`
	UserSummary  *string                    `json:"userSummary,omitempty"`
	MessageCount *int                       `json:"messageCount,omitempty"`
	Metadata     map[string]json.RawMessage `json:"metadata,omitempty"`
	Child        Process                    `json:"child,omitzero"` // the process that runs the session's command
}

// SessionArchived states that a session was archived, SessionDeleted that it was
// moved to the trash, and SessionRestored that it is neither. Its folder stays where
// it is.
type (
	SessionArchived struct {
		SessionID string `json:"sessionId"`
	}
	SessionDeleted  SessionArchived
	SessionRestored SessionArchived
)

// SessionImported states that a session was imported: that the records of its import
// are complete, and count from here on.
type SessionImported struct {
	SessionID string `json:"sessionId"`
	Import    string `json:"importId"`
	Records   int    `json:"records"`
}

// PathMoved states that a file or directory was moved within the workspace. Paths
// are slash-separated and relative to the workspace.
type PathMoved struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// ThreadKept states that a copy of a thread's transcript, with those of its
// subagents, was kept as a body: a tar file, compressed with zstd, of the files in
// the directories of the tool. A later copy of the same thread replaces it.
type ThreadKept struct {
	Thread          string    `json:"thread"`
	Digest          Digest    `json:"digest"`
	SizeBytes       int64     `json:"sizeBytes"`       // of the body
	Files           int       `json:"files"`           // in the body
	TranscriptBytes int64     `json:"transcriptBytes"` // size of all files
	ModifiedAt      time.Time `json:"modifiedAt,omitzero"`
	Redacted        int       `json:"redacted,omitempty"` // how many secrets were replaced in the copy
	Secrets         int       `json:"secrets,omitempty"`  // how many were found and are in it
}

// WorkStarted states that a unit of work started. WorkID is an ID of the
// producer's harness.
type WorkStarted struct {
	WorkID       string    `json:"workId"`
	ParentWorkID string    `json:"parentWorkId,omitempty"`
	Kind         string    `json:"kind,omitempty"` // prompt, skill, task or tool
	Name         string    `json:"name,omitempty"`
	Agent        string    `json:"agent,omitempty"`
	Model        Model     `json:"model,omitzero"`
	Thread       string    `json:"thread,omitempty"`    // URI of its thread
	SessionID    string    `json:"sessionId,omitempty"` // the session of handoff that the harness runs in
	RunID        string    `json:"runId,omitempty"`     // and the run in it
	StartedAt    time.Time `json:"startedAt"`
	Process      Process   `json:"process,omitzero"` // of the harness
	Ticket       string    `json:"ticket,omitempty"` // what the worker was given, of a stage of a pipeline
}

// WorkEnded states that a unit of work ended. It may be recorded before the start,
// more than once, or without a start.
type WorkEnded struct {
	WorkID      string    `json:"workId"`
	EndedAt     time.Time `json:"endedAt"`
	IsError     bool      `json:"isError,omitempty"`
	Status      string    `json:"status,omitempty"` // completed, failed or cancelled, if the harness reports one
	Usage       *Usage    `json:"usage,omitempty"`
	UsageSource string    `json:"usageSource,omitempty"` // UsageFromHarness, or where else Usage was taken from
}

// UsageFromHarness is the source of usage that the harness itself reported.
const UsageFromHarness = "harness"

// A Usage is what work consumed, without its children. A value that is not known
// is nil, never 0.
type Usage struct {
	Input       *int64   `json:"input,omitempty"` // tokens, without those from and to the cache
	Output      *int64   `json:"output,omitempty"`
	CacheRead   *int64   `json:"cacheRead,omitempty"`
	CacheWrite  *int64   `json:"cacheWrite,omitempty"`
	Reasoning   *int64   `json:"reasoning,omitempty"` // part of Output
	TotalTokens *int64   `json:"totalTokens,omitempty"`
	Cost        *float64 `json:"cost,omitempty"` // in US dollars
}

// Gap takes the number of a lost record, so that the records after it can be read.
type Gap struct {
	Reason string `json:"reason,omitempty"`
}

// Damaged is the fact of a stored record that can't be decoded. It is never written.
type Damaged struct{ Err error }

func (*ArtifactPublished) factType() string { return "artifact.published" }
func (*ArtifactWithdrawn) factType() string { return "artifact.withdrawn" }
func (*ArtifactUsed) factType() string      { return "artifact.used" }
func (*ArtifactLabeled) factType() string   { return "artifact.labeled" }
func (*ArtifactAccepted) factType() string  { return "artifact.accepted" }
func (*ArtifactApplied) factType() string   { return "artifact.applied" }
func (*ArtifactCommented) factType() string { return "artifact.commented" }
func (*ArtifactReviewed) factType() string  { return "artifact.reviewed" }
func (*BodyRedacted) factType() string      { return "body.redacted" }
func (*RecordRedacted) factType() string    { return "record.redacted" }
func (*BodiesDropped) factType() string     { return "bodies.dropped" }
func (*SessionOpened) factType() string     { return "session.opened" }
func (*SessionClosed) factType() string     { return "session.closed" }
func (*SessionLinked) factType() string     { return "session.linked" }
func (*SessionNoted) factType() string      { return "session.noted" }
func (*SessionArchived) factType() string   { return "session.archived" }
func (*SessionDeleted) factType() string    { return "session.deleted" }
func (*SessionRestored) factType() string   { return "session.restored" }
func (*SessionImported) factType() string   { return "session.imported" }
func (*PathMoved) factType() string         { return "path.moved" }
func (*ThreadKept) factType() string        { return "thread.kept" }
func (*WorkStarted) factType() string       { return "work.started" }
func (*WorkEnded) factType() string         { return "work.ended" }
func (*Gap) factType() string               { return "log.gap" }
func (*Damaged) factType() string           { return "" }

// newFact returns an empty fact, by its type.
var newFact = map[string]func() Fact{
	"artifact.published": func() Fact { return new(ArtifactPublished) },
	"artifact.withdrawn": func() Fact { return new(ArtifactWithdrawn) },
	"artifact.used":      func() Fact { return new(ArtifactUsed) },
	"artifact.labeled":   func() Fact { return new(ArtifactLabeled) },
	"artifact.accepted":  func() Fact { return new(ArtifactAccepted) },
	"artifact.applied":   func() Fact { return new(ArtifactApplied) },
	"artifact.commented": func() Fact { return new(ArtifactCommented) },
	"artifact.reviewed":  func() Fact { return new(ArtifactReviewed) },
	"body.redacted":      func() Fact { return new(BodyRedacted) },
	"record.redacted":    func() Fact { return new(RecordRedacted) },
	"bodies.dropped":     func() Fact { return new(BodiesDropped) },
	"session.opened":     func() Fact { return new(SessionOpened) },
	"session.closed":     func() Fact { return new(SessionClosed) },
	"session.linked":     func() Fact { return new(SessionLinked) },
	"session.noted":      func() Fact { return new(SessionNoted) },
	"session.archived":   func() Fact { return new(SessionArchived) },
	"session.deleted":    func() Fact { return new(SessionDeleted) },
	"session.restored":   func() Fact { return new(SessionRestored) },
	"session.imported":   func() Fact { return new(SessionImported) },
	"path.moved":         func() Fact { return new(PathMoved) },
	"thread.kept":        func() Fact { return new(ThreadKept) },
	"work.started":       func() Fact { return new(WorkStarted) },
	"work.ended":         func() Fact { return new(WorkEnded) },
	"log.gap":            func() Fact { return new(Gap) },
}
