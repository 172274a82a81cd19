package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/cmd/internal/complete"
	"github.com/agent-handoff/handoff/cmd/internal/report"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"

	"github.com/agent-handoff/handoff/workspace/store"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/news"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// watchFlags are those that watch and wait share.
type watchFlags struct {
	filter  filterFlags
	options workspace.WatchOptions
	timeout time.Duration

	all     bool // wait for what barrier names
	barrier workspace.Barrier
}

func (f *watchFlags) add(a *cli.App, c *cobra.Command,
	do func(context.Context, *workspace.Workspace) (printed int, last handoff.Seq, err error)) {
	f.filter.add(a, c)
	c.Flags().StringVar(&f.options.After, "after", "",
		"start after an artifact or a `position`: a ref, a seq (0 for the beginning) or now")
	c.Flags().DurationVar(&f.timeout, "timeout", 0, "stop after this `duration` with exit code 5; 0 for never")
	a.JSONFlag(c, "print one JSON object per line",
		cli.Prints(handoff.Artifact{}), cli.PrintsWith("facts", handoff.Record{}), cli.PrintsWith("notices", news.Need{}))
	c.RegisterFlagCompletionFunc("after", complete.Refs(a))
	c.Args = cli.Exactly(0, "")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if f.options.Filter, err = f.filter.resolve(); err != nil {
			return err
		}
		if f.timeout < 0 {
			return cli.Invalid("--timeout", f.timeout.String(), "is negative", "--timeout 0 waits without a limit")
		}
		f.options.Warn = func(text string) { a.Warn("%s", text) }
		ctx := c.Context()
		if f.timeout > 0 {
			ctx = handoff.LimitWaits(ctx, f.timeout)
		}
		return a.Reading(func(w *workspace.Workspace) error {
			printed, last, err := do(ctx, w)
			if errors.Is(err, context.DeadlineExceeded) {
				return timedOut(c, f.timeout, printed, last)
			}
			return err
		})
	}
}

// timedOut is the error of a watch that --timeout ended.
func timedOut(c *cobra.Command, timeout time.Duration, printed int, last handoff.Seq) error {
	e := handoff.E(c.Name(), "", handoff.Unavailable, fmt.Errorf("timed out after %s with no match", timeout),
		handoff.Suggest("list what exists", handoff.ActionList))
	if printed > 0 {
		e.Err = fmt.Errorf("stopped after %s (printed %d)", timeout, printed)
		e.Hint = handoff.Advice("to resume, run: " +
			cli.CommandLine(handoff.ActionWatchAfter, strconv.FormatInt(int64(last), 10)) + givenFilters(c))
	}
	if c.Flags().Changed("notices") { // they have no position to resume from
		e.Hint = handoff.Advice(cli.Name() + " news shows what needs you")
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
			line.WriteString(" --" + f.Name + " " + textfmt.ShellWord(value))
		}
	})
	return line.String()
}

func watchCommand(a *cli.App) *cobra.Command {
	var f watchFlags
	var first, facts, notices bool
	c := &cobra.Command{
		Use:   "watch",
		Short: "Print artifacts as they are published",
		Long: `Watch prints each artifact that is published from now on, one per line, until it
is stopped. Filters apply to an artifact as it was published: one that was
replaced a moment later is printed, too. With --after, watch starts earlier, so
that nothing is missed between two watches.

With --notices it prints a line for each thing that needs you from now on, as
news words it: its notice, its ref, what it is about, and the command that
settles it, for a program that notifies you.

With --facts it prints every record of the log as JSON: artifacts, sessions,
work and everything else, also of types that this version does not know.`,
		Example: "  handoff watch --channel patch\n  handoff watch --after 42 --json\n" +
			"  handoff watch --facts --after 0\n  handoff watch --notices",
	}
	f.add(a, c, func(ctx context.Context, w *workspace.Workspace) (int, handoff.Seq, error) {
		event := func(art handoff.Artifact) string { return report.Event(a, art) }
		switch {
		case facts:
			a.AsJSON = true
			return stream(a, w.Store().Facts(ctx, f.options.After), func(r handoff.Record) (handoff.Seq, error) {
				return r.Seq, a.JSONLine(r)
			})
		case notices:
			return stream(a, watchNeeds(ctx, a, w), func(n news.Need) (handoff.Seq, error) { return 0, printNeed(a, n) })
		case first:
			return wait(ctx, a, w, f.options, event)
		}
		return stream(a, w.Watch(ctx, f.options), func(art handoff.Artifact) (handoff.Seq, error) {
			return art.Seq, printArtifact(a, art, event)
		})
	})
	c.Flags().BoolVar(&first, "first", false, "exit after the first match, existing or new")
	c.Flags().BoolVar(&facts, "facts", false, "print every record of the log, as JSON")
	c.Flags().BoolVar(&notices, "notices", false, "print a line for each thing that needs you from now on")
	alone := map[string][]string{"facts": {"after", "timeout", "json"}, "notices": {"timeout", "json"}}
	c.Flags().VisitAll(func(flag *pflag.Flag) {
		for name, with := range alone {
			if flag.Name != name && !slices.Contains(with, flag.Name) {
				c.MarkFlagsMutuallyExclusive(name, flag.Name)
			}
		}
	})
	return c
}

