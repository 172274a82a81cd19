package workspace

import (
	"context"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/lineage"
)

// A Graph shows how artifacts, or sessions, were made from each other. It can be
// written as a tree, as Graphviz DOT and as a Mermaid flowchart.
type Graph = lineage.Graph

// Lineage returns what an artifact was made from and what was made from it, as
// far as records say.
//
// Kinds: those of Resolve.
func (w *Workspace) Lineage(ctx context.Context, ref string) (id string, g Graph, err error) {
	if id, err = w.Resolve(ctx, ref); err != nil {
		return "", Graph{}, err
	}
	g, err = lineage.Of(ctx, w.hub, id)
	return id, g, err
}

// History returns every revision of an artifact, oldest first: what it replaced,
// what replaced it, and what had its name.
//
// Kinds: those of Resolve.
func (w *Workspace) History(ctx context.Context, ref string) (Revisions, error) {
	id, err := w.Resolve(ctx, ref)
	if err != nil {
		return Revisions{}, err
	}
	list, err := lineage.History(ctx, w.hub, id)
	return Revisions{list}, err
}

// Revisions are the revisions of one artifact.
type Revisions struct {
	Artifacts []handoff.Artifact `json:"artifacts"`
}
