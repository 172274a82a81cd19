package brief

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/thread"
)

// The limits of what is read of a log.
const (
	maxArtifacts = 50
	maxAgents    = 20 // subagents whose artifacts are asked for
)

// recorded is what the log shows of a thread.
type recorded struct {
	artifacts []handoff.Artifact // that it and its subagents published, the newest first
	handOver  *handoff.Artifact  // the newest active one of its main agent in HandOverChannel
	text      string             // of the hand-over, "" if it can't be read
}

// log returns what the log shows of a thread. Records without a thread count if the output of a
// call that published has their IDs.
func (s Source) log(ctx context.Context, v *thread.View, f facts) (r recorded, err error) {
	if s.Hub == nil {
		return r, nil
	}
	uri := v.URI.Main().String()
	var queries []handoff.ArtifactQuery
	of := func(u thread.URI) {
		queries = append(queries, handoff.ArtifactQuery{Producer: map[string]string{"thread": u.String()}})
	}
	of(v.URI.Main())
	for _, a := range v.Agents[:min(len(v.Agents), maxAgents)] {
		if of(a.URI); a.Thread != nil {
			of(a.Thread.URI()) // of some programs, records have this one
		}
	}
	if len(f.artifacts) > 0 {
		queries = append(queries, handoff.ArtifactQuery{IDs: f.artifacts})
	}
	for _, q := range queries {
		q.IncludeInactive, q.Limit = true, maxArtifacts
		page, err := s.Hub.Artifacts(ctx, q)
		if err != nil {
			return r, err
		}
		r.artifacts = append(r.artifacts, page.Artifacts...)
	}
	order.Sort(r.artifacts, func(a, b handoff.Artifact) int {
		return cmp.Or(cmp.Compare(b.Seq, a.Seq), cmp.Compare(b.ID, a.ID))
	})
	r.artifacts = slices.CompactFunc(r.artifacts, func(a, b handoff.Artifact) bool { return a.ID == b.ID })
	r.artifacts = r.artifacts[:min(len(r.artifacts), maxArtifacts)]
	for i, a := range r.artifacts {
		by := a.Producer.Thread == uri || (a.Producer.Thread == "" && slices.Contains(f.artifacts, a.ID))
		if by && a.Channel == HandOverChannel && a.Status == handoff.Active && !slices.Contains(a.Tags, SubagentTag) {
			r.handOver = &r.artifacts[i]
			r.text, err = s.read(ctx, a.ID)
			break
		}
	}
	return r, err
}

// read returns the beginning of what an artifact published, "" if that can't be read.
func (s Source) read(ctx context.Context, id string) (string, error) {
	content, err := s.Hub.Open(ctx, id)
	if errors.Is(err, handoff.Unavailable) || errors.Is(err, handoff.Unsupported) || errors.Is(err, handoff.Corrupt) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer content.Close()
	b, err := io.ReadAll(io.LimitReader(content, maxText+1))
	return cut(string(b), maxText, false), err
}
