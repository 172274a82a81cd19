package claims

import (
	"errors"
	"fmt"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"github.com/agent-handoff/handoff/trace"
)

// A Policy decides whether verdicts are a failure.
type Policy struct {
	FailOn  handoff.Verdict // this verdict of a claim, and weaker ones
	Require bool            // no claims at all
}

// ParsePolicy parses the words of a policy: the verdict to fail on, and verified or "" for
// what is required. Kind: Invalid.
func ParsePolicy(failOn, require string) (Policy, error) {
	p := Policy{handoff.Verdict(failOn), require != ""}
	switch p.FailOn {
	case handoff.VerdictVerified, handoff.VerdictStale, handoff.VerdictAsserted, handoff.VerdictContradicted:
	default:
		return p, handoff.E("verify", "", handoff.Invalid, fmt.Errorf("unknown verdict %q", failOn),
			handoff.Advice("use verified, stale, asserted or contradicted"))
	}
	if p.Require && require != string(handoff.VerdictVerified) {
		return p, handoff.E("verify", require, handoff.Invalid, errors.New("can't be required"),
			handoff.Advice("require verified"))
	}
	return p, nil
}

// Fails reports whether a claim has the verdict of the policy or a weaker one, or a named
// artifact has no claims; or there are none, if the policy requires some.
func (p Policy) Fails(all trace.VerificationList) bool {
	for _, v := range all.Items {
		weak := fold.Weakest([]handoff.Verdict{v.Verdict, p.FailOn}) == v.Verdict
		if len(v.Claims) > 0 && weak || len(v.Claims) == 0 && all.Head == "" {
			return true
		}
	}
	return p.Require && len(all.Items) == 0
}
