package progress

import (
	"encoding/json"
	"math"
	"path"
	"time"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/pipeline"
)

// TraceOf returns the timeline of a run. The durations add up to the total.
func TraceOf(p *contract.Pipeline, s State) pipeline.Trace {
	t := pipeline.Trace{Issue: s.Issue, Stages: []pipeline.StageTrace{}, Retries: map[string]int{}}
	count := map[string]int{}
	for i, a := range s.Attempts {
		count[a.Stage]++
		entry := pipeline.StageTrace{Stage: a.Stage, Attempt: count[a.Stage], Agent: a.Agent, Result: a.Outcome}
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
			t.Stages = append(t.Stages, pipeline.StageTrace{Stage: stage.Name, Attempt: 1, Agent: a.Agent, Result: a.Outcome,
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
