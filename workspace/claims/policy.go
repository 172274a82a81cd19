package claims

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/workspace/reviews"
)

// A Policy decides whether verdicts are a failure.
type Policy struct {
	FailOn   handoff.Verdict // this verdict of a claim, and weaker ones
	Verified bool            // no claims at all are a failure, too
	Approved bool            // and so is an artifact whose bytes nobody approved, or none

	Signers *reviews.Signers // whose signed approvals count, nil for those of everybody
}

// ParsePolicy parses the words of a policy: the verdict to fail on, and what is required:
// verified, approved, both with a comma, or ""; signers is a file of allowed signers, "" for
// none. Kinds: Invalid, and those of reviews.ReadSigners.
func ParsePolicy(failOn, require, signers string) (Policy, error) {
	p, err := parsePolicy(failOn, require)
	if err != nil || signers == "" {
		return p, err
	}
	if !p.Approved {
		return p, handoff.E("verify", "", handoff.Invalid, errors.New("has allowed signers and requires no approval"),
			handoff.Advice("require approved"))
	}
	list, err := reviews.ReadSigners(signers)
	p.Signers = &list
	return p, err
}

func parsePolicy(failOn, require string) (Policy, error) {
	p := Policy{FailOn: handoff.Verdict(failOn)}
	switch p.FailOn {
	case handoff.VerdictVerified, handoff.VerdictStale, handoff.VerdictAsserted, handoff.VerdictContradicted:
	default:
		return p, handoff.E("verify", "", handoff.Invalid, fmt.Errorf("unknown verdict %q", failOn),
			handoff.Advice("use verified, stale, asserted or contradicted"))
	}
	if require == "" {
		return p, nil
	}
	for word := range strings.SplitSeq(require, ",") {
		switch word {
		case string(handoff.VerdictVerified):
			p.Verified = true
		case string(handoff.Approved):
			p.Approved = true
		default:
			return p, handoff.E("verify", word, handoff.Invalid, errors.New("can't be required"),
				handoff.Advice("require verified or approved"))
		}
	}
	return p, nil
}

// Authenticate verifies the signatures of the reviews of an artifact, if the policy names
// signers. Kinds: those of reviews.Signers.Authenticate.
func (p Policy) Authenticate(ctx context.Context, a *handoff.Artifact) error {
	if p.Signers == nil {
		return nil
	}
	return p.Signers.Authenticate(ctx, a)
}

// Fails reports whether a claim has the verdict of the policy or a weaker one, or a named
// artifact has no claims; or there is none of what the policy requires, or a change that nobody
// approved.
func (p Policy) Fails(all trace.VerificationList) bool {
	claims := 0
	for _, v := range all.Items {
		claims += len(v.Claims)
		weak := fold.Weakest([]handoff.Verdict{v.Verdict, p.FailOn}) == v.Verdict
		switch {
		case len(v.Claims) > 0 && weak, p.Approved && !v.Approved:
			return true
		case len(v.Claims) == 0 && all.Head == "" && (p.Verified || !p.Approved):
			return true
		}
	}
	if p.Approved && (len(all.Items) == 0 || len(all.Unapproved) > 0) {
		return true
	}
	return p.Verified && claims == 0
}
