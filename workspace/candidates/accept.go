package candidates

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/printable"
)

// A Choice says why an artifact is accepted, and over which.
type Choice struct {
	Over   []string // refs; without any, over all that Of returns
	Reason string   // on one line, at most handoff.MaxSummary characters
	User   string   // the name of the person, if no agent is known
}

// Accept records that the artifact that a ref names was chosen over the others, which it
// supersedes until it is withdrawn. It takes back the acceptances by which others were chosen
// over it. Accepting it again over the same ones changes nothing.
//
// Kinds: those of Workspace.Resolve; Invalid (the reason); Conflict (it was withdrawn, a
// revision replaced it, or nothing competes with it); and those of Log.Append.
func (c Candidates) Accept(ctx context.Context, ref string, choice Choice) (handoff.Published, error) {
	a, over, err := c.choose(ctx, ref, choice.Over)
	if err != nil {
		return handoff.Published{}, err
	}
	isNew := func(id string) bool { return a.Acceptance == nil || !slices.Contains(a.Acceptance.Over, id) }
	switch {
	case a.Status == handoff.Active && a.Acceptance != nil && !slices.ContainsFunc(over, isNew):
		return handoff.Published{Artifact: a, Existing: true}, nil
	case len(over) == 0:
		return handoff.Published{}, handoff.E("accept", a.ID, handoff.Conflict, errors.New("nothing competes with it"),
			handoff.Advice("name what it is chosen over"))
	}
	if err := c.check(ctx, a); err != nil {
		return handoff.Published{}, err
	}
	f := &handoff.ArtifactAccepted{ArtifactID: a.ID, Over: over, Known: a.NotChosenIn,
		Reason: printable.OneLine(strings.TrimSpace(choice.Reason)), User: choice.User}
	if n := utf8.RuneCountInString(f.Reason); n > handoff.MaxSummary {
		return handoff.Published{}, handoff.E("reason", "", handoff.Invalid,
			fmt.Errorf("has %d characters, more than %d", n, handoff.MaxSummary), handoff.Advice("shorten it"))
	}
	_, warnings, err := c.c.Hub.Record(ctx, f)
	if err != nil {
		return handoff.Published{}, err
	}
	if view, err := c.c.Hub.Artifact(ctx, a.ID); err == nil { // otherwise the index is behind the log
		a = view
	}
	if a.Status == handoff.Superseded {
		warnings = append(warnings, fmt.Sprintf("%s is still replaced by %s", a.ID, strings.Join(a.ReplacedBy, " ")))
	}
	return handoff.Published{Artifact: a, Warnings: append(warnings, c.o.Finish(ctx, a)...)}, nil
}

// choose returns the artifact that a ref names, and the IDs of those that it is chosen over.
func (c Candidates) choose(ctx context.Context, ref string, refs []string) (a handoff.Artifact, over []string,
	err error) {
	if len(refs) == 0 {
		list, err := c.Of(ctx, ref)
		if err != nil {
			return a, nil, err
		}
		for _, b := range list[1:] {
			if b.Status != handoff.Withdrawn {
				over = append(over, b.ID)
			}
		}
		return list[0], over, nil
	}
	id, err := c.c.Resolve(ctx, ref)
	if err != nil {
		return a, nil, err
	}
	for _, ref := range refs {
		other, err := c.c.Resolve(ctx, ref)
		if err != nil {
			return a, nil, err
		}
		if other != id {
			over = add(over, []string{other})
		}
	}
	a, err = c.c.Hub.Artifact(ctx, id)
	return a, over, err
}

// check returns an error of kind Conflict if an artifact can't be accepted.
func (c Candidates) check(ctx context.Context, a handoff.Artifact) error {
	if a.Status == handoff.Withdrawn {
		return handoff.E("accept", a.ID, handoff.Conflict, errors.New("it was withdrawn"),
			handoff.Suggest("publish it again", handoff.ActionPublishAs, a.ID))
	}
	later, err := c.load(ctx, a.ReplacedBy)
	if err != nil {
		return err
	}
	for _, b := range later {
		if slices.Contains(b.Replaces, a.ID) {
			return handoff.E("accept", a.ID, handoff.Conflict, fmt.Errorf("%s replaces it", b.ID),
				handoff.Suggest("accept the revision", handoff.ActionAccept, b.ID))
		}
	}
	return nil
}
