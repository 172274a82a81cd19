package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/pipelines"
	"github.com/agent-handoff/handoff/internal/lineage"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// showFlags are what a caller wants to see.
type showFlags struct {
	history, graph, files bool
	format                string // of the graph
}

func showCommand(a *cli.App) *cobra.Command {
	var f showFlags
	c := &cobra.Command{
		Use:     "show REF|SESSION|ISSUE",
		Aliases: []string{"get"},
		Short:   "Show one artifact, session or issue: what it is, where it lies, whether it still stands",
		GroupID: cli.Find,
		Long: `Show prints what is recorded of one artifact and what became of it. REF is its
id, a beginning of it that no other has, run/name, or a name. The body is not
printed: read the file at its path, or handoff read REF. Of a session, by its
id, show prints its names, status and outputs, and with --files all that lies in
its folder. Of an issue it prints its run: what came of each stage, what is stale
because something it was made from changed, and what comes next.`,
		Example:           "  handoff show art_01K…\n  handoff show art_01K… --lineage --format mermaid",
		Args:              cli.Exactly(1, "one ref"),
		ValidArgsFunction: a.CompleteRef,
	}
	c.Flags().BoolVar(&f.history, "history", false, "list every revision of it, oldest first")
	c.Flags().BoolVar(&f.graph, "lineage", false, "draw what it was made from and what was made from it")
	c.Flags().StringVar(&f.format, "format", "tree", "how to draw the lineage: `tree`, json, dot or mermaid")
	c.Flags().BoolVar(&f.files, "files", false, "of a session: list what lies in its folder")
	a.JSONFlag(c, "print JSON")
	c.MarkFlagsMutuallyExclusive("history", "lineage", "files")
	c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"tree", "json", "dot", "mermaid"}, cobra.ShellCompDirectiveNoFileComp))
	c.RunE = func(c *cobra.Command, args []string) error {
		formatted := c.Flags().Changed("format")
		switch {
		case formatted && !f.graph:
			return cli.Invalid("show", args[0], "--format is for --lineage", "handoff show "+args[0]+" --lineage --format "+f.format)
		case formatted && a.AsJSON && f.format != "json":
			return cli.Invalid("show", args[0], "--json is one format, and --format "+f.format+" another", "leave one of them out")
		case a.AsJSON:
			f.format = "json"
		}
		return a.Reading(func(w *workspace.Workspace) error { return show(c.Context(), a, w, args[0], f) })
	}
	return c
}

func show(ctx context.Context, a *cli.App, w *workspace.Workspace, ref string, f showFlags) error {
	if !f.history && !f.graph {
		shown, err := showWhole(ctx, a, w, ref, f)
		if shown || err != nil {
			return err
		}
	}
	if f.files {
		return cli.Invalid("show", ref, "is no session; --files lists a session's folder", "handoff session find lists the sessions")
	}
	id, err := a.Here(ctx, w, ref)
	if err != nil {
		return err
	}
	switch {
	case f.history:
		return showHistory(ctx, a, w, id)
	case f.graph:
		return showLineage(ctx, a, w, id, f.format)
	}
	return showOne(ctx, a, w, id)
}

// showWhole shows what has artifacts of its own, a session or an issue, if a ref
// is the id of one.
func showWhole(ctx context.Context, a *cli.App, w *workspace.Workspace, ref string, f showFlags) (shown bool, err error) {
	session, issue := isSession(ctx, w, ref), pipelines.Running(w, ref)
	switch {
	case session && issue:
		return false, &handoff.Error{Op: "show", Name: ref, Kind: handoff.Conflict, Err: errors.New("is the id of a session and of an issue"),
			Hint: handoff.Advice("handoff pipeline history " + ref + " shows the issue, handoff session graph " + ref + " the session")}
	case session:
		return true, showSession(ctx, a, w, ref, f)
	case issue && !f.files:
		return true, pipelines.Show(ctx, a, w, ref)
	case pipelines.Archived(ctx, w, ref) && !f.files:
		_, err := a.Here(ctx, w, ref)
		if errors.Is(err, handoff.NotFound) { // else it is a name
			return true, pipelines.Show(ctx, a, w, ref)
		}
	}
	return false, nil
}

func showOne(ctx context.Context, a *cli.App, w *workspace.Workspace, id string) error {
	art, err := w.Artifact(ctx, id)
	if err != nil {
		return err
	}
	if a.AsJSON {
		err = a.JSON(art)
	} else {
		showArtifact(a, art)
	}
	a.Used(ctx, w, art)
	return err
}

