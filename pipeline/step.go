package pipeline

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
)

// A Step is the next step of a run.
type Step struct {
	Stage  string   `json:"stage"`  // "" if there is nothing to write
	Agent  string   `json:"agent"`  // who acts next; "human" is a person, "" nobody
	Reads  []string `json:"reads"`  // the paths to read
	Writes string   `json:"writes"` // the path to write

	// what the agent is given, for put; "" if there is nothing to write
	Ticket string `json:"ticket,omitempty"`

	// the path of a review that failed and led to this step, if the agent does not read it otherwise
	Findings string `json:"findings,omitempty"`

	// Decide are the results of different writers for one attempt, of which all but one
	// have to be withdrawn first.
	Decide []Attempt `json:"decide,omitempty"`

	// Open is the work for Ticket that was started and has not ended.
	Open []handoff.Work `json:"open,omitempty"`

	// Needs are the stages whose artifacts Stage is made from.
	Needs []string `json:"needs,omitempty"`

	// Parallel are the steps that can be taken at the same time.
	Parallel []Step `json:"parallel,omitempty"`

	Reason string   `json:"reason"`
	Tier   string   `json:"tier,omitempty"` // the tier to work in, after an escalation
	Done   bool     `json:"done"`
	Notes  []string `json:"notes,omitempty"` // assumptions about the order of files

	Outdated []Outdated `json:"outdated,omitempty"` // files that are not the newest attempt
	Warnings []string   `json:"warnings,omitempty"` // of a start
}

// MarshalJSON returns a step whose stage, agent and writes are null if there are
// none, so that its keys do not depend on the step.
func (s Step) MarshalJSON() ([]byte, error) {
	known := func(text string) *string {
		if text == "" {
			return nil
		}
		return &text
	}
	return handoff.EncodeJSON(encodedStep{known(s.Stage), known(s.Agent), known(s.Agent), known(s.Writes), rest(s)})
}

// An encodedStep is a step as JSON.
type encodedStep struct {
	Stage  *string `json:"stage"`
	Agent  *string `json:"agent"`
	By     *string `json:"by"` // the agent, as a definition calls it
	Writes *string `json:"writes"`
	rest
}

// rest is a Step without its MarshalJSON.
type rest Step

// JSONParts returns the structs whose members the JSON of a step has.
func (Step) JSONParts() []any { return []any{encodedStep{}} }

// String returns the step as lines, each a label and a value.
func (s Step) String() string {
	agent := s.Agent
	if s.Done {
		agent = "none: the run is done"
	}
	var b strings.Builder
	for _, line := range [][2]string{
		{"by", agent}, {"stage", s.Stage}, {"needs", strings.Join(s.Needs, " ")}, {"tier", s.Tier},
		{"reads", strings.Join(s.Reads, " ")},
		{"review", s.Findings}, {"writes", s.Writes}, {"ticket", s.Ticket}, {"why", s.Reason},
		{"note", strings.Join(s.Notes, "; ")},
	} {
		if line[1] != "" {
			fmt.Fprintf(&b, "%-6s  %s\n", line[0], strings.ReplaceAll(line[1], "\n", " "))
		}
	}
	for _, o := range s.Open {
		fmt.Fprintf(&b, "open    %s\n", DescribeWork(o))
	}
	for _, p := range s.Parallel {
		fmt.Fprintf(&b, "also    %s  %s  %s\n", p.Agent, p.Stage, strings.ReplaceAll(p.Reason, "\n", " "))
		for _, o := range p.Open {
			fmt.Fprintf(&b, "        open %s\n", DescribeWork(o))
		}
	}
	for _, c := range s.Decide {
		fmt.Fprintf(&b, "decide  %s@v%d  %s  %s\n", c.Ref, c.Rev, c.ID, c.Outcome)
	}
	return b.String()
}

// DescribeWork returns who does work, since when, and its ID.
func DescribeWork(w handoff.Work) string {
	by := cmp.Or(w.Agent, "an agent without a name")
	if in := cmp.Or(w.RunID, w.SessionID, w.Thread); in != "" {
		by += " in " + in
	}
	return fmt.Sprintf("%s since %s  %s", by, w.StartedAt.UTC().Format(time.RFC3339), w.ID)
}
