package evidence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"github.com/agent-handoff/handoff/internal/tool/cmdline"
	"github.com/agent-handoff/handoff/trace"
)

// ChannelAttested is the channel of attestations, KindAttested their kind.
const (
	ChannelAttested = "verification"
	KindAttested    = "attestation"
)

// A Checker records and checks evidence.
type Checker struct {
	Hub    *handoff.Hub
	Calls  Calls
	Bodies handoff.Bodies // where the lists of files are kept; nil if they are not

	// Tree returns the state of a linked worktree, "" for the main one, as it is now.
	Tree func(ctx context.Context, worktree string) (*State, error)
}

// Record completes the evidence of claims that are about to be published: it adds
// what is known of each command and message. A command is looked up among the
// attestations of the tree, then in a thread, the publisher's own. now is nil if the
// tree is not known, and otherwise without the artifact, which is at own. Warnings say what no evidence was found for.
//
// Kinds: Invalid, NotFound (a thread, a message or an artifact that is named),
// and those of reading them.
func (c *Checker) Record(ctx context.Context, claims []handoff.Claim, now *State, own,
	conversation string) (warnings []string, err error) {
	on := claimed{path: own}
	if now != nil {
		on.tree, on.now = &now.Tree, func(context.Context) (*State, error) { return now, nil }
	}
	for i := range claims {
		for j := range claims[i].Evidence {
			e := &claims[i].Evidence[j]
			warning, err := c.record(ctx, e, on, conversation)
			if err != nil {
				return nil, err
			}
			if warning != "" {
				warnings = append(warnings, fmt.Sprintf("claim %q: %s", claims[i].Text, warning))
			}
		}
	}
	return warnings, nil
}

func (c *Checker) record(ctx context.Context, e *handoff.Evidence, on claimed,
	conversation string) (warning string, err error) {
	switch e.Kind {
	case handoff.EvidenceCommand:
		return c.recordCommand(ctx, e, on, conversation)
	case handoff.EvidenceThread:
		found, err := c.Calls.message(ctx, e.Thread)
		if err == nil {
			found.describe(e)
		}
		return "", err
	}
	a, err := c.Hub.Artifact(ctx, e.Artifact)
	if err != nil {
		return "", err
	}
	e.Digest = a.Digest.Value
	if a.Attestation != nil {
		e.ExitStatus, e.OnTree = &a.Attestation.ExitStatus, on.is(a) || c.isWithout(ctx, a, on)
		return "", nil
	}
	return a.ID + " is not the output of an attested command, so the claim is only asserted", nil
}

func (c *Checker) recordCommand(ctx context.Context, e *handoff.Evidence, on claimed,
	conversation string) (warning string, err error) {
	command := e.Command
	redactCommand(e)
	found, err := c.attested(ctx, *e, on)
	if err != nil {
		return "", err
	}
	if found.here != nil {
		e.Artifact, e.Digest, e.ExitStatus = found.here.ID, found.here.Digest.Value, &found.here.Attestation.ExitStatus
		e.OnTree = true
		return "", nil
	}
	not := fmt.Sprintf("%s was not attested on this tree", e.Command)
	if found.any != nil {
		if names, more := c.differing(ctx, *found.any, on); len(names) > 0 {
			not += ": " + sentence(names, more)
		}
	}
	if conversation == "" {
		return not, nil
	}
	call, ok, err := c.Calls.last(ctx, conversation, command)
	if err != nil && ctx.Err() != nil {
		return "", err
	}
	if err != nil || !ok { // someone else's thread may be damaged; the claim is recorded
		return fmt.Sprintf("%s, and no call of it was found in %s", not, conversation), nil
	}
	call.describe(e)
	return not + "; " + call.result(), nil
}

// describe sets the fields of e that identify a call and its result.
func (r record) describe(e *handoff.Evidence) {
	e.Thread, e.Call, e.ExitStatus, e.Digest = r.uri.String(), r.call, r.status, r.digest
	e.Failed = r.hasFailed()
}

// An attestations has the newest attestations of a command.
type attestations struct {
	here *handoff.Artifact // on the tree
	any  *handoff.Artifact // on any tree
}

// attested returns the newest attestations of the command of e in its directory. One
// that was withdrawn counts if the command failed, one that was imported does not.
func (c *Checker) attested(ctx context.Context, e handoff.Evidence, on claimed) (found attestations, err error) {
	q := handoff.ArtifactQuery{Kind: KindAttested, IncludeInactive: true, Limit: 200}
	for compared := 0; ; {
		page, err := c.Hub.Artifacts(ctx, q)
		if err != nil {
			return found, err
		}
		for _, a := range page.Artifacts {
			at := a.Attestation
			if at == nil || a.Import != "" || !fold.SameCommand(at, e) || a.Status == handoff.Withdrawn && at.Succeeded() {
				continue
			}
			if found.any == nil {
				found.any = &a
			}
			if e.IsOnTree(a.ID) || on.is(a) || compared < maxCompared && c.isWithout(ctx, a, on) {
				found.here = &a
				return found, nil
			}
			compared++
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			return found, nil
		}
	}
}