// noticesEvery is how often watch --notices looks.
const noticesEvery = 2 * time.Second

func watchNeeds(ctx context.Context, a *cli.App, w *workspace.Workspace) iter.Seq2[news.Need, error] {
	source := w.News(thread.NewSet(all.Drivers(), a.Getenv, a.Getenv("HOME")))
	return source.WatchNeeds(ctx, noticesEvery)
}

// printNeed prints something that needs a person on one line.
func printNeed(a *cli.App, n news.Need) error {
	n.How = a.Settle(n)
	if a.AsJSON {
		return a.JSONLine(n)
	}
	fields := []string{string(n.Notice.Code), n.Ref, n.String(), n.How}
	for i, f := range fields {
		fields[i] = textfmt.OneLine(f)
	}
	_, err := fmt.Fprintln(a.Out, strings.Join(fields, "\t"))
	return err
}

func waitCommand(a *cli.App) *cobra.Command {
	var f watchFlags
	c := &cobra.Command{
		Use:   "wait [REF…]",
		Short: "Wait for artifacts and print their IDs",
		Long: `Wait prints the ID of the newest artifact that matches: at once if there is one,
otherwise as soon as it is published. --after REF waits for the first artifact
after REF, and --after now for the next publish.

With refs, it waits until each names an artifact, or one of them with --any:
CHANNEL:LABEL until an artifact of the channel has the label; CHANNEL:v2 for a
second revision; CHANNEL:approved for an approval; a name or a path until it is
published. --count waits for so many artifacts that match, and prints them, the
oldest first. With --reviewed, somebody else than its author must have decided
about each.

On a timeout, it prints what is there, and on standard error what is missing.`,
		Example: "  handoff wait --channel design --timeout 5m\n  handoff wait design:chosen\n  handoff wait --channel " +
			"verification --after $ID",
	}
	f.add(a, c, func(ctx context.Context, w *workspace.Workspace) (int, handoff.Seq, error) {
		if f.all {
			return 0, 0, waitAll(ctx, a, w, f)
		}
		return wait(ctx, a, w, f.options, func(art handoff.Artifact) string { return art.ID })
	})
	c.Flags().BoolVar(&f.barrier.Any, "any", false, "wait for one of the refs")
	c.Flags().IntVar(&f.barrier.Count, "count", 0, "wait for this `number` of artifacts that match")
	c.Flags().BoolVar(&f.barrier.Reviewed, "reviewed", false, "wait for a review of each")
	c.MarkFlagsMutuallyExclusive("count", "any")
	c.MarkFlagsMutuallyExclusive("count", "after")
	c.Args = nil
	c.ValidArgsFunction = complete.Refs(a)
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		f.barrier.Refs = args
		if !c.Flags().Changed("count") && len(args) == 0 {
			f.barrier.Count = 1
		}
		f.all = len(args) > 0 || f.barrier.Reviewed || f.barrier.Any || c.Flags().Changed("count")
		if f.all && f.options.After != "" {
			return cli.Invalid("wait", strings.Join(args, " "),
				"--after is for one artifact, and not for refs, --count or --reviewed", "leave one of them out")
		}
		return run(c, args)
	}
	return c
}

// waitAll prints the artifacts of a barrier and, if ctx ends first, those that are there.
func waitAll(ctx context.Context, a *cli.App, w *workspace.Workspace, f watchFlags) error {
	f.barrier.Filter, f.barrier.Warn = f.options.Filter, f.options.Warn
	there, missing, err := f.barrier.Wait(ctx, w)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	for _, art := range there {
		if err := printArtifact(a, art, func(art handoff.Artifact) string { return art.ID }); err != nil {
			return err
		}
	}
	if err == nil {
		return nil
	}
	return handoff.E("wait", "", handoff.Unavailable, fmt.Errorf("timed out after %s; missing: %s", f.timeout,
		strings.Join(missing, ", ")), handoff.Suggest("list what exists", handoff.ActionList))
}

// stream prints items until they end. It returns how many it printed and the
// position of the last one.
func stream[T any](a *cli.App, items iter.Seq2[T, error], show func(T) (handoff.Seq, error)) (printed int,
	last handoff.Seq, err error) {
	for item, err := range items {
		if errors.Is(err, store.ErrDamagedRecord) {
			a.Warn("%v", err)
			continue
		}
		if err == nil {
			last, err = show(item)
		}
		if err = cmp.Or(err, a.Flush()); err != nil {
			return printed, last, err
		}
		printed++
	}
	return printed, last, nil
}

// wait prints the first match.
func wait(ctx context.Context, a *cli.App, w *workspace.Workspace, o workspace.WatchOptions,
	text func(handoff.Artifact) string) (int, handoff.Seq, error) {
	art, err := w.Wait(ctx, o)
	if err != nil {
		return 0, 0, err
	}
	return 1, art.Seq, printArtifact(a, art, text)
}

func printArtifact(a *cli.App, art handoff.Artifact, text func(handoff.Artifact) string) error {
	if a.AsJSON {
		return a.JSONLine(art)
	}
	_, err := fmt.Fprintln(a.Out, text(art))
	report.Notices(a, art.Notices())
	return err
}