func showArtifact(a *cli.App, art handoff.Artifact) {
	digest, name := "", ""
	if art.Digest != (handoff.Digest{}) {
		digest = art.Digest.Algorithm + ":" + art.Digest.Value
	}
	if art.Name != "" {
		name = art.Namespace + "/" + art.Name
	}
	for _, line := range [][2]string{
		{"id", art.ID},
		{"channel", art.Channel},
		{"kind", art.Kind},
		{"status", status(art)},
		{"title", art.Title},
		{"summary", art.Summary},
		{"name", name},
		{"path", art.Path},
		{"below", place(art)},
		{"body", describe(art)},
		{"digest", digest},
		{"published", cli.Stamp(art.CreatedAt)},
		{"producer", producer(art.Producer)},
		{"thread", threadHint(art.Producer.Thread)},
		{"tags", strings.Join(art.Tags, " ")},
		{"replaces", strings.Join(art.Replaces, " ")},
		{"from", strings.Join(art.Parents, " ")},
		{"replaced by", strings.Join(art.ReplacedBy, " ")},
		{"competing", strings.Join(art.Competing, " ")},
		{"unresolved", strings.Join(art.Unresolved, " ")},
		{"used by", users(art)},
		{"key", art.Key},
		{"metadata", string(art.Metadata)},
		{"record", art.RecordPath},
	} {
		if line[1] != "" {
			fmt.Fprintf(a.Out, "%-11s  %s\n", line[0], cli.OneLine(line[1]))
		}
	}
}

// place says what an artifact's path is below, where that is not the workspace.
func place(art handoff.Artifact) string {
	switch {
	case art.Root != "":
		return "the " + art.Root + " directory"
	case art.Worktree != "":
		return "the worktree " + art.Worktree
	}
	return ""
}

// status says in one line whether an artifact stands.
func status(art handoff.Artifact) string {
	text := string(art.Status)
	if art.Reason != "" {
		text += " (" + art.Reason + ")"
	}
	if art.Late {
		text += ", late"
	}
	if art.Version > handoff.Version {
		text += fmt.Sprintf(", version %d (newer than this handoff)", art.Version)
	}
	return text
}

// describe says in one line what became of a body, and what it is.
func describe(art handoff.Artifact) string {
	parts := []string{string(art.Target)}
	if art.SizeBytes != nil {
		parts = append(parts, cli.Size(*art.SizeBytes))
	}
	if art.MediaType != "" {
		parts = append(parts, art.MediaType)
	}
	if art.TargetType != "file" {
		parts = append(parts, art.TargetType)
	}
	if art.Kept {
		parts = append(parts, "kept")
	}
	return strings.Join(parts, ", ")
}

// users names the work that looked at an artifact.
func users(art handoff.Artifact) string {
	var list []string
	for _, u := range art.UsedBy {
		list = append(list, strings.TrimPrefix(u.Harness+":"+u.WorkID, ":"))
	}
	return strings.Join(list, " ")
}

// producer says in one line who made a record, as far as it is known.
func producer(p handoff.Producer) string {
	if p.Source == handoff.FromNone {
		return "unknown"
	}
	var parts []string
	for _, slot := range []string{"agent", "harness", "session", "run", "operation", "task"} {
		if v := p.Slot(slot); v != "" {
			parts = append(parts, slot+"="+v)
		}
	}
	if p.Model.ID != "" {
		parts = append(parts, "model="+p.Model.ID)
	}
	return strings.Join(parts, " ") + " (" + string(p.Source) + ")"
}

func showHistory(ctx context.Context, a *cli.App, w *workspace.Workspace, id string) error {
	list, err := lineage.History(ctx, w, id)
	if err != nil {
		return err
	}
	if a.AsJSON {
		return a.JSON(list)
	}
	a.Revisions(list)
	return nil
}

func showLineage(ctx context.Context, a *cli.App, w *workspace.Workspace, id, format string) error {
	g, err := lineage.Of(ctx, w, id)
	if err != nil {
		return err
	}
	return a.Draw(g, id, format)
}

// threadHint returns the command that opens a producer's conversation.
func threadHint(uri string) string {
	if uri == "" {
		return ""
	}
	return "handoff thread " + uri
}
