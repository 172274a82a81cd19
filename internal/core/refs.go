package core

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/names"
	"github.com/agent-handoff/handoff/internal/names/refs"
)

// The start of the URI of a resource over MCP, and of that of an artifact.
const (
	ResourceURI = "handoff://"
	ArtifactURI = ResourceURI + "artifacts/"
)

// Resolve returns the ID of the artifact that a ref names for the caller. Kinds: NotFound,
// Conflict (several match; the hint lists them), Invalid.
func (c *Core) Resolve(ctx context.Context, ref string) (string, error) {
	found, err := c.Find(ctx, ref, false)
	switch {
	case err == nil && found.Unrecorded():
		hint := handoff.Suggest("record it", handoff.ActionWrite, found.Name, found.File)
		err = Unrecorded("find", ref, found.File, hint)
	case errors.Is(err, handoff.NotFound):
		for _, f := range c.Finders {
			if file, hint, ok := f.FindUnrecorded(ref); ok {
				err = Unrecorded("find", ref, file, hint)
			}
		}
	}
	return found.ID, err
}

// ResolveAll resolves several refs.
func (c *Core) ResolveAll(ctx context.Context, refs []string) ([]string, error) {
	ids := make([]string, len(refs))
	for i, ref := range refs {
		id, err := c.Resolve(ctx, ref)
		if err != nil {
			return nil, err
		}
		ids[i] = id
	}
	return ids, nil
}

// Find returns what a ref names, which may be a file without a record. With latest, the one
// of several that was written last. Kinds: those of Resolve.
func (c *Core) Find(ctx context.Context, ref string, latest bool) (names.Candidate, error) {
	id, isArtifact := strings.CutPrefix(ref, ArtifactURI)
	if ref = id; (isArtifact && id == "") || (!isArtifact && strings.Contains(ref, "://")) {
		return names.Candidate{}, handoff.E("find", cmp.Or(ref, ArtifactURI), handoff.Invalid,
			errors.New("is not the URI of an artifact"), handoff.Suggest("list every artifact", handoff.ActionListAll))
	}
	if latest {
		return c.Refs(ctx).Latest(ctx, ref)
	}
	return c.Refs(ctx).Find(ctx, ref)
}

// Refs returns the resolver of the caller's refs.
func (c *Core) Refs(ctx context.Context) refs.Resolver {
	return refs.Resolver{Reader: c.Hub, Scope: c.Scope(ctx), Dir: c.Dir}
}

// Scope returns whose names the caller's refs mean.
func (c *Core) Scope(ctx context.Context) names.Scope {
	p := c.Producer
	s := names.Scope{Session: p.Session, Run: p.RunID, Dir: c.SessionDir}
	if owner := cmp.Or(p.Session, p.RunID); s.Dir == "" && owner != "" {
		s.Dir, s.Within = c.CurrentFolder(ctx, owner), c.Dirs.Home()
	}
	return s
}

// Unrecorded refuses to treat a file without a record as an artifact.
func Unrecorded(op, name, file string, hint handoff.Hint) error {
	return handoff.E(op, name, handoff.NotFound, errors.New("has no record, only the file "+file), hint)
}
