package pipeline

import (
	"encoding/json"
	"math"
	"path"
	"strconv"
	"time"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
)

// A Trace is what is known of how a run went.
type Trace struct {
	Issue   string         `json:"issue"`
	Stages  []StageTrace   `json:"stages"` // in the order in which they happened, as far as it is known
	TotalMS int64          `json:"total_duration_ms"`
	Retries map[string]int `json:"retries"` // by stage: how often it was done again
}

// A StageTrace is one attempt of a stage.
type StageTrace struct {
	Stage      string     `json:"stage"`
	Attempt    int        `json:"attempt"` // from 1
	Agent      string     `json:"agent"`
	StartedAt  *time.Time `json:"started_at"`  // null where it isn't known
	DurationMS *int64     `json:"duration_ms"` // null where it isn't known
	Result     string     `json:"result"`
	Artifact   string     `json:"artifact,omitempty"` // the file that holds this attempt, "" where a later one took its place
}

// TraceOf returns how a run went. The durations add up to the total.
func TraceOf(p *contract.Pipeline, s State) Trace {
	t := Trace{Issue: s.Issue, Stages: []StageTrace{}, Retries: map[string]int{}}
	count, stands := map[string]int{}, s.stands()
	for i, w := range s.Writes {
		count[w.Stage]++
		at := StageTrace{Stage: w.Stage, Attempt: count[w.Stage], Agent: w.Agent, Result: w.Outcome}
		if !w.Started.IsZero() {
			at.StartedAt = &w.Started
		}
		if ms := w.Took.Milliseconds(); w.Took > 0 {
			at.DurationMS = &ms
			t.TotalMS += ms
		}
		if stands[i] {
			at.Artifact = s.Outputs[w.Stage].File
		}
		t.add(p, at)
		if w.Outcome != "escalate" && count[w.Stage] > 1 {
			t.Retries[w.Stage]++
		}
	}
	for _, stage := range p.Stages {
		if out, there := s.Outputs[stage.Name]; there && count[stage.Name] == 0 {
			w := s.write(stage.Name, out)
			t.add(p, StageTrace{Stage: stage.Name, Attempt: 1, Agent: w.Agent, Result: w.Outcome, Artifact: out.File})
		}
	}
	return t
}

// Rows are the attempts as cells of a table: stage, attempt, agent, result,
// start, duration, file.
func (t Trace) Rows() [][]string {
	var rows [][]string
	for _, s := range t.Stages {
		started, took := "unknown", "unknown"
		if s.StartedAt != nil {
			started = s.StartedAt.Format(time.RFC3339)
		}
		if s.DurationMS != nil {
			took = (time.Duration(*s.DurationMS) * time.Millisecond).String()
		}
		rows = append(rows, []string{s.Stage, strconv.Itoa(s.Attempt), s.Agent, s.Result, started, took, s.Artifact})
	}
	return rows
}

// add adds an attempt; where nobody says who made it, it was the stage's writer.
func (t *Trace) add(p *contract.Pipeline, at StageTrace) {
	if stage, err := p.Stage(at.Stage); err == nil && at.Agent == "" {
		at.Agent = stage.Writer
	}
	t.Stages = append(t.Stages, at)
}

// tracedWrites are the attempts that a run's own trace lists. What it says of
// stages that the pipeline hasn't is left out.
func tracedWrites(p *contract.Pipeline, b []byte) []Write {
	var file struct {
		Stages []map[string]any `json:"stages"`
	}
	if json.Unmarshal(b, &file) != nil {
		return nil
	}
	var writes []Write
	for _, item := range file.Stages {
		stage, err := p.Stage(text(item["stage"]))
		if err != nil {
			if stage, err = p.Stage(path.Base(text(item["artifact"]))); err != nil {
				continue
			}
		}
		w := Write{Stage: stage.Name, Agent: text(item["agent"]), Outcome: text(item["result"]), Tier: text(item["tier_used"])}
		if ms, ok := item["duration_ms"].(float64); ok && ms > 0 && ms < math.MaxInt64/float64(time.Second) {
			w.Took = time.Duration(ms) * time.Millisecond
		}
		if at, err := time.Parse(time.RFC3339, text(item["started_at"])); err == nil {
			w.Started = at
		}
		writes = append(writes, w)
	}
	return writes
}
