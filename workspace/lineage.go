package workspace

import (
	"context"
	"errors"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/lineage"
)

// Lineage returns what an artifact was made from and what was made from it, as
// far as records say.
//
// Kinds: those of Resolve.
func (w *Workspace) Lineage(ctx context.Context, ref string) (id string, g lineage.Graph, err error) {
	if id, err = w.Resolve(ctx, ref); err != nil {
		return "", lineage.Graph{}, err
	}
	g, err = lineage.Of(ctx, w.c.Anonymous, id)
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
	list, err := lineage.History(ctx, w.c.Anonymous, id)
	w.attribution(w.threads).Attribute(ctx, list...)
	return Revisions{list}, err
}

// Revisions are the revisions of one artifact.
type Revisions struct {
	Artifacts []handoff.Artifact `json:"artifacts"`
}

// How many artifacts of a session, or of the workspace, a Surrounding starts from.
const (
	sessionStarts   = 200
	workspaceStarts = 40
)

// Surrounding returns the artifacts that are some links away from a focus: an
// artifact, the artifacts of a session or run, or, if the ref is empty, the newest
// active artifacts of the workspace.
//
// Kinds: those of Show.
func (w *Workspace) Surrounding(ctx context.Context, ref string, o lineage.NearOptions) (lineage.Surrounding, error) {
	id, session, err := w.focus(ctx, ref)
	if err != nil {
		return lineage.Surrounding{}, err
	}
	ids := []string{id}
	if id == "" || session {
		q := handoff.ArtifactQuery{Limit: workspaceStarts}
		if session {
			q = handoff.ArtifactQuery{Producer: map[string]string{"session": id}, IncludeInactive: true, Limit: sessionStarts}
		}
		page, err := w.c.Anonymous.Artifacts(ctx, q)
		if err != nil {
			return lineage.Surrounding{}, err
		}
		ids = nil
		for _, a := range page.Artifacts {
			ids = append(ids, a.ID)
		}
	}
	if _, err := w.c.Anonymous.Newest(ctx); err != nil { // which brings the index up to the log
		return lineage.Surrounding{}, err
	}
	s, err := lineage.Near(ctx, w.c.Index, ids, o) // the hub would look for the file of each
	if err == nil {
		err = w.attribution(w.threads).AttributeNodes(ctx, s.Nodes)
	}
	s.ID, s.Session = id, session
	return s, err
}

// focus returns the ID of the artifact or session that a ref names.
func (w *Workspace) focus(ctx context.Context, ref string) (id string, session bool, err error) {
	if ref == "" || w.c.IsSession(ctx, ref) {
		return ref, ref != "", nil
	}
	id, err = w.Resolve(ctx, ref)
	if errors.Is(err, handoff.NotFound) {
		if s, sessionErr := w.sessions.Resolve(ctx, ref, w.c.Dir); sessionErr == nil {
			return s.ID, true, nil
		}
	}
	return id, false, err
}
