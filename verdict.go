package handoff

// A Verdict is the result of checking a claim.
type Verdict string

// The verdicts.
const (
	VerdictVerified     Verdict = "verified"     // an attested command succeeded on the tree of the claim
	VerdictStale        Verdict = "stale"        // it succeeded on another tree
	VerdictAsserted     Verdict = "asserted"     // nothing but the claim, or a result without a known tree
	VerdictContradicted Verdict = "contradicted" // the command failed, or the evidence was changed since
)
