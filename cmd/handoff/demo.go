package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/demo"
	"github.com/agent-handoff/handoff/lineage"
	"github.com/agent-handoff/handoff/local"
	"github.com/agent-handoff/handoff/session"
	"github.com/spf13/cobra"
)

func demoCommand(a *app) *cobra.Command {
	var role string
	c := &cobra.Command{
		Use:     "demo",
		Short:   "Watch four agents hand real files on, in a fresh directory",
		GroupID: care,
		Long: `Demo starts four processes, an architect, a builder, a reviewer and a lead, in
a fresh directory below the current one. They mend a small Go program. None is
told where the others' files are: each waits for what it needs, reads only that,
and publishes what it made. A patch is replaced after its tests failed, and two
revisions of the design, made at the same time, are settled by the lead.

Every line after a $ is a command that was really run.`,
		Example: "  handoff demo",
		Args:    exactly(0, ""),
	}
	c.Flags().StringVar(&role, "role", "", "")
	c.Flags().MarkHidden("role")
	c.RunE = func(c *cobra.Command, args []string) error {
		if role == "" {
			return a.demo(c.Context())
		}
		return a.stage().Act(c.Context(), role)
	}
	return c
}

func (a *app) stage() demo.Stage {
	return demo.Stage{Dir: a.dir, Self: a.self, Environ: os.Environ(), Out: a.out, Flush: a.flush,
		NewID: func() (string, error) { return session.NewID(a.rand) }}
}

// demo lets the four play, and shows what came of it.
func (a *app) demo(ctx context.Context) error {
	start := a.now()
	dir, err := a.stage().Play(ctx)
	if err != nil {
		return err
	}
	return a.demoReceipt(ctx, dir, start)
}

// demoReceipt shows what the four made, and what it was made from.
func (a *app) demoReceipt(ctx context.Context, dir string, start time.Time) error {
	w, err := local.Open(dir, local.Options{Getenv: func(string) string { return "" }, Now: a.now, Rand: a.rand})
	if err != nil {
		return err
	}
	defer w.Close()
	page, err := w.Artifacts(ctx, handoff.ArtifactQuery{Hidden: true})
	if err != nil {
		return err
	}
	last := page.Artifacts[0]
	fmt.Fprintf(a.out, "\nreceipt: %d artifacts by %d agents in %.1fs\n", len(page.Artifacts), len(demo.Names), a.now().Sub(start).Seconds())
	a.table(page.Artifacts, true)
	g, err := lineage.Of(ctx, w, last.ID)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "\nwhat the summary was made from:\n%s", g.Tree(last.ID))
	rel, err := filepath.Rel(a.dir, dir)
	if err != nil {
		rel = dir
	}
	fmt.Fprintf(a.out, "\ntry next: cd %s && handoff show %s --lineage --format mermaid\n", rel, last.ID)
	fmt.Fprintf(a.out, "          %s is the file that the next agent would read\n", strings.TrimPrefix(last.Path, "./"))
	return nil
}
