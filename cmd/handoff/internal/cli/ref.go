package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/names"
	"github.com/agent-handoff/handoff/workspace"
)

// Resolve returns the id of the artifact that a person means by ref: its id, a
// beginning of it that no other has, run/name, or a name.
func (a *App) Resolve(ctx context.Context, w *workspace.Workspace, scope names.Scope, ref string) (string, error) {
	if handoff.IsArtifactID(ref) {
		return ref, nil
	}
	if handoff.IsArtifactIDPrefix(ref) {
		return ExpandID(ctx, w, ref)
	}
	found, err := names.Find(ctx, w, scope, ref)
	if err == nil && found.Unrecorded() {
		err = &handoff.Error{Op: "find", Name: ref, Kind: handoff.NotFound, Err: errors.New("lies at " + found.File + ", but no record tells of it"),
			Hint: handoff.Advice("handoff write " + ref + " " + found.File + " records it")}
	}
	return found.ID, err
}

// Here resolves a ref for whoever the environment says is at work.
func (a *App) Here(ctx context.Context, w *workspace.Workspace, ref string) (string, error) {
	return a.Resolve(ctx, w, a.Scope(ctx, w, a.Caller()), ref)
}

// ExpandID returns the one id of an artifact that begins so; several are a
// Conflict whose hint lists them.
func ExpandID(ctx context.Context, reader handoff.Reader, ref string) (string, error) {
	page, err := reader.Artifacts(ctx, handoff.ArtifactQuery{IDPrefix: ref, IncludeInactive: true, Limit: 6})
	if err != nil {
		return "", err
	}
	switch len(page.Artifacts) {
	case 0:
		return "", &handoff.Error{Op: "find", Name: ref, Kind: handoff.NotFound,
			Err: errors.New("no such artifact"), Hint: handoff.Advice("handoff list --all shows every artifact")}
	case 1:
		return page.Artifacts[0].ID, nil
	}
	hint := "say which:"
	for _, a := range page.Artifacts[:min(5, len(page.Artifacts))] {
		hint += fmt.Sprintf(" %s (%s)", a.ID, a.Label())
	}
	return "", &handoff.Error{Op: "find", Name: ref, Kind: handoff.Conflict, Err: errors.New("several artifacts begin so"), Hint: handoff.Advice(hint)}
}

// ResolveAll resolves several refs.
func (a *App) ResolveAll(ctx context.Context, w *workspace.Workspace, scope names.Scope, refs []string) ([]string, error) {
	ids := make([]string, len(refs))
	for i, ref := range refs {
		id, err := a.Resolve(ctx, w, scope, ref)
		if err != nil {
			return nil, err
		}
		ids[i] = id
	}
	return ids, nil
}
