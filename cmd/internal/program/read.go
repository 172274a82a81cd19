package program

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff/cmd/internal/complete"
	"github.com/agent-handoff/handoff/cmd/internal/report"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/storage"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// readFlags select what to read, and where to write it.
type readFlags struct {
	workspace.ReadOptions
	span storage.Span
	to   string
}

func readCommand(a *cli.App) *cobra.Command {
	var f readFlags
	var rev string
	c := &cobra.Command{
		Use:   "read REF",
		Short: "Print an artifact's content as published",
		Long: `Read prints the content of an artifact as it was published: from its file, or,
if that has changed or is gone, from the kept copy, which it reports on standard
error. REF is an ID or part of one, run/name, a name, a path, CHANNEL:LABEL or
REF@v2; see handoff show --help.

For a name, read prints the content of its file: if that was edited outside
handoff, the edit is recorded as a new revision first. For an ID, a path or
--rev it prints what was published.

--offset and --limit select lines, or bytes with --bytes; --json adds the offset
of the next page and the total.

--to writes a new file, or unpacks a directory; it never replaces an existing
file. handoff apply puts a patch or a directory into the working tree.

Exit code 5: the published content is gone and no copy was kept.`,
		Example: `  handoff read art_01K…
  handoff read art_01K… --offset 200 --limit 100
  handoff read art_01K… --to /tmp/as-published.md`,
		Args:              cli.Exactly(1, "one ref"),
		ValidArgsFunction: complete.Ref(a),
	}
	c.Flags().Int64Var(&f.span.Offset, "offset", 0, "skip this `number` of lines, or bytes")
	c.Flags().Int64Var(&f.span.Limit, "limit", 0, "maximum `number` of lines, or bytes; 0 for no limit")
	c.Flags().BoolVar(&f.span.Bytes, "bytes", false, "count bytes instead of lines")
	c.Flags().StringVar(&f.to, "to", "", "write to this `path`, which must not exist")
	c.Flags().StringVar(&rev, "rev", "", "revision `number` of what REF names: 2 or v2")
	c.Flags().BoolVar(&f.Latest, "latest", false, "if several artifacts have the name, read the one written last")
	a.JSONFlag(c, "print JSON; content that is not text is in base64", cli.Prints(storage.BodyPage{}))
	c.MarkFlagsMutuallyExclusive("to", "json")
	c.RunE = func(c *cobra.Command, args []string) error {
		given := c.Flags().Changed
		switch {
		case (given("offset") || given("limit") || f.span.Bytes) && given("to"):
			return cli.Invalid("read", args[0], "--offset, --limit and --bytes can't be combined with --to",
				"leave out --offset, --limit and --bytes")
		case given("to") && f.to == "":
			return cli.Invalid("--to", `""`, "path is empty", "name a new file, or leave --to out")
		}
		if given("rev") {
			n, err := strconv.Atoi(strings.TrimPrefix(rev, "v"))
			if err != nil || n < 1 {
				return cli.Invalid("--rev", rev, "revision must be 1 or greater",
					"--rev 1 is the first; without --rev the newest is read")
			}
			f.Revision = n
		}
		return a.Reading(func(w *workspace.Workspace) error { return read(c.Context(), a, w, args[0], f) })
	}
	return c
}

func read(ctx context.Context, a *cli.App, w *workspace.Workspace, ref string, f readFlags) error {
	b, err := w.Read(ctx, ref, f.ReadOptions)
	if err != nil {
		return err
	}
	defer b.Close()
	switch {
	case f.to != "":
		if err = b.Save(ctx, f.to); err == nil {
			fmt.Fprintf(a.Err, "wrote %s\n", textfmt.OneLine(f.to))
		}
	case a.AsJSON:
		var page storage.BodyPage
		if page, err = b.Page(f.span); err == nil {
			err = a.JSON(page)
		}
	default:
		_, err = b.CopyPage(a.Out, f.span)
	}
	if err != nil {
		return err
	}
	printSource(a, b, f.Revision > 0)
	if b.Unrecorded == "" {
		a.Used(ctx, w, b.Artifact)
	}
	return nil
}

// printSource reports where a body is from, unless it is its file as published,
// and an artifact that is no longer active. That a revision was replaced is no news
// to a caller who named it.
func printSource(a *cli.App, b workspace.Body, named bool) {
	art := b.Artifact
	switch {
	case b.Unrecorded != "":
		fmt.Fprintf(a.Err, "unrecorded: %s\n", textfmt.OneLine(b.Unrecorded))
		return
	case art.Redacted != nil && art.Redacted.Body != "": // see below
	case b.Kept && art.File == "" && (art.Target == handoff.Remote || art.Target == handoff.Available):
		fmt.Fprintf(a.Err, "from the kept copy: %s is on another machine\n", textfmt.OneLine(a.Named(art)))
	case b.Kept && art.File == "":
		fmt.Fprintf(a.Err, "from the kept copy: %s can't be reached from here\n", textfmt.OneLine(a.Named(art)))
	case b.Kept && art.Target != handoff.Available:
		fmt.Fprintf(a.Err, "from the kept copy: %s is %s\n", textfmt.OneLine(a.Named(art)), art.Target)
	case !b.Kept && art.Target != handoff.Available:
		a.Warn("not verified: %s has no digest, so it may have changed since it was published", a.Named(art))
	}
	if b.Saved {
		a.Warn("%s was edited outside handoff; the edit was saved as %s", a.Named(art), art.ID)
	}
	if text := art.Redacted.Notice(); text != "" {
		a.Warn("%s: %s", art.ID, text)
	}
	report.Notices(a, slices.DeleteFunc(art.Notices(), func(n handoff.Notice) bool {
		return named && n.Code == handoff.NoticeSuperseded
	}))
}
