package trace

import "github.com/agent-handoff/handoff"

// A Verification is the result of checking the claims of an artifact. An attestation
// claims that its command succeeded.
type Verification struct {
	ID       string          `json:"id"`
	Verdict  handoff.Verdict `json:"verdict"` // the weakest of the claims; Asserted without claims
	Claims   []Claim         `json:"claims"`
	Tree     *handoff.Tree   `json:"tree,omitempty"` // now, if it was compared
	Warnings []string        `json:"warnings,omitempty"`

	// Of the bytes: whether a person, or an agent that its author did not start, approved them,
	// and none of these requested changes. Nothing authenticates a review.
	Approved bool             `json:"approved,omitempty"`
	Reviews  []handoff.Review `json:"reviews,omitempty"`
}

// A VerificationList has the verifications of several artifacts.
type VerificationList struct {
	Base  string         `json:"base,omitempty"` // the artifacts are those of the commits after it
	Head  string         `json:"head,omitempty"` // and up to it
	Items []Verification `json:"verifications"`

	// If approvals are required: the files at which Head differs from its merge base with Base and
	// that no approved artifact makes so, relative to the repository.
	Unapproved []string `json:"unapproved,omitempty"`
}

// A Claim is a claim with its verdict: the weakest of its evidence.
type Claim struct {
	Text     string          `json:"text"`
	Verdict  handoff.Verdict `json:"verdict"`
	Evidence []CommandResult `json:"evidence"`
}

// A CommandResult is what was found for one piece of evidence.
type CommandResult struct {
	handoff.Evidence // as it was recorded

	Verdict     handoff.Verdict `json:"verdict"`
	Reason      string          `json:"reason"`
	Attestation string          `json:"attestation,omitempty"` // ID of the attestation that decided
	Status      *int            `json:"statusNow,omitempty"`   // the exit status that was found
	By          string          `json:"by,omitempty"`          // who ran the command: an agent, a harness or a thread

	// the files that differ from those that were attested, such as "added report.md", and how
	// many there are in addition; none if they are not known
	Files     []string `json:"files,omitempty"`
	MoreFiles int      `json:"moreFiles,omitempty"`
}
