package textfmt

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace/candidates"
)

// A Figure is what is known about a candidate, for people. Text is "" if it is not known.
type Figure struct{ Name, Text string }

// Figures returns what candidates are compared by: files, lines, tests, review and cost.
func Figures(d candidates.Candidate) []Figure {
	files, lines, cost, review := "", "", "", strings.ReplaceAll(d.Review, "_", " ")
	if d.Files != nil {
		files = strconv.Itoa(*d.Files)
	}
	if d.Added != nil {
		lines = Changed(*d.Added, *d.Removed)
	}
	if d.Cost != nil {
		cost = Dollars(&d.Cost.USD)
		if d.Cost.AtLeast {
			cost = "≥ " + cost
		}
	}
	if d.Artifact.Status != handoff.Active {
		review = strings.TrimPrefix(review+", "+string(d.Artifact.Status), ", ")
	} else if d.Artifact.Acceptance != nil {
		review = strings.TrimPrefix(review+", accepted", ", ")
	}
	return []Figure{{"files", files}, {"lines", lines}, {"tests", d.Tests}, {"review", review}, {"cost", cost}}
}

// Changed returns how many lines were added and removed.
func Changed(added, removed int) string { return fmt.Sprintf("+%d −%d", added, removed) }
