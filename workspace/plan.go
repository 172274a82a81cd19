package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/trace/hook"
	"github.com/agent-handoff/handoff/trace"
)

// maxPlanWait is how long the review of a plan is waited for: less than the hour for which
// the program waits for its hook.
const maxPlanWait = time.Hour - time.Minute

// reviewPlan publishes the plan of an event for a review, waits for a decision about it, and
// calls say with the answer: the program carries the plan out, or changes it, with the new
// comments. Without a decision in time, or if ctx ends, say is not called: the program then goes on to
// ask its user.
func (w *Workspace) reviewPlan(ctx context.Context, e trace.HookEvent, say func([]byte) error) error {
	ctx = handoff.LimitWaits(ctx, maxPlanWait)
	a, err := w.publishPlan(ctx, e)
	if err != nil {
		return err
	}
	var decision handoff.Review
	decided := false
	err = w.until(ctx, a.Seq, func() (bool, error) {
		if a, err = w.c.Anonymous.Artifact(ctx, a.ID); err != nil {
			return false, err
		}
		decision, decided, err = w.Reviews().Verdict(ctx, a)
		return decided || a.Status != handoff.Active, err
	})
	switch {
	case err != nil && (ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded)):
		return nil
	case err != nil || !decided || a.Status != handoff.Active:
		return err
	case decision.Decision == handoff.Approved: // its comments are handed over after the program has accepted it
		answer, err := hook.AllowPlan(e)
		if err == nil {
			err = say(answer)
		}
		return err
	}
	handed, unread := w.Reviews().Undelivered(ctx, e.Thread(), []handoff.Artifact{a})
	answer, err := hook.DenyPlan(fmt.Sprintf("The plan was reviewed in handoff as %s: %s. Change it and present it "+
		"again.\n%s", a.ID, decision, handed.Text))
	if err == nil {
		err = say(answer)
	}
	if err == nil {
		err = handed.Mark()
	}
	return errors.Join(err, unread)
}

// publishPlan publishes the plan of an event in place of the one that its thread presented
// before, and returns it; the same plan is published once.
func (w *Workspace) publishPlan(ctx context.Context, e trace.HookEvent) (handoff.Artifact, error) {
	hub, draft := w.c.Anonymous.As(hook.ProducerOf(e)), hook.PlanDraft(e)
	page, err := hub.Artifacts(ctx, handoff.ArtifactQuery{Channel: draft.Channel, Kind: draft.Kind, Status: handoff.Active,
		Producer: map[string]string{"thread": e.Thread()}, Limit: 1})
	if err != nil {
		return handoff.Artifact{}, err
	}
	for _, a := range page.Artifacts {
		if sum := sha256.Sum256([]byte(e.Plan)); a.Digest.Value == hex.EncodeToString(sum[:]) {
			return a, nil
		}
		draft.Replaces = []string{a.ID}
	}
	done, err := hub.Publish(ctx, draft)
	return done.Artifact, err
}
