package pipeline

import (
	"cmp"
	"fmt"
	"time"

	"github.com/agent-handoff/handoff"
)

// A History has the attempts of a run, oldest first.
type History struct {
	Issue    string     `json:"issue"`
	Attempts []Attempt  `json:"attempts"`
	Outdated []Outdated `json:"outdated,omitempty"` // files that are not the newest attempt
	Warnings []string   `json:"warnings,omitempty"`
}

// An Attempt is one attempt of a stage, as history shows it.
type Attempt struct {
	Stage   string       `json:"stage"`
	Attempt int          `json:"attempt"`       // from 1
	Ref     string       `json:"ref,omitempty"` // "" if it is not recorded
	Rev     int          `json:"rev,omitempty"` // revision of Ref, from 1
	ID      string       `json:"id,omitempty"`  // of its record
	Agent   string       `json:"agent"`
	Outcome string       `json:"outcome"`
	Gate    *GateVerdict `json:"gate,omitempty"` // when it was submitted, if that was recorded
	// the attempts it was made from: test#2, or test#? if that one is unknown
	Read    []string  `json:"read"`
	Assumed bool      `json:"assumed,omitempty"`  // Read is what was current when it was submitted
	At      time.Time `json:"createdAt,omitzero"` // when it was recorded
	Current bool      `json:"current"`            // the run's folder contains it
	Path    string    `json:"path,omitempty"`     // its file, if it is current
}

// An Outdated is a file in the folder of a run that has the content of an attempt
// before the newest: somebody took it back, or the process that submitted the
// newest was killed before it wrote the file.
type Outdated struct {
	Stage string `json:"stage"`
	Path  string `json:"path"`
	Ref   string `json:"ref"` // of the newest attempt
	Rev   int    `json:"rev"`
}

// String returns what is wrong with the file.
func (o Outdated) String() string {
	return fmt.Sprintf("%s has the content of an earlier attempt than %s@v%d, the newest", o.Path, o.Ref, o.Rev)
}

// Hint suggests to write the newest attempt.
func (o Outdated) Hint(issue string) handoff.Hint {
	return handoff.Suggest("write the newest attempt", handoff.ActionRewrite, issue, o.Stage)
}

// Settle suggests to accept or to withdraw an attempt, of several that compete.
func (e Attempt) Settle() []handoff.Hint {
	what := " the " + cmp.Or(e.Outcome, "result")
	return []handoff.Hint{handoff.Suggest("choose"+what, handoff.ActionAccept, e.ID),
		handoff.Suggest("reject"+what, handoff.ActionWithdraw, e.ID)}
}

// A Trace is the timeline of a run, as far as it is known.
type Trace struct {
	Issue   string         `json:"issue"`
	Stages  []StageTrace   `json:"stages"` // oldest first
	TotalMS int64          `json:"total_duration_ms"`
	Retries map[string]int `json:"retries"` // by stage
}

// A StageTrace is one attempt of a stage.
type StageTrace struct {
	Stage      string     `json:"stage"`
	Attempt    int        `json:"attempt"` // from 1
	Agent      string     `json:"agent"`
	StartedAt  *time.Time `json:"started_at"`  // null if it is unknown
	DurationMS *int64     `json:"duration_ms"` // null if it is unknown
	Result     string     `json:"result"`
	Artifact   string     `json:"artifact,omitempty"` // the file of this attempt, "" if a later one replaced it
}
