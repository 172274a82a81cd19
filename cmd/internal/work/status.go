package work

import (
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/transcript"
	"github.com/agent-handoff/handoff/workspace/news"

	"context"
	"fmt"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/threads"
	"github.com/spf13/cobra"
)

var activityColumns = []cli.Column{
	{Name: "kind", Rank: 5}, {Name: "ref", ID: true, Long: true}, {Name: "name", Rank: 1, Text: true},
	{Name: "by", Rank: 2}, {Name: "status"},
	{Name: "active", Rank: 2},
	{Name: "expects", Rank: 3, Text: true}, {Name: "directory", Rank: 4, Text: true}, {Name: "writing", Rank: 3,
		Text: true}, {Name: "branch", More: true}, {Name: "newest", More: true}, {Name: "session", More: true},
	{Name: "next", Rank: 1},
}

var collisionColumns = []cli.Column{
	{Name: "path", Long: true}, {Name: "first", Rank: 1}, {Name: "second", Rank: 1}, {Name: "age", Rank: 2},
}

// statusEvery is how often a status that is watched is updated.
const statusEvery = 2 * time.Second

func statusCommand(a *cli.App) *cobra.Command {
	var watch, collisions, allPlaces bool
	var since string
	c := &cobra.Command{
		Use:   "status",
		Short: "Show what needs you, and which sessions and threads are running",
		Long: `Status shows what needs you, as news does, with the command that settles it.
Then come the sessions of the workspace that were not closed, and the running
threads of this repository, with its worktrees: when each was last active, what
a session is still expected to leave, and which files tool calls changed last
since the last message of the user. A file that two of these threads
changed while both were active is a collision, and has a row of its own.

A session is running while its process is. It is stalled if the process is gone,
or nothing was seen of it for 30 minutes, and idle if it has no process and all
of its threads have ended: it was probably not closed. A thread is running until
its transcript shows that its turn ended, or its process has ended. If its
process is not known, it is running for 30 minutes after its last record.

Check it before you start work that another agent may be doing. In no
repository, it shows all places that you have opened.

With --collisions, it lists instead the files of this repository that two
threads or subagents changed while both were active, also those that have
ended, with the messages that changed them.`,
		Example: "  handoff status\n  handoff status --watch\n  handoff status --collisions --since 2h",
		Args:    cli.Exactly(0, "no arguments"),
	}
	c.Flags().BoolVar(&watch, "watch", false, "update the output until it is interrupted")
	a.JSONFlag(c, "print JSON; with --watch an object for each change",
		append(answersOf(news.Status{}, placesStatus{}), cli.PrintsWith("collisions", transcript.Collisions{}))...)
	c.Flags().BoolVar(&collisions, "collisions", false, "list the files that two threads changed at the same time")
	c.Flags().StringVar(&since, "since", "24h", "with --collisions, changes at or after `time`")
	everywhereFlag(c, &allPlaces)
	c.MarkFlagsMutuallyExclusive("watch", "collisions", "everywhere")
	table := a.NewTable(c, everywhere(activityColumns), collisionColumns)
	c.RunE = func(c *cobra.Command, _ []string) error {
		switch {
		case c.Flags().Changed("since") && !collisions:
			return cli.Invalid("status", "", "--since requires --collisions", "add --collisions")
		case allPlaces || !watch && !collisions && !isPlace(a):
			return statusEverywhere(c.Context(), a, table)
		}
		set := thread.NewSet(all.Drivers(), a.Getenv, a.Getenv("HOME"))
		return a.Reading(func(w *workspace.Workspace) error {
			a.ReportQueued(w)
			if collisions {
				return printCollisions(c.Context(), a, w, set, table, since)
			}
			if watch {
				return watchStatus(c.Context(), a, w.News(set), table)
			}
			return showStatus(c.Context(), a, w.News(set), table)
		})
	}
	return c
}

// statusEverywhere prints the status of each place that the user has opened, on a terminal
// and in a pipe only of those in which there is something.
func statusEverywhere(ctx context.Context, a *cli.App, table *cli.Table) error {
	answer := placesStatus{Places: []placeStatus{}}
	var err error
	answer.Warnings, err = eachPlace(ctx, a, func(dir string, w *workspace.Workspace) ([]string, error) {
		now, err := newsOf(a, w).Status(ctx)
		if err != nil {
			return nil, err
		}
		warnings := now.Warnings
		now.Warnings = nil
		settling(a, now.Needs)
		answer.Places = append(answer.Places, placeStatus{dir, now})
		return warnings, nil
	})
	if err != nil {
		return err
	}
	if a.AsJSON {
		return a.JSONList("places", answer)
	}
	if err := table.Check(everywhere(activityColumns)); err != nil {
		return err
	}
	shown := 0
	for _, p := range answer.Places {
		rows := statusRows(a, p.Status)
		if len(rows) == 0 {
			continue
		}
		heading(a, p.Dir, shown)
		if err := printPlace(a, table, p.Dir, activityColumns, rows); err != nil {
			return err
		}
		shown++
	}
	switch {
	case len(answer.Places) == 0:
		noPlaces(a)
	case shown == 0:
		return table.Print(activityColumns, nil)
	}
	return nil
}

