package program

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/settings"
	"github.com/agent-handoff/handoff/storage"

	"github.com/agent-handoff/handoff/workspace/store"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	sessioncmd "github.com/agent-handoff/handoff/cmd/internal/sessions"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

const gcHelp = `Gc lists what takes space, and the kept bodies that no artifact needs: those of
withdrawn artifacts only, and of publishes that were killed. Bodies that were
stored in the last hour are not among them.

The --keep flags are a policy for superseded artifacts, kept threads and the
trash: gc then lists each body with the reason why it stays or goes. What has a
label, and what an active artifact, an open session, a claim or a review refers
to always stays. Records stay, and "handoff read" names the policy that dropped
a body. "handoff config set retention" sets a policy for every call.

Gc also lists the sessions that ended longer ago than archive_after of the
settings, and those in the trash. With --collect it removes the files of those
that were deleted more than an hour ago, or that the policy does not keep.

With a log in a bucket, --remote is about the bodies there, not about the copies
on this machine. Those of the last 24 hours stay.

Nothing is deleted without --collect. If a record is missing or can't be read,
gc refuses to decide, because that record may need any body.`

func gcCommand(a *cli.App) *cobra.Command {
	var collect bool
	var o store.GarbageOptions
	c := &cobra.Command{
		Use:     "gc",
		Aliases: []string{"du"},
		Short:   "List what takes space and what can be removed, and remove it with a flag",
		Long:    gcHelp,
		Example: "  handoff gc --by agent\n  handoff gc --keep-last 3 --keep-within 30d\n" +
			"  handoff gc --keep-last 3 --keep-within 30d --collect",
		Args: cli.Exactly(0, ""),
	}
	policy := policyFlags(c)
	c.Flags().StringVar(&o.By, "by", "channel", "group bodies by `kind`: channel, agent, session or state")
	c.Flags().BoolVar(&collect, "collect", false, "delete what no artifact needs and the policy does not keep")
	c.Flags().BoolVar(&o.Remote, "remote", false, "list or collect the bodies in the bucket of the log")
	a.JSONFlag(c, "print JSON", cli.Prints(store.Garbage{}))
	table := a.NewTable(c, bodyColumns)
	c.RunE = func(c *cobra.Command, args []string) error {
		p, set, err := policy()
		if err != nil {
			return err
		}
		o.Policy, o.Collect = p, collect
		return a.Reading(func(w *workspace.Workspace) error {
			if !set {
				o.Policy = w.Store().Policy()
			}
			found, err := w.Store().Garbage(c.Context(), o)
			if err == nil {
				err = printGarbage(a, found, table)
			}
			return err
		})
	}
	return c
}

// policyFlags defines the flags of a policy. The function returns it, and whether one of
// them was given.
func policyFlags(c *cobra.Command) func() (settings.Policy, bool, error) {
	f := c.Flags()
	f.String("keep-last", "", "keep a `count` of artifacts of each name or family")
	f.String("keep-within", "", "keep what is not older than a `duration`, such as 30d")
	return func() (settings.Policy, bool, error) {
		var rules []string
		for _, name := range []string{"keep-last", "keep-within"} {
			if flag := f.Lookup(name); flag.Changed {
				rules = append(rules, name+" "+flag.Value.String())
			}
		}
		p, err := settings.ParsePolicy(strings.Join(rules, ", "))
		if err != nil {
			err = handoff.E("gc", "", handoff.Invalid, err, handoff.Advice("the help of the command has an example"))
		}
		return p, len(rules) > 0, err
	}
}

var bodyColumns = []cli.Column{{Name: "body", Text: true}, {Name: "size", Rank: 2},
	{Name: "reason", Rank: 1, Text: true}}

func printGarbage(a *cli.App, g store.Garbage, table *cli.Table) error {
	if a.AsJSON {
		return a.JSONList("bodies", g)
	}
	if err := table.Print(bodyColumns, garbageRows(g)); err != nil {
		return err
	}
	if n := len(g.Archive); n > 0 {
		fmt.Fprintf(a.Err, "to archive: %s\n", textfmt.Count(n, "session"))
	}
	switch {
	case g.Collected:
		fmt.Fprintf(a.Err, "collected %s, %s\n", bodies(len(g.Bodies)), textfmt.Size(g.SizeBytes))
	case len(g.Bodies) > 0:
		fmt.Fprintf(a.Err, "unreferenced: %s, %s\n", bodies(len(g.Bodies)), textfmt.Size(g.SizeBytes))
	}
	if r := g.Retention; r != nil {
		verb := "to drop"
		if g.Collected {
			verb = "dropped"
		}
		what := bodies(r.Drops())
		if n := r.DropsSessions(); n > 0 {
			what += ", " + textfmt.Count(n, "session")
		}
		fmt.Fprintf(a.Err, "%s by %s: %s, %s; %s stay\n", verb, r.Policy, what, textfmt.Size(r.DropBytes),
			textfmt.Size(r.KeepBytes))
	}
	return nil
}

// garbageRows returns what takes space, unless it was removed, and then what can be removed.
func garbageRows(g store.Garbage) (rows [][]string) {
	if !g.Collected && g.Retention == nil {
		for _, u := range g.Usage {
			rows = append(rows, []string{textfmt.OneLine(strings.TrimSpace(u.By + " " + u.Name)),
				textfmt.Size(u.SizeBytes), usageText(u)})
		}
	}
	for _, b := range g.Bodies {
		rows = append(rows, []string{handoff.SHA256 + ":" + b.Digest.Value, textfmt.Size(b.SizeBytes), string(b.Need)})
	}
	if r := g.Retention; r != nil {
		for _, b := range r.Bodies {
			if b.Drop || !g.Collected {
				of := strings.TrimSpace(b.Channel + " " + cmp.Or(b.Artifact, b.Thread))
				rows = append(rows, []string{handoff.SHA256 + ":" + b.Digest.Value, textfmt.Size(b.SizeBytes),
					strings.TrimSuffix(retentionText(b.Drop, b.Reason)+": "+of, ": ")})
			}
		}
		for _, s := range r.Sessions {
			rows = append(rows, []string{"session " + s.ID, textfmt.Size(s.SizeBytes),
				retentionText(s.Drop, s.Reason) + ": trash"})
		}
	}
	for _, s := range g.Archive {
		rows = append(rows, []string{"session " + s.ID, "", "to archive: " + s.Name})
	}
	if g.Retention == nil {
		for _, s := range g.Trash {
			rows = append(rows, []string{"session " + s.ID, textfmt.Size(s.SizeBytes), sessioncmd.TrashReason(s)})
		}
	}
	return rows
}

func usageText(u storage.DiskUsage) string {
	switch {
	case u.Bodies == 0:
		return ""
	case u.Superseded > 0:
		return fmt.Sprintf("%s, %d superseded", bodies(u.Bodies), u.Superseded)
	}
	return bodies(u.Bodies)
}

func retentionText(drop bool, reason string) string {
	if drop {
		return "goes, " + reason
	}
	return "stays, " + reason
}

func bodies(n int) string {
	if n == 1 {
		return "1 body"
	}
	return strconv.Itoa(n) + " bodies"
}