// Check checks the claims of an artifact. Kinds: those of Hub.Artifacts.
func (c *Checker) Check(ctx context.Context, a handoff.Artifact) (trace.Verification, error) {
	r := trace.Verification{ID: a.ID, Claims: []trace.Claim{}}
	on := claimed{tree: a.Tree, now: c.treeOf(a, &r)}
	if a.Root == "" && a.Attestation == nil {
		on.path = a.Path
	}
	claims := a.Claims
	if a.Attestation != nil {
		text := cmdline.Join(a.Attestation.Argv) + " succeeded"
		claims = append(claims, handoff.Claim{Text: text, Evidence: []handoff.Evidence{
			{Kind: handoff.EvidenceArtifact, Artifact: a.ID, ExitStatus: &a.Attestation.ExitStatus, Digest: a.Digest.Value}}})
	}
	var all []handoff.Verdict
	for _, claim := range claims {
		checked := trace.Claim{Text: claim.Text, Evidence: []trace.CommandResult{}}
		var verdicts []handoff.Verdict
		for _, e := range claim.Evidence {
			result, err := c.check(ctx, e, on)
			if err != nil {
				return r, err
			}
			checked.Evidence = append(checked.Evidence, result)
			verdicts = append(verdicts, result.Verdict)
		}
		checked.Verdict = fold.Weakest(verdicts)
		r.Claims = append(r.Claims, checked)
		all = append(all, checked.Verdict)
	}
	r.Verdict = fold.Weakest(all)
	return r, nil
}

// Require returns the result for a command that must be attested on the tree as it
// is now. Kinds: those of Hub.Artifacts.
func (c *Checker) Require(ctx context.Context, argv []string, dir, worktree string) (trace.CommandResult, error) {
	e := handoff.Evidence{Kind: handoff.EvidenceCommand, Command: cmdline.Join(argv), Dir: dir}
	redactCommand(&e)
	state, err := c.Tree(ctx, worktree)
	if err != nil {
		return trace.CommandResult{Evidence: e, Verdict: handoff.VerdictAsserted, Reason: err.Error()}, ctx.Err()
	}
	return c.command(ctx, e, claimed{tree: &state.Tree, now: func(context.Context) (*State, error) { return state, nil }})
}

// treeOf returns the tree that the claims of a are compared with. It is read once, when
// it is needed.
func (c *Checker) treeOf(a handoff.Artifact, r *trace.Verification) func(ctx context.Context) (*State, error) {
	var now *State
	var failed error
	return func(ctx context.Context) (*State, error) {
		if now != nil || failed != nil {
			return now, failed
		}
		worktree := ""
		if a.Tree != nil {
			worktree = a.Tree.Worktree
		}
		if now, failed = c.Tree(ctx, worktree); failed == nil {
			r.Tree = &now.Tree
		}
		return now, failed
	}
}

func (c *Checker) check(ctx context.Context, e handoff.Evidence, on claimed) (trace.CommandResult, error) {
	switch e.Kind {
	case handoff.EvidenceCommand:
		return c.command(ctx, e, on)
	case handoff.EvidenceThread:
		return c.call(ctx, e)
	case handoff.EvidenceArtifact:
		return c.artifact(ctx, e, on)
	}
	return trace.CommandResult{Evidence: e, Verdict: handoff.VerdictAsserted, Reason: "unknown kind of evidence"}, nil
}

// command checks a command: against the newest attestation on the tree of the claim,
// otherwise against the call that was recorded, otherwise against an attestation on
// another tree.
func (c *Checker) command(ctx context.Context, e handoff.Evidence, on claimed) (trace.CommandResult, error) {
	found, err := c.attested(ctx, e, on)
	if err != nil {
		return trace.CommandResult{}, err
	}
	if found.here != nil {
		return c.judge(ctx, e, *found.here, on), ctx.Err()
	}
	result := trace.CommandResult{Evidence: e, Verdict: handoff.VerdictAsserted,
		Reason: "it was not attested, and no call of it is recorded"}
	if e.Call != "" || e.Thread != "" {
		if result, err = c.call(ctx, e); err != nil || result.Verdict == handoff.VerdictContradicted {
			return result, err
		}
	}
	if a := found.any; a != nil {
		if a.Attestation.Succeeded() || on.tree == nil {
			return c.judge(ctx, e, *a, on), ctx.Err()
		}
		result.Reason = fmt.Sprintf("it failed on another tree: %s (%s)", a.Attestation.Ending(), a.ID)
	}
	return result, nil
}