func showStatus(ctx context.Context, a *cli.App, source news.Source, table *cli.Table) error {
	now, err := source.Status(ctx)
	if err != nil {
		return err
	}
	a.Warnings(now.Warnings)
	return printStatus(a, table, now)
}

func printStatus(a *cli.App, table *cli.Table, now news.Status) error {
	settling(a, now.Needs)
	if a.AsJSON {
		return a.JSONList("sessions", now)
	}
	return table.Print(activityColumns, statusRows(a, now))
}

func printCollisions(ctx context.Context, a *cli.App, w *workspace.Workspace, set *thread.Set, table *cli.Table,
	since string) error {
	found, err := w.Threads(set).Collisions(ctx, threads.ListOptions{Since: since})
	if err != nil {
		return err
	}
	a.Warnings(found.Warnings)
	if a.AsJSON {
		return a.JSONList("collisions", found)
	}
	var rows [][]string
	for _, c := range found.Collisions {
		rows = append(rows, []string{c.Path, changeCell(c.First), changeCell(c.Second), a.Age(c.Second.At)})
	}
	return table.Print(collisionColumns, rows)
}

// watchStatus prints the status again when it changes. On a terminal it replaces
// what it printed before.
func watchStatus(ctx context.Context, a *cli.App, source news.Source, table *cli.Table) error {
	last, first := "", true
	for now, err := range source.Watch(ctx, statusEvery) {
		if err != nil {
			return err
		}
		settling(a, now.Needs)
		state, err := watched(a, now)
		if err != nil {
			return err
		}
		if state == last && !first {
			continue
		}
		if last, first = state, false; a.Terminal && !a.AsJSON {
			fmt.Fprint(a.Out, "\x1b[H\x1b[2J")
		}
		if err := printStatus(a, table, now); err != nil {
			return err
		}
		if err := a.Flush(); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// watched returns what is printed again when it changes. JSON has no age.
func watched(a *cli.App, now news.Status) (string, error) {
	if !a.AsJSON {
		return fmt.Sprint(statusRows(a, now)), nil
	}
	b, err := handoff.EncodeJSON(now)
	return string(b), err
}

func statusRows(a *cli.App, now news.Status) (rows [][]string) {
	for _, n := range now.Needs {
		rows = append(rows, []string{"needs you", n.Ref, n.String(), n.By, string(n.Notice.Code), age(a, n.At), "", "",
			"", "", "", "", a.Settle(n)})
	}
	for _, s := range now.Sessions {
		kind := "session"
		if s.Parent != "" {
			kind = "run"
		}
		status := s.Status
		if s.Idle {
			status = "idle"
		}
		rows = append(rows, []string{kind, s.ID, s.DisplayName, s.Agent.Name, status, a.Age(s.ActiveAt),
			expects(s.Expectations), s.Folder, writing(a, s.Writing), "", s.NewestRef, s.Parent, ""})
	}
	for _, t := range now.Threads {
		rows = append(rows, []string{"thread", t.URI, t.Title, "", string(t.State.Status), a.Age(t.ActiveAt), "", t.Dir,
			writing(a, t.Writing), t.Branch, "", t.Session, ""})
	}
	for _, c := range now.Collisions {
		rows = append(rows, []string{"collision", "", changeCell(c.First) + " and " + changeCell(c.Second), "", "",
			a.Age(c.Second.At), "", "", a.Rel(c.Path), "", "", "", ""})
	}
	return rows
}

// writing names files that were changed, as seen from the caller's directory.
func writing(a *cli.App, list []transcript.Write) string {
	var paths []string
	for _, w := range list {
		paths = append(paths, a.Rel(w.Path))
	}
	return strings.Join(paths, ", ")
}

// expects names the outputs that are still missing.
func expects(list []session.Expected) string {
	var names []string
	for _, e := range list {
		if !e.Delivered {
			names = append(names, e.Name)
		}
	}
	return strings.Join(names, ", ")
}

// changeCell names the message that changed a file.
func changeCell(c transcript.Change) string {
	if c.Inferred {
		return c.URI.String() + " (inferred)"
	}
	return c.URI.String()
}
