package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// watchFlags are those that watch and wait share.
type watchFlags struct {
	filter  filterFlags
	after   int64
	first   bool
	timeout time.Duration
}

func (f *watchFlags) add(a *cli.App, c *cobra.Command) {
	f.filter.add(a, c)
	c.Flags().Int64Var(&f.after, "after", 0, "start after this `position` in the log (seq in JSON); 0 for its beginning")
	c.Flags().DurationVar(&f.timeout, "timeout", 0, "stop after this `duration` with exit code 5; 0 for never")
	a.JSONFlag(c, "print one JSON object per line")
	c.Args = cli.Exactly(0, "")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		var o workspace.WatchOptions
		if o.Filter, err = f.filter.resolve(); err != nil {
			return err
		}
		if f.timeout < 0 {
			return cli.Invalid("--timeout", f.timeout.String(), "is negative", "--timeout 0 waits without a limit")
		}
		if c.Flags().Changed("after") {
			after := handoff.Seq(f.after)
			o.After = &after
		}
		ctx := c.Context()
		if f.timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, f.timeout)
			defer cancel()
		}
		return a.Reading(func(w *workspace.Workspace) error {
			do := watch
			if f.first {
				do = wait
			}
			printed, last, err := do(ctx, a, w, o)
			if errors.Is(err, context.DeadlineExceeded) {
				return timedOut(c, f.timeout, printed, last)
			}
			return err
		})
	}
}

// timedOut is the error of a watch that --timeout ended.
func timedOut(c *cobra.Command, timeout time.Duration, printed int, last handoff.Seq) error {
	e := &handoff.Error{Op: c.Name(), Kind: handoff.Unavailable, Err: fmt.Errorf("timed out after %s with no match", timeout),
		Hint: handoff.Suggest("list what exists", handoff.ActionList)}
	if printed > 0 {
		e.Err = fmt.Errorf("stopped after %s (printed %d)", timeout, printed)
		e.Hint = handoff.Advice("to resume, run: " + cli.CommandLine(handoff.ActionWatchAfter, strconv.FormatInt(int64(last), 10)) + givenFilters(c))
	}
	return e
}

// givenFilters returns the flags of a watch as they were given, except those
// of where it starts and ends.
func givenFilters(c *cobra.Command) string {
	var line strings.Builder
	c.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		list, isList := f.Value.(pflag.SliceValue)
		switch {
		case f.Name == "after" || f.Name == "timeout":
			return
		case f.Value.Type() == "bool":
			line.WriteString(" --" + f.Name)
			return
		case isList:
			values = list.GetSlice()
		}
		for _, value := range values {
			line.WriteString(" --" + f.Name + " " + cli.ShellWord(value))
		}
	})
	return line.String()
}

func watchCommand(a *cli.App) *cobra.Command {
	var f watchFlags
	c := &cobra.Command{
		Use:     "watch",
		Short:   "Print artifacts as they are published",
		GroupID: cli.Find,
		Long: `Watch prints each artifact that is published from now on, one per line, until it
is stopped. With --after it starts after a position in the log, so that nothing
is missed between two watches.`,
		Example: "  handoff watch --channel patch\n  handoff watch --after 42 --json",
	}
	f.add(a, c)
	c.Flags().BoolVar(&f.first, "first", false, "exit after the first match, existing or new")
	return c
}

func waitCommand(a *cli.App) *cobra.Command {
	f := watchFlags{first: true}
	c := &cobra.Command{
		Use:     "wait",
		Short:   "Wait for an artifact and print it",
		GroupID: cli.Find,
		Long: `Wait prints the newest artifact that matches: at once if there is one, otherwise
as soon as it is published. With --after, only artifacts after that position in
the log match.`,
		Example: "  handoff wait --channel design --timeout 5m\n  handoff wait --channel verification --after 42",
	}
	f.add(a, c)
	return c
}

// watch prints artifacts until ctx ends. It returns how many it printed and the
// position of the last one.
func watch(ctx context.Context, a *cli.App, w *workspace.Workspace, o workspace.WatchOptions) (printed int, last handoff.Seq, err error) {
	for art, err := range w.Watch(ctx, o) {
		if errors.Is(err, workspace.ErrDamagedRecord) {
			a.Warn("%v", err)
			continue
		}
		if err == nil {
			err = printArtifact(a, art)
		}
		if err != nil {
			return printed, last, err
		}
		printed, last = printed+1, art.Seq
	}
	return printed, last, nil
}

// wait prints the first match.
func wait(ctx context.Context, a *cli.App, w *workspace.Workspace, o workspace.WatchOptions) (int, handoff.Seq, error) {
	art, err := w.Wait(ctx, o)
	if err != nil {
		return 0, 0, err
	}
	return 1, art.Seq, printArtifact(a, art)
}

func printArtifact(a *cli.App, art handoff.Artifact) (err error) {
	if a.AsJSON {
		err = a.JSONLine(art)
	} else {
		_, err = fmt.Fprintln(a.Out, a.Event(art))
	}
	a.PrintChanged(art)
	return errors.Join(err, a.Flush())
}
