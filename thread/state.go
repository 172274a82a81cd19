package thread

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
)

// A Status is the status of a thread or subagent. The values are those of the
// Codex protocol; the statuses of every tool are mapped to them.
type Status string

// The statuses. A thread is Completed only if its transcript shows it.
const (
	PendingInit Status = "pendingInit" // known, not started
	Running     Status = "running"     // started and not ended: working, waiting or killed; its age helps to tell
	Completed   Status = "completed"   // ended its turn
	Errored     Status = "errored"     // ended by an error or an interruption
	Shutdown    Status = "shutdown"    // closed by its parent
	NotFound    Status = "notFound"    // no transcript and no record of it
)

// Statuses returns the names of all statuses.
func Statuses() []string {
	var names []string
	for _, s := range []Status{PendingInit, Running, Completed, Errored, Shutdown, NotFound} {
		names = append(names, string(s))
	}
	return names
}

// Ended reports whether no further activity is expected in status s.
func (s Status) Ended() bool {
	return s == Completed || s == Errored || s == Shutdown || s == NotFound
}

// A StatusSource is where a status was read.
type StatusSource string

// The sources, the most reliable first.
const (
	Protocol StatusSource = "protocol"       // the running tool
	Parent   StatusSource = "parent_rollout" // the parent's transcript
	Child    StatusSource = "child_rollout"  // the thread's own transcript
	Inferred StatusSource = "inferred"       // no record states it
)

// A State is a status with its evidence.
type State struct {
	Status   Status       `json:"status"`
	Source   StatusSource `json:"statusSource"`
	Evidence string       `json:"statusEvidence,omitempty"` // the record that the status was read from
	Waiting  string       `json:"waiting,omitempty"`        // what a person has to do before it continues
	At       time.Time    `json:"statusAt,omitzero"`        // time of that record

	// NoEnd reports that the thread is Completed only because nothing follows: the
	// format records no end of a turn, and may record a call after the text before it.
	NoEnd bool `json:"noEnd,omitempty"`

	// Reason is why a Observer concluded the status: handoff.ProcessGone, or
	// handoff.LastSeen.
	Reason string `json:"reason,omitempty"`
}

// Notices returns what somebody should know of the thread with a URI in this state.
func (s State) Notices(uri string) (list []handoff.Notice) {
	add := func(code handoff.NoticeCode, text, more string) {
		list = append(list, handoff.NewNotice(code, strings.TrimSuffix(text+": "+more, ": "), uri))
	}
	switch {
	case s.Status == Errored:
		add(handoff.NoticeSessionFailed, "ended with an error", s.Reason)
	case s.Waiting != "":
		add(handoff.NoticeWaitingForPerson, "waits for a person", s.Waiting)
	case s.Reason == handoff.ProcessGone:
		add(handoff.NoticeProcessGone, "its process ended in a turn", "")
	case s.Reason != "":
		add(handoff.NoticeSilent, "no activity", s.Reason)
	}
	return list
}

// ReadState returns a state that was read from a record of a transcript. The
// evidence is formatted from the remaining arguments.
func ReadState(s Status, source StatusSource, at time.Time, format string, args ...any) State {
	return State{Status: s, Source: source, Evidence: fmt.Sprintf(format, args...), At: at}
}

// Incomplete returns the state of a thread whose transcript can be read only up to
// the record that s was read from, so that more may follow.
func (s State) Incomplete() State {
	if s.Status != Completed && s.Status != PendingInit {
		return s
	}
	return ReadState(Running, Inferred, s.At, "the transcript is incomplete after: %s", s.Evidence)
}

const waitingForAnswer = "an answer to the question its last message ends with"

// WaitingFor returns what a thread waits for after it ended its turn with text:
// an answer if text ends with a question, else "".
func WaitingFor(text string) string {
	if strings.HasSuffix(strings.TrimSpace(text), "?") {
		return waitingForAnswer
	}
	return ""
}

// MergeStates returns the current state of a subagent from the records of its
// parent and from its own transcript. The parent's state wins, unless it is not
// final or the child's transcript continued after it.
func MergeStates(parent, child State) State {
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

// PendingCalls are the tool calls without a result, by ID, each with what a
// person has to do about it, if anything. The zero value is empty.
type PendingCalls map[string]string

// maxPending bounds the memory of calls that never return.
const maxPending = 1024

// Add adds a call. One without an ID is ignored.
func (p *PendingCalls) Add(id, waiting string) {
	if *p == nil {
		*p = PendingCalls{}
	}
	if id != "" && len(*p) < maxPending {
		(*p)[id] = waiting
	}
}

// Waiting returns what a person has to do before the calls can continue, "" if
// nothing.
func (p PendingCalls) Waiting() (waiting string) {
	for _, w := range slices.Sorted(maps.Values(p)) {
		waiting = cmp.Or(waiting, w)
	}
	return waiting
}
