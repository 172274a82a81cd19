package workspace

import (
	"context"
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
	return w.c.Resolve(ctx, ref)
}
