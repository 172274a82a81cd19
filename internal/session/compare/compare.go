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
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/internal/session/manifest"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/session"
)

// Sessions compares two sessions or runs, at the time now as the observer sees
// them. Error kind: NotFound.
func Sessions(ctx context.Context, ss *lifecycle.Sessions, before, after string, o lifecycle.Observer,
	now time.Time) (session.Comparison, error) {
	c := session.Comparison{Outputs: []session.ComparedOutput{}, Inputs: []session.ComparedInput{}}
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

func side(ctx context.Context, ss *lifecycle.Sessions, s handoff.Session, o lifecycle.Observer,
	now time.Time) (session.ComparedSide,
	error) {
	v, err := ss.View(ctx, s, o, now)
	d := session.ComparedSide{ID: s.ID, Agent: s.Agent, Workflow: s.Workflow, Execution: s.Execution, Status: v.Status,
		OpenedAt: s.OpenedAt, ClosedAt: s.ClosedAt}
	if s.Closed != 0 && !s.OpenedAt.IsZero() && !s.ClosedAt.Before(s.OpenedAt) { // a clock may jump
		ms := s.ClosedAt.Sub(s.OpenedAt).Milliseconds()
		d.DurationMS = &ms
	}
	return d, err
}

// digests returns the content of each output of a session, by file.
func digests(s handoff.Session, artifacts []handoff.Artifact) map[string]session.ComparedDigest {
	m := map[string]session.ComparedDigest{}
	order.Sort(artifacts, func(a, b handoff.Artifact) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, a := range artifacts {
		if file, inside := manifest.FileOf(s, a); inside && a.Status != handoff.Withdrawn {
			m[file] = session.ComparedDigest{ArtifactID: a.ID, Digest: a.Digest, SizeBytes: a.SizeBytes}
		}
	}
	return m
}

func outputs(before, after map[string]session.ComparedDigest) []session.ComparedOutput {
	list := []session.ComparedOutput{}
	for _, file := range keys(before, after) {
		o := session.ComparedOutput{File: file, Change: session.Changed}
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
			o.Change = session.Added
		case !has:
			o.Change = session.Removed
		case old.SizeBytes != nil && now.SizeBytes != nil && *old.SizeBytes != *now.SizeBytes:
		case old.Digest == handoff.Digest{} || now.Digest == handoff.Digest{}:
			o.Change = session.Unknown
		case old.Digest == now.Digest:
			o.Change = session.Same
		}
		list = append(list, o)
	}
	return list
}

func inputs(before, after map[string]json.RawMessage) []session.ComparedInput {
	list := []session.ComparedInput{}
	for _, name := range keys(before, after) {
		in := session.ComparedInput{Name: name, Change: session.Changed, Before: before[name], After: after[name]}
		switch {
		case in.Before == nil:
			in.Change = session.Added
		case in.After == nil:
			in.Change = session.Removed
		case equal(in.Before, in.After):
			in.Change = session.Same
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
