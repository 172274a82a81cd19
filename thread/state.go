package thread

import (
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
)

// A Status is where a thread or subagent stands, in the words of the Codex
// protocol, which every provider's are mapped to.
type Status string

// The statuses. No news is never Completed.
const (
	PendingInit Status = "pendingInit" // known, and has not begun
	Running     Status = "running"     // has begun and not ended: at work, waiting, or killed; its age tells
	Completed   Status = "completed"   // ended its turn
	Errored     Status = "errored"     // ended by an error or an interruption
	Shutdown    Status = "shutdown"    // closed by its parent
	NotFound    Status = "notFound"    // left no trace
)

// Ended reports whether nothing more is expected of what has status s.
func (s Status) Ended() bool {
	return s == Completed || s == Errored || s == Shutdown || s == NotFound
}

// A StatusSource says where a status was read.
type StatusSource string

// The sources, strongest first.
const (
	Protocol StatusSource = "protocol"       // the tool itself, asked live
	Parent   StatusSource = "parent_rollout" // the parent's transcript
	Child    StatusSource = "child_rollout"  // the thread's own transcript
	Inferred StatusSource = "inferred"       // concluded, because nothing says it
)

// A State is a status with what proves it.
type State struct {
	Status   Status       `json:"status"`
	Source   StatusSource `json:"statusSource"`
	Evidence string       `json:"statusEvidence,omitempty"` // the record that says so
	Waiting  string       `json:"waiting,omitempty"`        // what it waits for a person to do, or ""
	At       time.Time    `json:"statusAt,omitzero"`        // when that record was written
}

// Asks returns what a thread waits for if text is the last word of its agent and
// it ended its turn: an answer, where that ends with a question, or nothing.
func Asks(text string) string {
	if strings.HasSuffix(strings.TrimSpace(text), "?") {
		return "an answer to the question its last message ends with"
	}
	return ""
}

// Newest returns the state that says more about now: what a parent says of a
// child, unless the child's own transcript went on after that, or the parent
// knows no end and the child's does.
func Newest(parent, child State) State {
	switch {
	case child.Status == "" || child.Status == NotFound:
		return parent
	case parent.Status == "" || parent.Status == NotFound:
		return child
	case !parent.Status.Ended():
		return child
	case child.At.After(parent.At) && !parent.At.IsZero() && parent.Status != Shutdown && child.Status != parent.Status:
		return child
	}
	return parent
}

// Tokens are counted in buckets that share nothing, except that Reasoning is
// part of Output and CacheWrite1h part of CacheWrite.
type Tokens struct {
	Input        int64   `json:"input"` // neither read from nor written to a cache
	CacheRead    int64   `json:"cacheRead"`
	CacheWrite   int64   `json:"cacheWrite"`
	CacheWrite1h int64   `json:"cacheWrite1h,omitempty"` // kept for an hour, at another price
	Output       int64   `json:"output"`
	Reasoning    int64   `json:"reasoning"`
	Calls        int     `json:"calls"`          // requests to a model
	Cost         float64 `json:"cost,omitempty"` // in US dollars, where the tool wrote one
}

// Add adds o to t.
func (t *Tokens) Add(o Tokens) {
	t.Input += o.Input
	t.CacheRead += o.CacheRead
	t.CacheWrite += o.CacheWrite
	t.CacheWrite1h += o.CacheWrite1h
	t.Output += o.Output
	t.Reasoning += o.Reasoning
	t.Calls += o.Calls
	t.Cost += o.Cost
}

// Total returns all tokens of t.
func (t Tokens) Total() int64 { return t.Input + t.CacheRead + t.CacheWrite + t.Output }

// Completeness says how far a usage can be trusted.
type Completeness string

// The completenesses.
const (
	Exact        Completeness = "exact"         // every request is counted
	LowerBound   Completeness = "lower_bound"   // some requests are known to be missing
	SessionTotal Completeness = "session_total" // only the whole is known, not what each part spent
	NoUsage      Completeness = "none"          // the tool wrote nothing
)

// Usage is what a thread spent, without its subagents.
type Usage struct {
	Tokens
	Models       []ModelUsage `json:"models,omitempty"` // in order of first use
	Completeness Completeness `json:"completeness"`
	Reason       string       `json:"reason,omitempty"` // why it is not exact
}

// A Gap is something that was spent and not counted: how often, and why, with a
// %d for the number.
type Gap struct {
	N   int
	Why string
}

// Judge says how complete u is: not at all where nothing was counted, a lower
// bound for the first gap that there is, else exact.
func (u *Usage) Judge(gaps ...Gap) {
	u.Completeness, u.Reason = Exact, ""
	if u.Calls == 0 {
		u.Completeness, u.Reason = NoUsage, "no usage is recorded"
		return
	}
	for _, g := range gaps {
		if g.N > 0 {
			u.Completeness, u.Reason = LowerBound, strings.Replace(g.Why, "%d", strconv.Itoa(g.N), 1)
			return
		}
	}
}

// ModelUsage is the share of one model.
type ModelUsage struct {
	Model    string `json:"model"`
	Provider string `json:"provider,omitempty"`
	Tokens
}

// Add counts t for a model of a provider; both may be unknown.
func (u *Usage) Add(provider, model string, t Tokens) {
	u.Tokens.Add(t)
	for i := range u.Models {
		if u.Models[i].Model == model && u.Models[i].Provider == provider {
			u.Models[i].Add(t)
			return
		}
	}
	u.Models = append(u.Models, ModelUsage{model, provider, t})
}

func notFound(name, hint string) error {
	return &handoff.Error{Op: "thread", Name: name, Kind: handoff.NotFound, Hint: handoff.Advice(hint)}
}
