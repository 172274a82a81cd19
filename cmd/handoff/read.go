package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/pipelines"
	"github.com/agent-handoff/handoff/internal/content"
	"github.com/agent-handoff/handoff/internal/names"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// readFlags are what a caller wants of a body.
type readFlags struct {
	span    content.Span
	to      string
	inPlace bool
	rev     int  // of a name, from 1
	latest  bool // of several that have the name, the last that was written
}

func readCommand(a *cli.App) *cobra.Command {
	var f readFlags
	c := &cobra.Command{
		Use:     "read REF",
		Short:   "Print what an artifact published, even when its file changed since",
		GroupID: cli.Find,
		Long: `Read prints the body of an artifact as it was published: from its file, or,
where that changed or is gone, from the copy that was kept. Standard error says
so then. REF is an id, a beginning of it that no other has, run/name, or a name:
it is looked for among your run's names, then your session's, then everywhere.

--offset and --limit select lines, and with --bytes bytes; --json adds where the
next page begins and how much there is in all.

--to writes a new file, or unpacks a directory; --in-place writes the body back
to where it was published, if nothing is there now. Neither ever overwrites.

Exit code 5 says that what was published is gone, and no copy was kept.`,
		Example: "  handoff read art_01K…\n  handoff read art_01K… --offset 200 --limit 100\n" +
			"  handoff read art_01K… --to /tmp/as-published.md",
		Args:              cli.Exactly(1, "one ref"),
		ValidArgsFunction: a.CompleteRef,
	}
	c.Flags().Int64Var(&f.span.Offset, "offset", 0, "leave out this `number` of lines, or bytes")
	c.Flags().Int64Var(&f.span.Limit, "limit", 0, "at most this `number` of lines, or bytes; 0 for all")
	c.Flags().BoolVar(&f.span.Bytes, "bytes", false, "count bytes, not lines")
	c.Flags().StringVar(&f.to, "to", "", "write it to this `path`, where nothing is yet")
	c.Flags().BoolVar(&f.inPlace, "in-place", false, "write it to where it was published, if nothing is there now")
	c.Flags().IntVar(&f.rev, "rev", 0, "the name's revision of this `number`, from 1")
	c.Flags().BoolVar(&f.latest, "latest", false, "of several that have the name, the one that was written last")
	a.JSONFlag(c, "print JSON, with the content in base64 where it is no text")
	c.MarkFlagsMutuallyExclusive("to", "in-place", "json")
	c.RunE = func(c *cobra.Command, args []string) error {
		given := c.Flags().Changed
		switch {
		case (given("offset") || given("limit") || f.span.Bytes) && (given("to") || f.inPlace):
			return cli.Invalid("read", args[0], "a part is for printing, not for a file", "leave out --offset, --limit and --bytes")
		case given("to") && f.to == "":
			return cli.Invalid("--to", `""`, "path is empty", "name a new file, or leave --to out")
		case given("rev") && f.rev < 1:
			return cli.Invalid("--rev", strconv.Itoa(f.rev), "is no revision", "--rev 1 is the first, and without --rev the newest is read")
		}
		return a.Reading(func(w *workspace.Workspace) error {
			return readRef(c.Context(), a, w, args[0], f)
		})
	}
	return c
}

// readRef reads what a ref means to the caller.
func readRef(ctx context.Context, a *cli.App, w *workspace.Workspace, ref string, f readFlags) error {
	if handoff.IsArtifactIDPrefix(ref) && !handoff.IsArtifactID(ref) {
		id, err := cli.ExpandID(ctx, w, ref)
		if err != nil {
			return err
		}
		ref = id
	}
	find := names.Find
	if f.latest {
		find = names.Latest
	}
	found, err := find(ctx, w, a.Scope(ctx, w, a.Caller()), ref)
	switch {
	case errors.Is(err, handoff.NotFound):
		if file, name := pipelines.OpenUnrecorded(w, ref); file != nil {
			return copyUnrecorded(a, file, name, "handoff pipeline put "+strings.Replace(ref, "/", " ", 1)+" "+name, f)
		}
		return err
	case err != nil:
		return err
	case found.Unrecorded():
		return readUnrecorded(a, found, ref, f)
	case f.rev == 0:
		return read(ctx, a, w, found.ID, f)
	}
	revisions, err := names.Revisions(ctx, w, found.Namespace, found.Name)
	if err != nil {
		return err
	}
	if found.Name == "" || f.rev > len(revisions) {
		return &handoff.Error{Op: "read", Name: ref, Kind: handoff.NotFound, Err: fmt.Errorf("has no revision %d", f.rev),
			Hint: handoff.Advice("handoff show " + found.ID + " --history lists them")}
	}
	return read(ctx, a, w, revisions[f.rev-1].ID, f)
}