// artifact checks an artifact: only an attestation is more than a claim.
func (c *Checker) artifact(ctx context.Context, e handoff.Evidence, on claimed) (trace.CommandResult, error) {
	result := trace.CommandResult{Evidence: e, Verdict: handoff.VerdictAsserted}
	a, err := c.Hub.Artifact(ctx, e.Artifact)
	switch {
	case errors.Is(err, handoff.NotFound):
		result.Reason = "the log has no such artifact"
	case err != nil:
		return result, err
	case a.Attestation == nil:
		result.Reason = "it is not the output of an attested command"
	case a.Import != "":
		result.Reason = "it was imported: another workspace attested it"
	case a.Status == handoff.Withdrawn && a.Attestation.Succeeded():
		result.Reason = "it was withdrawn"
	case e.Digest != a.Digest.Value:
		result.Verdict, result.Reason = handoff.VerdictContradicted, "it has another digest than the claim recorded"
	default:
		return c.judge(ctx, e, a, on), ctx.Err()
	}
	return result, nil
}

// judge checks an attestation for a claim about a tree.
func (c *Checker) judge(ctx context.Context, e handoff.Evidence, a handoff.Artifact, on claimed) trace.CommandResult {
	at := a.Attestation
	verdict := func(v handoff.Verdict, format string, args ...any) trace.CommandResult {
		reason := fmt.Sprintf(format, args...)
		if e.Kind == handoff.EvidenceArtifact {
			reason = cmdline.Join(at.Argv) + ": " + reason
		}
		return trace.CommandResult{Evidence: e, Verdict: v, Reason: reason, Attestation: a.ID, Status: &at.ExitStatus,
			By: by(a.Producer)}
	}
	if !at.Succeeded() {
		return verdict(handoff.VerdictContradicted, "ended with %s", at.Ending())
	}
	if v, reason := c.output(ctx, a); v != "" {
		return verdict(v, "%s", reason)
	}
	switch {
	case a.Tree == nil || on.tree == nil:
		return verdict(handoff.VerdictAsserted, "the tree was not recorded")
	case at.TreeAfter != "": // its result is of neither tree
		return verdict(handoff.VerdictStale, "the tree changed while the command ran")
	case !e.IsOnTree(a.ID) && !on.is(a) && !c.isWithout(ctx, a, on):
		return c.stale(ctx, verdict(handoff.VerdictStale, "it was attested on another tree"), a, on)
	}
	now, err := on.now(ctx)
	if err != nil {
		return verdict(handoff.VerdictAsserted, "the tree can't be compared: %v", err)
	}
	left := now.Without(ctx, on.path)
	switch current := (claimed{tree: &left.Tree, now: on.now, path: on.path}); {
	case at.OfCommit && current.is(a):
		return verdict(handoff.VerdictVerified, "succeeded at commit %s%s", a.Tree.Commit, untracked(at.Untracked))
	case claimed{tree: &now.Tree}.is(a):
		return verdict(handoff.VerdictVerified, "succeeded on this tree")
	case current.is(a), c.isWithout(ctx, a, current):
		return verdict(handoff.VerdictVerified, "succeeded on this tree without %s", on.path)
	}
	return c.stale(ctx, verdict(handoff.VerdictStale, "the tree changed since"), a, on)
}

// output reads the kept output of an attestation, whose digest is verified. The
// verdict is "" if it is intact.
func (c *Checker) output(ctx context.Context, a handoff.Artifact) (handoff.Verdict, string) {
	if a.Redacted != nil && a.Redacted.Body != "" {
		return handoff.VerdictAsserted, "its output was redacted, because it had a secret"
	}
	body, err := c.Hub.Open(ctx, a.ID)
	if err == nil {
		_, err = io.Copy(io.Discard, body)
		err = errors.Join(err, body.Close())
	}
	switch {
	case err == nil:
		return "", ""
	case errors.Is(err, handoff.Corrupt), errors.Is(err, handoff.Conflict):
		return handoff.VerdictContradicted, "its output was changed or is missing"
	}
	return handoff.VerdictAsserted, "its output can't be read: " + err.Error()
}

// call checks the call or message of a thread. The tree at that time is not
// known, so that the result is never Verified.
func (c *Checker) call(ctx context.Context, e handoff.Evidence) (trace.CommandResult, error) {
	result := trace.CommandResult{Evidence: e, Verdict: handoff.VerdictAsserted, By: e.Thread}
	found, ok, err := record{}, true, error(nil)
	if e.Call != "" {
		found, ok, err = c.Calls.byID(ctx, e.Thread, e.Call)
	} else {
		found, err = c.Calls.message(ctx, e.Thread)
	}
	switch {
	case ctx.Err() != nil:
		return result, ctx.Err()
	case err != nil:
		result.Reason = "the thread can't be compared: " + err.Error()
		return result, nil
	case !ok:
		result.Reason = "the thread no longer has the call"
		return result, nil
	}
	result.Status = found.status
	switch {
	case e.Digest != found.digest:
		result.Verdict, result.Reason = handoff.VerdictContradicted, "the thread was changed since the claim was published"
	case found.hasFailed():
		result.Verdict, result.Reason = handoff.VerdictContradicted, found.result()
	default:
		result.Reason = found.result() + "; its tree is not known"
	}
	return result, nil
}

// by returns who made a record.
func by(p handoff.Producer) string {
	if p.Source == handoff.FromNone {
		return ""
	}
	return cmp.Or(p.Agent, p.Harness, p.Thread)
}
