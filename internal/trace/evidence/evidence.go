// Package evidence checks claims about artifacts against what models did not write:
// the results that agent programs recorded of their calls, and attestations, which
// are results of commands that handoff ran.
//
// A [Checker] records what a claim refers to when it is published, and compares
// that with what is there now. It runs no command but git, which reads. A result is
// verified only if the files are those with which an attested command succeeded:
// the tree at the time of a call in a thread is not known.
package evidence

import (
	"errors"
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
)

// A Verdict is the result of checking a claim.
type Verdict = fold.Verdict

// The verdicts.
const (
	Verified     = fold.Verified     // an attested command succeeded, and the tree is the same since
	Stale        = fold.Stale        // it succeeded on another tree
	Asserted     = fold.Asserted     // nothing but the claim, or a result without a known tree
	Contradicted = fold.Contradicted // the command failed, or the evidence was changed since
)

// A Report is the result of checking the claims of an artifact. An attestation
// claims that its command succeeded.
type Report struct {
	ID       string        `json:"id"`
	Verdict  Verdict       `json:"verdict"` // the weakest of the claims; Asserted without claims
	Claims   []Claim       `json:"claims"`
	Tree     *handoff.Tree `json:"tree,omitempty"` // now, if it was compared
	Warnings []string      `json:"warnings,omitempty"`
}

// A Claim is a claim with its verdict: the weakest of its evidence.
type Claim struct {
	Text     string   `json:"text"`
	Verdict  Verdict  `json:"verdict"`
	Evidence []Result `json:"evidence"`
}

// A Result is what was found for one piece of evidence.
type Result struct {
	handoff.Evidence // as it was recorded

	Verdict     Verdict `json:"verdict"`
	Reason      string  `json:"reason"`
	Attestation string  `json:"attestation,omitempty"` // ID of the attestation that decided
	Status      *int    `json:"statusNow,omitempty"`   // the exit status that was found
	By          string  `json:"by,omitempty"`          // who ran the command: an agent, a harness or a thread

	// the files that differ from those that were attested, such as "added report.md", and how
	// many there are in addition; none if they are not known
	Files     []string `json:"files,omitempty"`
	MoreFiles int      `json:"moreFiles,omitempty"`
}

// ParseEvidence parses evidence in the form command:LINE, thread:URI or artifact:REF.
// Its kind is Invalid.
func ParseEvidence(text string) (handoff.Evidence, error) {
	kind, value, _ := strings.Cut(text, ":")
	e := handoff.Evidence{Kind: kind}
	value = strings.TrimSpace(value)
	switch kind {
	case handoff.EvidenceCommand:
		e.Command = value
	case handoff.EvidenceThread:
		e.Thread = value
	case handoff.EvidenceArtifact:
		e.Artifact = value
	default:
		value = ""
	}
	if value == "" {
		return e, refuse(text, errors.New("invalid evidence"), "write command:LINE, thread:URI#M3 or artifact:REF")
	}
	return e, nil
}

func refuse(name string, err error, hint string) error {
	return handoff.E("evidence", fmt.Sprintf("%q", name), handoff.Invalid, err, handoff.Advice(hint))
}
