package workspace

import (
	"context"

	"github.com/agent-handoff/handoff"
)

// Label moves a label of the artifact's channel to the artifact that a ref names.
// CHANNEL:LABEL is then a ref of the artifact. Setting it again changes nothing.
//
// Kinds: those of Resolve, and Invalid (the label, see handoff.CheckLabel).
func (w *Workspace) Label(ctx context.Context, ref, label string) (handoff.Published, error) {
	if err := handoff.CheckLabel(label); err != nil {
		return handoff.Published{}, err
	}
	return w.change(ctx, ref, func(id string) (handoff.Published, error) {
		return w.c.Hub.Label(ctx, id, label, false)
	})
}

// Unlabel removes a label from the artifact that a ref names.
//
// Kinds: those of Resolve, and NotFound (it does not have the label).
func (w *Workspace) Unlabel(ctx context.Context, ref, label string) (handoff.Published, error) {
	return w.change(ctx, ref, func(id string) (handoff.Published, error) { return w.c.Hub.Label(ctx, id, label, true) })
}

// change records something about the artifact that a ref names.
func (w *Workspace) change(ctx context.Context, ref string,
	record func(id string) (handoff.Published, error)) (handoff.Published, error) {
	id, err := w.Resolve(ctx, ref)
	if err != nil {
		return handoff.Published{}, err
	}
	done, err := record(id)
	if err == nil {
		done.Warnings = append(done.Warnings, w.c.Finish(ctx, done.Producer.Session)...)
	}
	return done, err
}
