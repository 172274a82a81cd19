package work

import (
	"context"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/trace/cost"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/trace"
)

// comparePrompts compares the prompts of the threads in s with its artifacts, and
// sets s.Passed. Transcripts that were last written before the first artifact are not
// read. The result is a lower bound if a thread that a record names is missing.
func (u Units) comparePrompts(ctx context.Context, noIndex bool, s *cost.Sources) (_ *trace.PromptReport,
	warnings []string,
	err error) {
	c := cost.NewComparison(*s, func(a handoff.Artifact) string { return u.o.Text(ctx, a) })
	complete := true
	if len(s.Artifacts) > 0 {
		first := slices.MinFunc(s.Artifacts, func(a, b handoff.Artifact) int { return a.CreatedAt.Compare(b.CreatedAt) })
		want := map[string]bool{}
		for _, t := range s.Threads {
			want[t.URI], complete = true, complete && !t.Missing
		}
		warnings, err = u.o.Archive(noIndex).EachPrompt(ctx, first.CreatedAt, want, func(p threadindex.Prompt) error {
			c.Add(cost.Prompt{Thread: p.Thread, URI: p.URI.String(), At: p.At, Text: p.Text})
			return nil
		})
	}
	passed, report := c.Result(complete && len(warnings) == 0)
	s.Passed = passed
	return &report, warnings, err
}
