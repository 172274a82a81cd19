package workspace

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/names"
	"github.com/agent-handoff/handoff/internal/names/refs"
)

// Resolve returns the ID of the artifact that a ref names for the caller. A ref
// is, in this order:
//
//   - the ID of an artifact;
//   - run/name, or a name: one of the caller's own run or session, else one of
//     another run of the same session, else any;
//   - the path of a published file, absolute or relative to Caller.Dir: its
//     newest artifact;
//   - CHANNEL:latest, the newest active artifact of a channel; CHANNEL:LABEL;
//     CHANNEL:v2, of the artifacts of a channel the one that is a second revision;
//     REF@v2, the second revision of what REF names;
//   - a prefix or suffix of an ID, of at least six characters.
//
// The first of these with a match decides.
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
	id, isArtifact := strings.CutPrefix(ref, artifactURI)
	if ref = id; isArtifact && id == "" || !isArtifact && strings.Contains(ref, "://") {
		return names.Candidate{}, handoff.E("find", cmp.Or(ref, artifactURI), handoff.Invalid,
			errors.New("is not the URI of an artifact"), handoff.Suggest("list every artifact", handoff.ActionListAll))
	}
	if latest {
		return w.refs(ctx).Latest(ctx, ref)
	}
	return w.refs(ctx).Find(ctx, ref)
}

// refs returns the resolver of the caller's refs.
func (w *Workspace) refs(ctx context.Context) refs.Resolver {
	return refs.Resolver{Reader: w.hub, Scope: w.scope(ctx), Dir: w.caller.Dir}
}

// unrecorded refuses to treat a file without a record as an artifact.
func unrecorded(op, name, file string, hint handoff.Hint) error {
	return handoff.E(op, name, handoff.NotFound, errors.New("has no record, only the file "+file), hint)
}
