package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// watchFlags are those that watch and wait share.
type watchFlags struct {
	filter  filterFlags
	after   int64
	first   bool
	timeout time.Duration
	fromNow bool // no place was given
}

func (f *watchFlags) add(a *cli.App, c *cobra.Command) {
	f.filter.add(a, c)
	c.Flags().Int64Var(&f.after, "after", 0, "what comes after this `place` in the log (seq in JSON); 0 for everything")
	c.Flags().DurationVar(&f.timeout, "timeout", 0, "end after this `time` with exit code 5; 0 for never")
	a.JSONFlag(c, "print a JSON object a line")
	c.Args = cli.Exactly(0, "")
	c.RunE = func(c *cobra.Command, args []string) error {
		q, err := f.filter.resolve(a)
		if err != nil {
			return err
		}
		if f.after < 0 || f.timeout < 0 {
			return cli.Invalid(c.Name(), "", "--after and --timeout can't be negative", "--after 0 is the beginning of the log, --timeout 0 no end")
		}
		ctx := c.Context()
		if f.timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, f.timeout)
			defer cancel()
		}
		return a.Reading(func(w *workspace.Workspace) error {
			f.fromNow = !c.Flags().Changed("after")
			printed, err := watch(ctx, a, w, q, f)
			if errors.Is(err, context.DeadlineExceeded) {
				return late(c.Name(), printed, f.timeout)
			}
			return err
		})
	}
}

// late is what a watch ends with when its time is up.
func late(op string, printed int, timeout time.Duration) error {
	e := &handoff.Error{Op: op, Kind: handoff.Unavailable, Err: fmt.Errorf("nothing came within %s", timeout), Hint: handoff.Advice("handoff list shows what is there")}
	if printed > 0 {
		e.Err = fmt.Errorf("%s is over, and %d came", timeout, printed)
		e.Hint = handoff.Advice("handoff watch --after SEQ goes on behind the last one")
	}
	return e
}

func watchCommand(a *cli.App) *cobra.Command {
	var f watchFlags
	c := &cobra.Command{
		Use:     "watch",
		Short:   "Print artifacts as they are published",
		GroupID: cli.Find,
		Long: `Watch prints each artifact that is published from now on, a line each, until it
is stopped. With --after it begins behind a place in the log, so that nothing is
missed between two watches.`,
		Example: "  handoff watch --channel patch\n  handoff watch --after 42 --json",
	}
	f.add(a, c)
	c.Flags().BoolVar(&f.first, "first", false, "end with the first one, which may be there already")
	return c
}

func waitCommand(a *cli.App) *cobra.Command {
	f := watchFlags{first: true}
	c := &cobra.Command{
		Use:     "wait",
		Short:   "Wait for an artifact; the same as watch --first",
		GroupID: cli.Find,
		Long: `Wait prints the newest artifact that fits, at once if there is one, else as soon
as it is published. With --after only what comes after that place in the log
counts.`,
		Example: "  handoff wait --channel design --timeout 5m\n  handoff wait --channel verification --after 42",
	}
	f.add(a, c)
	return c
}

// watch prints the artifacts that q selects, and returns how many. With first
// it ends after one.
func watch(ctx context.Context, a *cli.App, w *workspace.Workspace, q handoff.ArtifactQuery, f *watchFlags) (printed int, err error) {
	from := handoff.Seq(f.after)
	if f.fromNow {
		if from, err = w.Newest(ctx); err != nil {
			return 0, err
		}
		if f.first {
			if found, err := printMatch(ctx, a, w, q); err != nil || found {
				return 1, err
			}
		}
	}
	for r, err := range w.Watch(ctx, from) {
		if err != nil {
			return printed, err
		}
		switch r.Fact.(type) {
		case *handoff.ArtifactPublished:
		case *handoff.Damaged:
			warnDamaged(a, []handoff.Seq{r.Seq})
			continue
		default:
			continue
		}
		one := q
		one.IDPrefix = r.ID
		found, err := printMatch(ctx, a, w, one)
		if err != nil || found && f.first {
			return printed, err
		}
		if found {
			printed++
		}
	}
	return printed, nil
}

// printMatch prints the newest artifact that q selects, if there is one.
func printMatch(ctx context.Context, a *cli.App, w *workspace.Workspace, q handoff.ArtifactQuery) (bool, error) {
	q.Limit = 1
	page, err := w.Artifacts(ctx, q)
	if err != nil || len(page.Artifacts) == 0 {
		return false, err
	}
	art := page.Artifacts[0]
	if a.AsJSON {
		err = a.JSONLine(art)
	} else {
		_, err = fmt.Fprintln(a.Out, cli.Event(art))
	}
	return true, errors.Join(err, a.Flush())
}
