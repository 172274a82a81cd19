package pipelines

import (
	"cmp"
	"context"
	"fmt"
	"path"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/pipeline"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func putCommand(d *desk) *cobra.Command {
	var as string
	var from []string
	c := &cobra.Command{
		Use:   "put ISSUE STAGE FILE|-",
		Short: "Submit a stage's artifact",
		Long: `Put validates an artifact against the contract of its stage. If it is valid, put
records it as the newest attempt, writes it to .pipeline/ISSUE and prints that
path. Earlier attempts stay readable: handoff read ISSUE/plan.json --rev 1.

Only the writer of a stage can submit it, as identified by --as or
HANDOFF_AGENT. The record names what the artifact was made from: the current
inputs of the writer, or what --from names.

If the artifact is invalid, nothing is written, and every error is printed with
a JSON pointer.`,
		Example: "  handoff pipeline put 42 plan plan.json --as jg-subplanner\n" +
			"  handoff pipeline put 42 test - --as jg-tester < result.json",
		Args: cli.Exactly(3, "an issue, a stage and a file"),
	}
	c.Flags().StringVar(&as, "as", "", "`agent` that submits it (default: HANDOFF_AGENT)")
	c.Flags().StringArrayVar(&from, "from", nil, "`ref` of an artifact it was made from; may be repeated (default: the inputs of its writer)")
	c.RegisterFlagCompletionFunc("from", d.CompleteRefs)
	c.RunE = func(c *cobra.Command, args []string) error {
		body, err := contract.ReadFile(d.Dir, args[2], d.In)
		if err != nil {
			return err
		}
		agent := cmp.Or(as, d.Getenv("HANDOFF_AGENT"))
		return d.writing(d.producer(agent), func(w *workspace.Workspace, b *pipeline.Runs) error {
			return d.put(c.Context(), w, b, pipeline.Submission{Issue: args[0], Stage: args[1], Agent: agent, Body: body}, from, args[2])
		})
	}
	return c
}

// producer is the producer that the environment identifies, with an agent.
func (d *desk) producer(agent string) handoff.Producer {
	known := config.Identity(d.Getenv)
	if agent != "" {
		known = append([]handoff.Producer{{Agent: agent, Source: handoff.FromFlag}}, known...)
	}
	return handoff.Identify(known...)
}

func (d *desk) put(ctx context.Context, w *workspace.Workspace, b *pipeline.Runs, sub pipeline.Submission, from []string, file string) error {
	producer := d.producer(sub.Agent)
	var err error
	if sub.From, err = w.As(workspace.CallerFrom(d.Dir, d.Getenv, handoff.Producer{Agent: sub.Agent})).ResolveAll(ctx, from); err != nil {
		return err
	}
	r, err := b.Put(ctx, sub)
	for _, p := range r.Report.Errors {
		fmt.Fprintf(d.Err, "%s: %s\n", cli.OneLine(file), cli.OneLine(p.String()))
	}
	if err != nil {
		return err
	}
	for _, p := range r.Report.Warnings {
		d.Warn("%s: %s", file, p)
	}
	for _, found := range r.SavedEdits {
		d.Warn("%s was edited outside handoff; the edit was saved as %s", found.Path, found.ID)
	}
	for _, warning := range r.Warnings {
		d.Warn("%s", warning)
	}
	d.Warnings(w.RenderSession(ctx, producer.Session))
	if r.Existing {
		fmt.Fprintln(d.Err, "unchanged; no new revision recorded")
	} else {
		fmt.Fprintln(d.Err, cli.Event(r.Artifact))
	}
	return d.print(r.Published, func() { fmt.Fprintln(d.Out, path.Join(base(w), r.Path)) })
}
