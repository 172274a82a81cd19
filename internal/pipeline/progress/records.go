package progress

import (
	"context"
	"encoding/json"
	"io"
	"path"
	"slices"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/gate"
	"github.com/agent-handoff/handoff/jsonschema"
	"github.com/agent-handoff/handoff/pipeline"
)

// records returns all records in an issue's namespace, oldest first.
func (r *Runs) records(ctx context.Context, issue string) ([]handoff.Artifact, error) {
	page, err := r.Hub.Artifacts(ctx, handoff.ArtifactQuery{Namespace: issue, IncludeInactive: true})
	slices.Reverse(page.Artifacts)
	return page.Artifacts, err
}

// addRecords adds the attempts in records to a state.
func (r *Runs) addRecords(ctx context.Context, s *State, records []handoff.Artifact) {
	var attempts []Attempt
	var before time.Time
	revisions := map[string]int{}
	for _, record := range records {
		revisions[record.Name]++
		if record.Path != path.Join(s.Folder, record.Name) || record.Root != "" {
			continue
		}
		rejected := record.Status == handoff.Withdrawn || record.Reason == handoff.NotChosen
		stage, err := r.Pipeline.Stage(record.Name)
		if err != nil && record.Name == contract.StateFile && !rejected {
			s.NoteAttempts = append(s.NoteAttempts,
				Attempt{Stage: contract.State, ID: record.ID, Digest: record.Digest.Value, Agent: record.Record.Producer.Agent,
					At: record.CreatedAt, Ref: record.Namespace + "/" + record.Name, Revision: revisions[record.Name]})
		}
		if err != nil || !stage.Owns(record.Name) {
			continue
		}
		a := r.attempt(ctx, stage, record)
		if stage.IsPattern() && a.Digest == "" {
			continue // an edit of one file, which has no attempt of its own
		}
		if stage.IsPattern() {
			a.carry(record.Name, attempts)
		}
		a.Ref, a.Revision = record.Namespace+"/"+record.Name, revisions[record.Name]
		if rejected {
			if !slices.ContainsFunc(s.Rejected, a.sameSet) {
				s.Rejected = append(s.Rejected, a)
			}
			continue
		}
		if a.Adopted {
			if at := s.last(a.Stage); at >= 0 { // in the run's own trace
				a.Started, a.Took = s.Attempts[at].Started, s.Attempts[at].Took
			}
		} else if a.Started = r.started(ctx, record.Record.Producer, before); !a.Started.IsZero() {
			a.Took = max(0, a.At.Sub(a.Started))
		}
		for _, from := range attempts {
			if slices.Contains(record.Parents, from.ID) && (from.ids == nil || a.Read[from.Stage] == from.Digest) {
				a.From[from.Stage] = from.ID
			}
		}
		before = a.At
		if at := slices.IndexFunc(attempts, a.sameSet); at >= 0 {
			attempts[at] = a
		} else {
			attempts = append(attempts, a)
		}
	}
	if len(attempts) > 0 {
		s.Attempts = attempts
		s.addUnrecorded(r.Pipeline)
	}
	s.addOutdated(r.Pipeline)
	s.accept()
	s.addOutcomes(r.Pipeline)
	r.addWaits(ctx, s)
}

// addOutcomes gives artifacts that are not JSON the outcome that was recorded with them.
func (s *State) addOutcomes(p *contract.Pipeline) {
	for _, stage := range p.Stages {
		out, ok := s.Outputs[stage.Name]
		at := s.last(stage.Name)
		if ok && at >= 0 && !stage.IsJSON() && s.Attempts[at].Digest == out.Digest && s.Attempts[at].Outcome != "" {
			out.Report.Value = map[string]any{contract.OutcomeField: s.Attempts[at].Outcome}
			s.Outputs[stage.Name] = out
		}
	}
}

// accept turns the errors of artifacts that were recorded as they are into
// warnings.
func (s *State) accept() {
	for name, out := range s.Outputs {
		if at := s.last(name); at >= 0 && s.Attempts[at].Lenient && s.Attempts[at].Digest == out.Digest {
			out.Accepted = out.Report.Value != nil
			out.Report = lenient(out.Report)
			s.Outputs[name] = out
		}
	}
}

// lenient returns a report without errors, unless the artifact is not a JSON
// object.
func lenient(r pipeline.Report) pipeline.Report {
	if r.Value != nil {
		r.Warnings = jsonschema.Sort(append(slices.Clone(r.Warnings), r.Errors...))
		r.Errors = []jsonschema.Problem{}
	}
	return r
}

// recorded returns what the metadata of a record say about its attempt, if they do.
func recorded(record handoff.Artifact) (a Attempt, ok bool) {
	if err := json.Unmarshal(record.Metadata, &a); err != nil || a.Stage == "" {
		return Attempt{}, false
	}
	return a, true
}

// attempt returns the attempt that a record describes. If the record has no
// metadata, because the file was in the folder before it was recorded, the
// attempt is described by its content.
func (r *Runs) attempt(ctx context.Context, stage *contract.Stage, record handoff.Artifact) Attempt {
	a, known := recorded(record)
	a.Stage, a.ID, a.Digest = stage.Name, record.ID, record.Digest.Value
	a.Agent, a.At, a.From = record.Record.Producer.Agent, record.CreatedAt, map[string]string{}
	a.Writer, a.Work = fold.WriterOf(record.Record.Producer), fold.WorkOf(&record.ArtifactPublished)
	if len(record.StaleInputs) > 0 {
		a.Stale = record.StaleInputs[0].String()
	}
	a.Decisions = decisionsAbout(record)
	if known {
		if stage.IsPattern() {
			a.Digest = setDigest(a.Files)
		} else {
			a.Files = nil
		}
		return a
	}
	if a.Adopted = true; stage.IsPattern() {
		a.Digest = ""
		return a
	}
	body, err := r.Hub.Open(ctx, record.ID)
	if err != nil {
		return a
	}
	defer body.Close()
	if b, err := io.ReadAll(io.LimitReader(body, contract.MaxArtifact+1)); err == nil {
		own := attemptOf(stage.Name, gate.Output{Report: stage.Validate(b)})
		a.Agent, a.Outcome, a.Tier = own.Agent, own.Outcome, own.Tier
	}
	return a
}

// decisionsAbout returns what was decided about a recorded attempt.
func decisionsAbout(record handoff.Artifact) (list []string) {
	for _, review := range record.Reviews {
		if review.Decision != handoff.Commented {
			list = append(list, review.String())
		}
	}
	if record.Acceptance != nil {
		list = append(list, "accepted")
	}
	switch {
	case record.Reason == handoff.NotChosen:
		list = append(list, "not chosen")
	case record.Status == handoff.Withdrawn:
		list = append(list, "withdrawn")
	}
	return list
}

// started returns when work on an attempt started: when the run or session of
// its agent was opened or when the attempt before it was recorded, whichever is
// later. It is zero if neither is known.
func (r *Runs) started(ctx context.Context, p handoff.Producer, before time.Time) time.Time {
	for _, id := range []string{p.RunID, p.Session} {
		if id == "" {
			continue
		}
		if s, err := r.Hub.Session(ctx, id); err == nil && s.OpenedAt.After(before) {
			return s.OpenedAt
		}
	}
	return before
}
