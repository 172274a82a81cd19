package pipeline

import (
	"encoding/json"
	"math"
	"path"
	"time"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
)

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

// TraceOf returns the timeline of a run. The durations add up to the total.
func TraceOf(p *contract.Pipeline, s State) Trace {
	t := Trace{Issue: s.Issue, Stages: []StageTrace{}, Retries: map[string]int{}}
	count := map[string]int{}
	for i, a := range s.Attempts {
		count[a.Stage]++
		entry := StageTrace{Stage: a.Stage, Attempt: count[a.Stage], Agent: a.Agent, Result: a.Outcome}
		if !a.Started.IsZero() {
			entry.StartedAt = &a.Started
		}
		if ms := a.Took.Milliseconds(); a.Took > 0 {
			entry.DurationMS = &ms
			t.TotalMS += ms
		}
		if s.isCurrent(i) {
			entry.Artifact = s.Outputs[a.Stage].File
		}
		t.Stages = append(t.Stages, entry)
		if a.Outcome != "escalate" && count[a.Stage] > 1 && !s.isRival(i) {
			t.Retries[a.Stage]++
		}
	}
	for _, stage := range p.Stages {
		if out, ok := s.Outputs[stage.Name]; ok && count[stage.Name] == 0 {
			a := attemptOf(stage.Name, out)
			t.Stages = append(t.Stages, StageTrace{Stage: stage.Name, Attempt: 1, Agent: a.Agent, Result: a.Outcome,
				Artifact: out.File})
		}
	}
	return t
}

// tracedAttempts returns the attempts in a run's own trace file, except those of
// stages that are not in the pipeline.
func tracedAttempts(p *contract.Pipeline, b []byte) []Attempt {
	var file struct {
		Stages []map[string]any `json:"stages"`
	}
	if json.Unmarshal(b, &file) != nil {
		return nil
	}
	var attempts []Attempt
	for _, item := range file.Stages {
		stage, err := p.Stage(contract.Text(item["stage"]))
		if err != nil {
			if stage, err = p.Stage(path.Base(contract.Text(item["artifact"]))); err != nil {
				continue
			}
		}
		a := Attempt{Stage: stage.Name, Agent: contract.Text(item["agent"]), Outcome: contract.Text(item["result"]),
			Tier: contract.Text(item["tier_used"])}
		if ms, ok := item["duration_ms"].(float64); ok && ms > 0 && ms < math.MaxInt64/float64(time.Second) {
			a.Took = time.Duration(ms) * time.Millisecond
		}
		if at, err := time.Parse(time.RFC3339, contract.Text(item["started_at"])); err == nil {
			a.Started = at
		}
		attempts = append(attempts, a)
	}
	return attempts
}
