package progress

import (
	"encoding/json"
	"math"
	"path"
	"time"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
)

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
