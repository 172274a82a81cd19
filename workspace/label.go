package workspace

import (
	"context"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/refs"
)

// Label moves a label of the artifact's channel to the artifact that a ref names.
// CHANNEL:LABEL is then a ref of the artifact. Setting it again changes nothing.
//
// Kinds: those of Resolve, and Invalid (the label, see handoff.CheckLabel).
func (w *Workspace) Label(ctx context.Context, ref, label string) (handoff.Published, error) {
	if err := handoff.CheckLabel(label); err != nil {
		return handoff.Published{}, err
	}
	return w.change(ctx, ref, func(id string) (handoff.Published, error) { return w.as.Label(ctx, id, label) })
}

// Unlabel removes a label from the artifact that a ref names.
//
// Kinds: those of Resolve, and NotFound (it does not have the label).
func (w *Workspace) Unlabel(ctx context.Context, ref, label string) (handoff.Published, error) {
	return w.change(ctx, ref, func(id string) (handoff.Published, error) { return w.as.Unlabel(ctx, id, label) })
}

// change records something about the artifact that a ref names.
func (w *Workspace) change(ctx context.Context, ref string, record func(id string) (handoff.Published, error)) (handoff.Published, error) {
	id, err := w.Resolve(ctx, ref)
	if err != nil {
		return handoff.Published{}, err
	}
	done, err := record(id)
	if err == nil {
		done.Warnings = append(done.Warnings, w.finish(ctx, done.Producer.Session)...)
	}
	return done, err
}

// selectRef adds to a query what CHANNEL:latest, CHANNEL:v2 or CHANNEL:LABEL means.
func selectRef(q handoff.ArtifactQuery, ref string) (handoff.ArtifactQuery, error) {
	named, ok := refs.InChannel(ref)
	switch {
	case !ok:
		return q, invalid("wait", ref, "not a channel with a label", "write CHANNEL:latest, CHANNEL:v2 or CHANNEL:LABEL")
	case q.Channel != "" && q.Channel != named.Channel:
		return q, invalid("wait", ref, "is not in the channel "+q.Channel, "leave one of them out")
	}
	q.Channel, q.Label, q.Revision = named.Channel, named.Label, named.Revision
	q.IncludeInactive = q.IncludeInactive || q.Status == "" && named.IncludeInactive
	return q, nil
}

// waitForLabel returns the first artifact that matches a query and gets its label
// after a position in the log.
func (w *Workspace) waitForLabel(ctx context.Context, q handoff.ArtifactQuery, after handoff.Seq) (handoff.Artifact, error) {
	for r, err := range w.hub.Watch(ctx, after) {
		if err != nil {
			return handoff.Artifact{}, err
		}
		f, ok := r.Fact.(*handoff.ArtifactLabeled)
		if !ok || f.Removed || f.Label != q.Label {
			continue
		}
		q.IDPrefix = f.ArtifactID
		page, err := w.hub.Artifacts(ctx, q)
		if err != nil || len(page.Artifacts) > 0 {
			return append(page.Artifacts, handoff.Artifact{})[0], err
		}
	}
	return handoff.Artifact{}, ctx.Err()
}