// readUnrecorded prints a file that lies where names lie.
func readUnrecorded(a *cli.App, found names.Candidate, ref string, f readFlags) error {
	file, err := found.Open()
	if err != nil {
		return &handoff.Error{Op: "read", Name: ref, Kind: handoff.Unavailable, Err: reason(err), Hint: handoff.Advice("the file lies at " + found.File)}
	}
	return copyUnrecorded(a, file, found.File, "handoff write "+found.Name+" "+found.File, f)
}

// copyUnrecorded prints a file that no record tells of, and closes it. The hint
// is the command that records it.
func copyUnrecorded(a *cli.App, file *os.File, name, hint string, f readFlags) error {
	defer file.Close()
	if f.to != "" || f.inPlace || a.AsJSON || f.rev != 0 {
		return &handoff.Error{Op: "read", Name: name, Kind: handoff.NotFound, Err: errors.New("no record tells of it"), Hint: handoff.Advice(hint + " records it")}
	}
	fmt.Fprintf(a.Err, "unrecorded: %s\n", cli.OneLine(name))
	_, err := content.CopyPage(a.Out, file, f.span)
	return err
}

// read answers with the body of an artifact that is known by its id.
func read(ctx context.Context, a *cli.App, w *workspace.Workspace, id string, f readFlags) error {
	b, err := w.Hub.Open(ctx, id)
	if err != nil {
		return err
	}
	defer b.Close()
	switch {
	case f.inPlace:
		err = wrote(a, b.Artifact.Path, w.PutBack(ctx, b))
	case f.to != "":
		err = wrote(a, f.to, workspace.Save(ctx, b, cli.Absolute(a.Dir, f.to)))
	case b.Artifact.Digest.Algorithm == handoff.SHA256Tar:
		return cli.Invalid("read", id, "is a directory", "handoff read "+id+" --to DIR unpacks it")
	case a.AsJSON:
		err = readJSON(a, b, f.span)
	default:
		_, err = content.CopyPage(a.Out, b, f.span)
	}
	if err != nil {
		return err
	}
	tell(a, b)
	a.Used(ctx, w, b.Artifact)
	return nil
}

func wrote(a *cli.App, path string, err error) error {
	if err == nil {
		fmt.Fprintf(a.Err, "wrote %s\n", cli.OneLine(path))
	}
	return err
}

// tell says where a body comes from, where that is not its file as published,
// and whether it still stands.
func tell(a *cli.App, b handoff.Content) {
	art := b.Artifact
	switch {
	case b.Kept && art.Target != handoff.Available:
		fmt.Fprintf(a.Err, "from the kept copy: %s is %s\n", cli.OneLine(art.Path), art.Target)
	case !b.Kept && art.Target != handoff.Available:
		a.Warn("%s has no digest: whether it changed can't be told", art.Path)
	}
	switch art.Status {
	case handoff.Withdrawn:
		a.Warn("%s was withdrawn", art.ID)
	case handoff.Superseded:
		a.Warn("%s was replaced by %s", art.ID, strings.Join(art.ReplacedBy, " "))
	}
}

// readJSON prints a page of a body, and where it comes from.
func readJSON(a *cli.App, b handoff.Content, span content.Span) error {
	var text bytes.Buffer
	page, err := content.CopyPage(&text, b, span)
	if err != nil {
		return err
	}
	answer := struct {
		ID      string         `json:"id"`
		Path    string         `json:"path"`
		Target  handoff.Target `json:"target"`
		Kept    bool           `json:"kept"` // it is the kept copy's
		Unit    string         `json:"unit"`
		Offset  int64          `json:"offset"`
		Next    int64          `json:"next,omitempty"` // absent at the end
		Total   int64          `json:"total"`
		Content *string        `json:"content,omitempty"`
		Base64  []byte         `json:"base64,omitempty"`
	}{ID: b.Artifact.ID, Path: b.Artifact.Path, Target: b.Artifact.Target, Kept: b.Kept,
		Unit: "lines", Offset: span.Offset, Next: page.Next, Total: page.Total}
	if span.Bytes {
		answer.Unit = "bytes"
	}
	if s := text.String(); utf8.ValidString(s) && !strings.ContainsRune(s, 0) {
		answer.Content = &s
	} else {
		answer.Base64 = text.Bytes()
	}
	return a.JSON(answer)
}
