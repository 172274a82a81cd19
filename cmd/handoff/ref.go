package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/agent-handoff/handoff"
)

// resolve returns the id of the artifact that a person means by ref: its id,
// or a beginning of it that no other has.
func resolve(ctx context.Context, reader handoff.Reader, ref string) (string, error) {
	if handoff.IsArtifactID(ref) {
		return ref, nil
	}
	notFound := &handoff.Error{Op: "find", Name: ref, Kind: handoff.NotFound,
		Err: errors.New("no such artifact"), Hint: "handoff list --all shows every artifact"}
	if !handoff.IsArtifactIDPrefix(ref) {
		return "", notFound
	}
	page, err := reader.Artifacts(ctx, handoff.ArtifactQuery{IDPrefix: ref, Hidden: true, Limit: 6})
	if err != nil {
		return "", err
	}
	switch len(page.Artifacts) {
	case 0:
		return "", notFound
	case 1:
		return page.Artifacts[0].ID, nil
	}
	hint := "say which:"
	for _, a := range page.Artifacts[:min(5, len(page.Artifacts))] {
		hint += fmt.Sprintf(" %s (%s)", a.ID, a.Label())
	}
	return "", &handoff.Error{Op: "find", Name: ref, Kind: handoff.Conflict, Err: errors.New("several artifacts begin so"), Hint: hint}
}

// resolveAll resolves several refs.
func resolveAll(ctx context.Context, reader handoff.Reader, refs []string) ([]string, error) {
	ids := make([]string, len(refs))
	for i, ref := range refs {
		id, err := resolve(ctx, reader, ref)
		if err != nil {
			return nil, err
		}
		ids[i] = id
	}
	return ids, nil
}
