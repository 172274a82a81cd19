// Package compare shows how two executions of a workflow differ: in what they
// left, what they were given, and how long they took.
package compare

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session"
	"github.com/agent-handoff/handoff/internal/session/manifest"
)

// A Comparison has two sessions side by side.
type Comparison struct {
	Before  Side     `json:"before"`
	After   Side     `json:"after"`
	Outputs []Output `json:"outputs"` // sorted by file
	Inputs  []Input  `json:"inputs"`  // sorted by name
}

// A Side is one of the sessions.
type Side struct {
	ID         string                  `json:"id"`
	Agent      handoff.SessionAgent    `json:"agent,omitzero"`
	Workflow   handoff.SessionWorkflow `json:"workflow,omitzero"`
	Execution  int                     `json:"execution,omitempty"`
	Status     string                  `json:"status"`
	OpenedAt   time.Time               `json:"startedAt,omitzero"`
	ClosedAt   time.Time               `json:"completedAt,omitzero"`
	DurationMS *int64                  `json:"durationMs,omitempty"` // from its start to its end, nil if it is not known
}

// A Change is what happened to a value between the sessions.
type Change string

// The changes of an output or an input.
const (
	Added   Change = "added"
	Removed Change = "removed"
	Changed Change = "changed"
	Same    Change = "same"
	Unknown Change = "unknown" // of an output without a digest
)

// An Output is a file that at least one of the sessions left in its folder.
type Output struct {
	File   string  `json:"file"`
	Change Change  `json:"change"`
	Before *Digest `json:"before,omitempty"`
	After  *Digest `json:"after,omitempty"`
}

// A Digest identifies the content of an output: that of its newest artifact that
// is not withdrawn.
type Digest struct {
	ArtifactID string         `json:"artifactId"`
	Digest     handoff.Digest `json:"digest,omitzero"`
	SizeBytes  *int64         `json:"sizeBytes,omitempty"`
}

// An Input is an input that at least one of the sessions had.
type Input struct {
	Name   string          `json:"name"`
	Change Change          `json:"change"`
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// Sessions compares two sessions or runs, at the time now as the observer sees
// them. Error kind: NotFound.
func Sessions(ctx context.Context, ss *session.Sessions, before, after string, o session.Observer,
	now time.Time) (Comparison, error) {
	c := Comparison{Outputs: []Output{}, Inputs: []Input{}}
	first, left, err := ss.Read(ctx, before)
	if err != nil {
		return c, err
	}
	second, right, err := ss.Read(ctx, after)
	if err != nil {
		return c, err
	}
	if c.Before, err = side(ctx, ss, first, o, now); err != nil {
		return c, err
	}
	if c.After, err = side(ctx, ss, second, o, now); err != nil {
		return c, err
	}
	c.Inputs = inputs(first.Inputs, second.Inputs)
	c.Outputs = outputs(digests(first, left), digests(second, right))
	return c, nil
}

func side(ctx context.Context, ss *session.Sessions, s handoff.Session, o session.Observer, now time.Time) (Side,
	error) {
	v, err := ss.View(ctx, s, o, now)
	d := Side{ID: s.ID, Agent: s.Agent, Workflow: s.Workflow, Execution: s.Execution, Status: v.Status,
		OpenedAt: s.OpenedAt, ClosedAt: s.ClosedAt}
	if s.Closed != 0 && !s.OpenedAt.IsZero() && !s.ClosedAt.Before(s.OpenedAt) { // a clock may jump
		ms := s.ClosedAt.Sub(s.OpenedAt).Milliseconds()
		d.DurationMS = &ms
	}
	return d, err
}

// digests returns the content of each output of a session, by file.
func digests(s handoff.Session, artifacts []handoff.Artifact) map[string]Digest {
	m := map[string]Digest{}
	slices.SortFunc(artifacts, func(a, b handoff.Artifact) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, a := range artifacts {
		if file, inside := manifest.FileOf(s, a); inside && a.Status != handoff.Withdrawn {
			m[file] = Digest{a.ID, a.Digest, a.SizeBytes}
		}
	}
	return m
}

func outputs(before, after map[string]Digest) []Output {
	list := []Output{}
	for _, file := range keys(before, after) {
		o := Output{File: file, Change: Changed}
		old, had := before[file]
		now, has := after[file]
		if had {
			o.Before = &old
		}
		if has {
			o.After = &now
		}
		switch {
		case !had:
			o.Change = Added
		case !has:
			o.Change = Removed
		case old.SizeBytes != nil && now.SizeBytes != nil && *old.SizeBytes != *now.SizeBytes:
		case old.Digest == handoff.Digest{} || now.Digest == handoff.Digest{}:
			o.Change = Unknown
		case old.Digest == now.Digest:
			o.Change = Same
		}
		list = append(list, o)
	}
	return list
}

func inputs(before, after map[string]json.RawMessage) []Input {
	list := []Input{}
	for _, name := range keys(before, after) {
		in := Input{Name: name, Change: Changed, Before: before[name], After: after[name]}
		switch {
		case in.Before == nil:
			in.Change = Added
		case in.After == nil:
			in.Change = Removed
		case equal(in.Before, in.After):
			in.Change = Same
		}
		list = append(list, in)
	}
	return list
}

// equal reports whether two JSON texts have the same value.
func equal(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// keys returns the keys of two maps, sorted.
func keys[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]V{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}
