package pipeline

import (
	"cmp"
	"fmt"
	"time"

	"github.com/agent-handoff/handoff"
)

// An Attempt is one attempt of a stage.
type Attempt struct {
	Stage   string       `json:"stage"`
	Attempt int          `json:"attempt"`       // from 1; 0 if it was rejected and does not count
	Ref     string       `json:"ref,omitempty"` // "" if it is not recorded
	Rev     int          `json:"rev,omitempty"` // revision of Ref, from 1
	ID      string       `json:"id,omitempty"`  // of its record
	Agent   string       `json:"agent"`
	Outcome string       `json:"outcome"`
	Gate    *GateVerdict `json:"gate,omitempty"` // when it was submitted, if that was recorded
	// the attempts it was made from: test#2, or test#? if that one is unknown
	Read    []string `json:"read"`
	Assumed bool     `json:"assumed,omitempty"` // Read is what was current when it was submitted

	// Decisions are what was decided about it: reviews, accepted, not chosen or withdrawn.
	Decisions []string `json:"decisions,omitempty"`

	StartedAt  time.Time `json:"startedAt,omitzero"`   // when its work started, zero if it is unknown
	DurationMS int64     `json:"durationMs,omitempty"` // 0 if it is unknown
	At         time.Time `json:"createdAt,omitzero"`   // when it was recorded
	Current    bool      `json:"current"`              // the run's folder contains it
	Path       string    `json:"path,omitempty"`       // its file, if it is current
}

// An Outdated is a file in the folder of a run that has the content of an attempt
// before the newest: somebody took it back, or the process that submitted the
// newest was killed before it wrote the file. It can also be the definition, pipeline.yaml, that
// was edited or removed: the recorded one counts.
type Outdated struct {
	Stage string `json:"stage"`
	Path  string `json:"path"`
	Ref   string `json:"ref"` // of the newest attempt
	Rev   int    `json:"rev"`
}

const definition = "pipeline.yaml"

// String returns what is wrong with the file.
func (o Outdated) String() string {
	if o.Stage == definition {
		return fmt.Sprintf("%s is not %s@v%d, the definition that was recorded and counts", o.Path, o.Ref, o.Rev)
	}
	return fmt.Sprintf("%s has the content of an earlier attempt than %s@v%d, the newest", o.Path, o.Ref, o.Rev)
}

// Hint suggests to write the newest attempt, or the definition.
func (o Outdated) Hint(issue string) handoff.Hint {
	if o.Stage == definition {
		return handoff.Suggest("read the recorded one", handoff.ActionRead, fmt.Sprintf("%s@v%d", o.Ref, o.Rev))
	}
	return handoff.Suggest("write the newest attempt", handoff.ActionRewrite, issue, o.Stage)
}

// Settle suggests to accept or to withdraw an attempt, of several that compete.
func (e Attempt) Settle() []handoff.Hint {
	what := " the " + cmp.Or(e.Outcome, "result")
	return []handoff.Hint{handoff.Suggest("choose"+what, handoff.ActionAccept, e.ID),
		handoff.Suggest("reject"+what, handoff.ActionWithdraw, e.ID)}
}
