package localstate

import (
	"context"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/sqlindex"
)

// CountByChannel returns the number of artifacts that q selects in each channel.
func (x *Index) CountByChannel(ctx context.Context, q handoff.ArtifactQuery) (map[string]int, error) {
	return askQueued(ctx, x, func(at handoff.Index) (map[string]int, error) {
		if file, ok := at.(*sqlindex.Index); ok {
			return file.CountByChannel(ctx, q)
		}
		q.Limit, q.Cursor = 0, ""
		page, err := at.Artifacts(ctx, q)
		counts := map[string]int{}
		for _, a := range page.Artifacts {
			counts[a.Channel]++
		}
		return counts, err
	}, nil)
}

// CountIn returns how many active artifacts were published in each of some sessions or runs.
func (x *Index) CountIn(ctx context.Context, ids []string) (map[string]int, error) {
	return askQueued(ctx, x, func(at handoff.Index) (map[string]int, error) {
		if file, ok := at.(*sqlindex.Index); ok {
			return file.CountIn(ctx, ids)
		}
		counts := map[string]int{}
		for _, id := range ids {
			for _, place := range []string{"session", "run"} {
				page, err := at.Artifacts(ctx, handoff.ArtifactQuery{Producer: map[string]string{place: id}})
				if err != nil {
					return nil, err
				}
				counts[id] += len(page.Artifacts)
			}
		}
		return counts, nil
	}, nil)
}

// Threaded is that of sqlindex.
func (x *Index) Threaded(ctx context.Context, most int) ([]handoff.Artifact, error) {
	return askQueued(ctx, x, func(at handoff.Index) (list []handoff.Artifact, err error) {
		if file, ok := at.(*sqlindex.Index); ok {
			return file.Threaded(ctx, most)
		}
		page, err := at.Artifacts(ctx, handoff.ArtifactQuery{IncludeInactive: true, Limit: most})
		return slices.DeleteFunc(page.Artifacts, func(a handoff.Artifact) bool { return a.Producer.Thread == "" }), err
	}, nil)
}

// AgentsOf is that of sqlindex.
func (x *Index) AgentsOf(ctx context.Context, ids, threads, calls []string) (map[string]string, error) {
	return askQueued(ctx, x, func(at handoff.Index) (map[string]string, error) {
		if file, ok := at.(*sqlindex.Index); ok {
			return file.AgentsOf(ctx, ids, threads, calls)
		}
		queries := []handoff.ArtifactQuery{{IDs: append([]string{}, ids...)}}
		for slot, values := range map[string][]string{"thread": threads, "tool-call": calls} {
			for _, v := range values {
				queries = append(queries, handoff.ArtifactQuery{Producer: map[string]string{slot: v}})
			}
		}
		agents := map[string]string{}
		for _, q := range queries {
			q.IncludeInactive = true
			page, err := at.Artifacts(ctx, q)
			if err != nil {
				return nil, err
			}
			for _, a := range page.Artifacts {
				agents[a.ID] = a.Producer.Agent
			}
		}
		return agents, nil
	}, nil)
}
