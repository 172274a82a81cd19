package sessions

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff/cmd/internal/complete"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/session"

	"github.com/agent-handoff/handoff/workspace/sessions"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func deleteCommand(a *cli.App) *cobra.Command {
	var force, undo bool
	c := &cobra.Command{
		Use:   "delete [SESSION…]",
		Short: "Put sessions in the trash, or take them back",
		Long: `Delete records that sessions are in the trash. Lists omit them, and their
manifests are removed. All other files stay where they are, every ref to a
session and to its artifacts still resolves, and --undo takes it back. Only
handoff gc --collect removes the files. A session that is running or stalled is
refused without --force.

Without SESSION, on a terminal, delete lists the sessions that ended, with their
age, their size and the number of their artifacts that are active, and asks
which to delete.`,
		Example: "  handoff session delete intake-app#1\n  handoff session delete --undo intake-app#1\n" +
			"  handoff session find --deleted",
		ValidArgsFunction: complete.Sessions(a),
	}
	c.Flags().BoolVar(&force, "force", false, "delete a session that is running or stalled, too")
	c.Flags().BoolVar(&undo, "undo", false, "take sessions back from the trash")
	c.MarkFlagsMutuallyExclusive("force", "undo")
	a.JSONFlag(c, "print JSON", cli.Prints(sessions.Changes{}), cli.Prints(stopped{}))
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 && (!a.Terminal || a.AsJSON || undo) {
			return cli.Invalid("session", "", "no session given", "name at least one session")
		}
		return change(a, func(w *workspace.Workspace) (sessions.Changes, error) {
			if len(args) == 0 {
				var err error
				if args, err = pick(c.Context(), a, w); err != nil || len(args) == 0 {
					return sessions.Changes{}, err
				}
			}
			if undo {
				return w.Sessions().Restore(c.Context(), args)
			}
			return w.Sessions().Delete(c.Context(), args, force)
		})
	}
	return c
}

// pick lists the sessions that can be deleted and returns the IDs of those that the
// user selects by their numbers.
func pick(ctx context.Context, a *cli.App, w *workspace.Workspace) ([]string, error) {
	const shown = 50
	list, err := w.Sessions().ToDelete(ctx, shown)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		fmt.Fprintln(a.Err, "no session has ended")
		return nil, nil
	}
	for i, s := range list {
		fmt.Fprintf(a.Out, "%3d  %s  %s  %s  %s\n", i+1, textfmt.OneLine(s.Name), a.Age(s.OpenedAt),
			textfmt.Size(s.SizeBytes),
			textfmt.Count(len(s.Active), "active artifact"))
	}
	fmt.Fprint(a.Out, "sessions to put in the trash, such as 1 3-5 (none): ")
	if err := a.Flush(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(a.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) { // at the end of the input, none
		return nil, err
	}
	numbers, err := parseNumbers(line, len(list))
	ids := make([]string, len(numbers))
	for i, n := range numbers {
		ids[i] = list[n-1].ID
	}
	return ids, err
}

// parseNumbers returns the numbers of a list such as 1 3-5, which are from 1 to most.
func parseNumbers(text string, most int) ([]int, error) {
	var list []int
	for _, field := range strings.FieldsFunc(text,
		func(r rune) bool { return r == ' ' || r == ',' || r == '\t' || r == '\r' || r == '\n' }) {
		first, last, isRange := strings.Cut(field, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err != nil || err2 != nil || from < 1 || to > most || from > to {
			return nil, cli.Invalid("session", field, "not a number of the list",
				fmt.Sprintf("use numbers from 1 to %d, such as 1 3-5", most))
		}
		for n := from; n <= to; n++ {
			list = append(list, n)
		}
	}
	return list, nil
}

// unrecorded names the files of a session in the trash of which nothing is known.
func unrecorded(s session.Summary) string {
	switch s.Unrecorded {
	case 0:
		return ""
	case 1:
		return ", with 1 file that no artifact recorded"
	}
	return fmt.Sprintf(", with %d files that no artifact recorded", s.Unrecorded)
}

// TrashReason says whether the files of a session in the trash can be removed, or were.
func TrashReason(s session.Summary) string {
	switch {
	case s.Removed:
		return "removed: " + s.Name + unrecorded(s)
	case len(s.NeededBy) > 0:
		return "in the trash, needed by " + strings.Join(s.NeededBy, ", ")
	}
	return "in the trash: " + s.Name + unrecorded(s)
}
