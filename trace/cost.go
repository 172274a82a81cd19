package trace

import (
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
)

// A Usage is a sum of usage.
type Usage struct {
	handoff.Usage // the cost includes only what has a price

	// Completeness is Exact if everything that the sum is about is in it.
	Completeness thread.Completeness `json:"completeness"`

	// Reason is why the usage is not exact.
	Reason string `json:"reason,omitempty"`

	// Unpriced are the models whose usage has no known price, sorted.
	Unpriced []string `json:"unpriced,omitempty"`

	// Estimated are the models whose price is that of whoever makes them, since that of the
	// provider that was used is not known, sorted.
	Estimated []string `json:"estimated,omitempty"`

	// AboveTier reports that a part was priced without its context's length, which
	// raises the price of some models.
	AboveTier bool `json:"-"`
}

// IsLowerBound reports whether more may have been used, or may have cost something.
func (u Usage) IsLowerBound() bool { return u.Completeness != thread.Exact || len(u.Unpriced) > 0 }

// A Receipt has what ran, what that used, and what it published.
type Receipt struct {
	Tasks     []Task `json:"tasks"`                // in the order in which they started
	Usage     Usage  `json:"usage"`                // of all tasks, each token once
	Disputed  *Usage `json:"transcript,omitempty"` // the same by the transcripts, if harnesses reported something else
	Artifacts int    `json:"artifacts"`            // that the tasks published

	// Share is the part of Usage that counts to the artifact of the receipt: several that a
	// thread published share it. nil for a session or run.
	Share *Usage `json:"artifactUsage,omitempty"`

	// Within is the URI of the thread that started the session or run, if that thread worked
	// or published in it: what it used is not in the receipt.
	Within string `json:"within,omitempty"`

	Published []handoff.Artifact `json:"-"` // these artifacts
}

// A Task is a thread without its subagents, a subagent, or work that a harness
// reported without naming a thread.
type Task struct {
	Work   string   `json:"work,omitempty"` // ID of the first work of the task
	Thread string   `json:"thread,omitempty"`
	Name   string   `json:"name,omitempty"`
	Agent  string   `json:"agent,omitempty"`
	Models []string `json:"models,omitempty"`
	// completed, failed, cancelled or running as a harness reported, otherwise of the transcript
	Status     string    `json:"status,omitempty"`
	StartedAt  time.Time `json:"startedAt,omitzero"`
	EndedAt    time.Time `json:"endedAt,omitzero"` // or last active
	DurationMS int64     `json:"durationMs,omitempty"`
	Usage      Usage     `json:"usage"`
	Disputed   *Usage    `json:"transcript,omitempty"`
	Artifacts  []string  `json:"artifactIds,omitempty"` // that it published
}

// Known reports whether the receipt shows more than artifacts.
func (r Receipt) Known() bool { return len(r.Tasks) > 0 || r.Within != "" }

// A CostRow is the usage of one group.
type CostRow struct {
	Key       string `json:"key"`
	Name      string `json:"name,omitempty"` // for people, where Key is an ID
	Amount    Usage  `json:"usage"`
	Threads   int    `json:"threads,omitempty"` // threads that it is from
	Artifacts int    `json:"artifacts"`         // that were published with it
	Revisions int    `json:"revisions"`         // those of them that replace another
	Failed    int    `json:"failedWork,omitempty"`
	FailedOut int    `json:"failedWorkWithArtifacts,omitempty"` // failed work that left an active artifact
	// the agents, programs and sessions of what is in it, sorted, at most 10 of each
	Agents   []string `json:"agents,omitempty"`
	Programs []string `json:"programs,omitempty"`
	Sessions []string `json:"sessions,omitempty"`
	Traffic

	// Transcript is the usage by the transcripts, if harnesses reported usage that
	// differs by more than 5 %. Otherwise it is nil.
	Transcript *Usage `json:"transcript,omitempty"`

	// CostPerArtifact is the cost divided by the number of artifacts whose cost is known, and
	// CostPerActive by the number of those of them that are active.
	CostPerArtifact *float64 `json:"costPerArtifact,omitempty"`
	CostPerActive   *float64 `json:"costPerActiveArtifact,omitempty"`

	// CacheRate is which part of the input tokens was read from a cache, nil if no read of one
	// is known.
	CacheRate *float64 `json:"cacheRate,omitempty"`

	// Days is what was used on each day in UTC, "" if that is not known. It is nil if it was not
	// asked for.
	Days map[string]Usage `json:"-"`
}

// A CostChange compares what was used in a period with what was used in the period of the same
// length before it.
type CostChange struct {
	Since  time.Time `json:"startedAt"` // of the period before
	Until  time.Time `json:"endedAt"`
	Before Usage     `json:"before"` // what was used in it

	// Rate is the difference of the costs divided by the cost of the period before. It is nil
	// if one of them is not known or is a lower bound; Reason has why.
	Rate   *float64 `json:"rate,omitempty"`
	Reason string   `json:"reason,omitempty"`

	// RecordedRate is the same of what is recorded, if both costs are lower bounds. It is nil if
	// the price of a model, or all usage of a thread, is not known.
	RecordedRate *float64 `json:"recordedRate,omitempty"`
}

// A Node is a unit of work with its children.
type Node struct {
	Work     handoff.Work `json:"work"`
	Own      Usage        `json:"own"`   // without the children
	Total    Usage        `json:"total"` // with all of them
	Children []*Node      `json:"children,omitempty"`
}

// Traffic is how artifacts reached other work, as far as it was recorded.
type Traffic struct {
	RefsPassed  int    `json:"refsPassed"`            // reads of the artifacts by other work
	BytesRead   *int64 `json:"bytesRead,omitempty"`   // the sizes of what was read, once for each read
	BytesStayed *int64 `json:"bytesStayed,omitempty"` // the sizes of artifacts that no other work read
}
