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
)

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
