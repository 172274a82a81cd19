package workspace

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/names"
)

// Resolve returns the ID of the artifact that a ref names for the caller. A ref
// is, in this order:
//
//   - the ID of an artifact;
//   - an unambiguous prefix of an ID;
//   - run/name;
//   - a name: one of the caller's own run or session, else one of another run
//     of the same session, else any.
//
// Kinds: NotFound, Conflict (several match; the hint lists them), Invalid.
func (w *Workspace) Resolve(ctx context.Context, ref string) (string, error) {
	found, err := w.find(ctx, ref, false)
	switch {
	case err == nil && found.Unrecorded():
		err = unrecorded("find", ref, found.File, handoff.Suggest("record it", handoff.ActionWrite, found.Name, found.File))
	case errors.Is(err, handoff.NotFound):
		if b, ok := w.stageFile(ref); ok {
			b.Close()
			err = unrecorded("find", ref, b.Unrecorded, b.record)
		}
	}
	return found.ID, err
}

// resolveAll resolves several refs.
func (w *Workspace) resolveAll(ctx context.Context, refs []string) ([]string, error) {
	ids := make([]string, len(refs))
	for i, ref := range refs {
		id, err := w.Resolve(ctx, ref)
		if err != nil {
			return nil, err
		}
		ids[i] = id
	}
	return ids, nil
}

// find returns what a ref names, which may be a file without a record. With
// latest, the one of several that was written last.
func (w *Workspace) find(ctx context.Context, ref string, latest bool) (names.Candidate, error) {
	switch {
	case handoff.IsArtifactID(ref):
		return names.Candidate{Artifact: handoff.Artifact{Record: handoff.Record{ID: ref}}}, nil
	case handoff.IsArtifactIDPrefix(ref):
		a, err := w.expand(ctx, ref)
		return names.Candidate{Artifact: a}, err
	case latest:
		return names.Latest(ctx, w.hub, w.scope(ctx), ref)
	}
	return names.Find(ctx, w.hub, w.scope(ctx), ref)
}

// expand returns the one artifact whose ID has a prefix.
func (w *Workspace) expand(ctx context.Context, prefix string) (handoff.Artifact, error) {
	const shown = 5
	page, err := w.hub.Artifacts(ctx, handoff.ArtifactQuery{IDPrefix: prefix, IncludeInactive: true, Limit: shown + 1})
	if err != nil {
		return handoff.Artifact{}, err
	}
	switch len(page.Artifacts) {
	case 0:
		return handoff.Artifact{}, &handoff.Error{Op: "find", Name: prefix, Kind: handoff.NotFound,
			Err: errors.New("no such artifact"), Hint: handoff.Suggest("list every artifact", handoff.ActionListAll)}
	case 1:
		return page.Artifacts[0], nil
	}
	var matches []string
	for _, a := range page.Artifacts[:min(shown, len(page.Artifacts))] {
		matches = append(matches, fmt.Sprintf("%s (%s)", a.ID, a.Label()))
	}
	return handoff.Artifact{}, &handoff.Error{Op: "find", Name: prefix, Kind: handoff.Conflict,
		Err: errors.New("ambiguous ID prefix"), Hint: handoff.Advice("it matches " + strings.Join(matches, ", "))}
}

// unrecorded refuses to treat a file without a record as an artifact.
func unrecorded(op, name, file string, hint handoff.Hint) error {
	return &handoff.Error{Op: op, Name: name, Kind: handoff.NotFound, Err: errors.New("has no record, only the file " + file), Hint: hint}
}
