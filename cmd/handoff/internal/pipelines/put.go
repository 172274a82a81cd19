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
		Short: "Hand in a stage's artifact: checked, recorded, and written to the run's folder",
		Long: `Put holds an artifact against its stage's contract and, where it fits, records
it as the newest attempt and writes it to .pipeline/ISSUE, whose path it prints.
Earlier attempts stay readable: handoff read ISSUE/plan.json --rev 1.

Only a stage's writer hands it in: --as, or HANDOFF_AGENT, says who does. The
record holds what the artifact was made from: what its writer reads, as that is
now, or what --from names.

Nothing is written where the artifact breaks its contract; everything that is
wrong with it is printed, each with a JSON pointer.`,
		Example: "  handoff pipeline put 42 plan plan.json --as jg-subplanner\n  handoff pipeline put 42 test - --as jg-tester < result.json",
		Args:    cli.Exactly(3, "an issue, a stage and a file"),
	}
	c.Flags().StringVar(&as, "as", "", "the `agent` that hands it in (default: HANDOFF_AGENT)")
	c.Flags().StringArrayVar(&from, "from", nil, "a `ref` that it was made from; may be repeated (default: what its writer reads)")
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

// producer is who the environment says is at work, as an agent.
func (d *desk) producer(agent string) handoff.Producer {
	said := config.Identity(d.Getenv)
	if agent != "" {
		said = append([]handoff.Producer{{Agent: agent, Source: handoff.FromFlag}}, said...)
	}
	return handoff.Identify(said...)
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
		d.Warn("%s had been changed without a record; the change is kept as %s", found.Path, found.ID)
	}
	for _, warning := range r.Warnings {
		d.Warn("%s", warning)
	}
	d.Warnings(w.RenderSession(ctx, producer.Session))
	if r.Existing {
		fmt.Fprintln(d.Err, "it says so already; nothing was added")
	} else {
		fmt.Fprintln(d.Err, cli.Event(r.Artifact))
	}
	return d.print(r.Published, func() { fmt.Fprintln(d.Out, path.Join(base(w), r.Path)) })
}
