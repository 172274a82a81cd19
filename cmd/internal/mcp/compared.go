package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/workspace/candidates"
)

const (
	competitors = "*" // stands for the artifacts that compete with another one
	maxCompared = 50
)

type comparedData struct {
	Candidates []candidateData     `json:"candidates"`
	Sessions   *session.Comparison `json:"sessions,omitempty"`
	Warnings   []string            `json:"warnings,omitempty"`
}

// A candidateData is a candidate with its artifact as in lists.
type candidateData struct {
	Artifact row `json:"artifact"`
	candidates.Candidate
}

// compared shows what a ref names beside what others name, or what competes with it.
func compared(ctx context.Context, c *call, ref string, others []string) (answer, error) {
	refs := []string{ref}
	if len(others) != 1 || others[0] != competitors {
		refs = append(refs, others...)
	}
	found, err := c.Reviews().Candidates(c.client.server.o.Threads).Compare(ctx, refs)
	if err != nil {
		return answer{}, err
	}
	if n := len(found.Candidates) - maxCompared; n > 0 {
		found.Candidates = found.Candidates[:maxCompared]
		found.Warnings = append(found.Warnings, fmt.Sprintf("%d more are not shown", n))
	}
	data := comparedData{Candidates: make([]candidateData, len(found.Candidates)), Sessions: found.Sessions,
		Warnings: found.Warnings}
	lines := make([]string, len(found.Candidates))
	for i, d := range found.Candidates {
		data.Candidates[i] = candidateData{newRow(c.Workspace, d.Artifact), d}
		lines[i] = line(c.Workspace, d.Artifact)
		for _, f := range textfmt.Figures(d) {
			if f.Text != "" {
				lines[i] += "  " + f.Name + ": " + f.Text
			}
		}
	}
	if s := found.Sessions; s != nil {
		lines = []string{"sessions " + s.Before.ID + " and " + s.After.ID}
	}
	return answer{data: data, text: warned(strings.Join(lines, "\n"), found.Warnings)}, nil
}
