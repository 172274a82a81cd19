package lineage

import (
	"context"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/order"
)

// History returns every revision of an artifact, oldest first: its family, and
// the artifacts with the same name in its namespace. Error kind: NotFound.
func History(ctx context.Context, reader handoff.Reader, id string) ([]handoff.Artifact, error) {
	a, err := reader.Artifact(ctx, id)
	if err != nil {
		return nil, err
	}
	queries := []handoff.ArtifactQuery{{Family: id, IncludeInactive: true}}
	if a.Name != "" {
		queries = append(queries, handoff.ArtifactQuery{Namespace: a.Namespace, Name: a.Name, IncludeInactive: true})
	}
	var list []handoff.Artifact
	for _, q := range queries {
		page, err := reader.Artifacts(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, b := range page.Artifacts {
			if !slices.ContainsFunc(list, func(c handoff.Artifact) bool { return c.ID == b.ID }) {
				list = append(list, b)
			}
		}
	}
	order.Sort(list, func(a, b handoff.Artifact) int { return int(a.Seq - b.Seq) })
	return list, nil
}
