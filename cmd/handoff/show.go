package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/pipelines"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/lineage"
	"github.com/agent-handoff/handoff/local"
	"github.com/spf13/cobra"
)

func showCommand(a *cli.App) *cobra.Command {
	var history, graph, files, asJSON bool
	var format string
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
		ValidArgsFunction: a.CompleteRefs,
	}
	c.Flags().BoolVar(&history, "history", false, "list every revision of it, oldest first")
	c.Flags().BoolVar(&graph, "lineage", false, "draw what it was made from and what was made from it")
	c.Flags().StringVar(&format, "format", "tree", "how to draw the lineage: `tree`, json, dot or mermaid")
	c.Flags().BoolVar(&files, "files", false, "of a session: list what lies in its folder")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.MarkFlagsMutuallyExclusive("history", "lineage", "files")
	c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"tree", "json", "dot", "mermaid"}, cobra.ShellCompDirectiveNoFileComp))
	c.RunE = func(c *cobra.Command, args []string) error {
		if c.Flags().Changed("format") && !graph {
			return cli.Invalid("show", args[0], "--format is for --lineage", "handoff show "+args[0]+" --lineage --format "+format)
		}
		if asJSON && graph {
			format = "json"
		}
		return a.Reading(func(w *local.Workspace) error {
			if !history && !graph {
				shown, err := showWhole(c.Context(), a, w, args[0], files, asJSON)
				if shown || err != nil {
					return err
				}
			}
			if files {
				return cli.Invalid("show", args[0], "is no session; --files lists a session's folder", "handoff session find lists the sessions")
			}
			id, err := a.Here(c.Context(), w, args[0])
			if err != nil {
				return err
			}
			switch {
			case history:
				return showHistory(c.Context(), a, w, id, asJSON)
			case graph:
				return showLineage(c.Context(), a, w, id, format)
			}
			return showOne(c.Context(), a, w, id, asJSON)
		})
	}
	return c
}

// showWhole shows what has artifacts of its own, a session or an issue, if a ref
// is the id of one.
func showWhole(ctx context.Context, a *cli.App, w *local.Workspace, ref string, files, asJSON bool) (shown bool, err error) {
	session, issue := isSession(ctx, w, ref), pipelines.Running(w, ref)
	switch {
	case session && issue:
		return false, &handoff.Error{Op: "show", Name: ref, Kind: handoff.Conflict, Err: errors.New("is the id of a session and of an issue"),
			Hint: "handoff pipeline history " + ref + " shows the issue, handoff session graph " + ref + " the session"}
	case session:
		return true, showSession(ctx, a, w, ref, files, asJSON)
	case issue && !files:
		return true, pipelines.Show(ctx, a, w, ref, asJSON)
	case pipelines.Archived(ctx, w, ref) && !files:
		_, err := a.Here(ctx, w, ref)
		if errors.Is(err, handoff.NotFound) { // else it is a name
			return true, pipelines.Show(ctx, a, w, ref, asJSON)
		}
	}
	return false, nil
}

func showOne(ctx context.Context, a *cli.App, w *local.Workspace, id string, asJSON bool) error {
	art, err := w.Artifact(ctx, id)
	if err != nil {
		return err
	}
	if asJSON {
		err = a.JSON(art)
	} else {
		showArtifact(a, art)
	}
	a.Used(ctx, w, art)
	return err
}

func showArtifact(a *cli.App, art handoff.Artifact) {
	status := string(art.Status)
	if art.Late {
		status += ", late"
	}
	if art.Version > handoff.Version {
		status += fmt.Sprintf(", version %d (newer than this handoff)", art.Version)
	}
	body := []string{string(art.Target)}
	if art.SizeBytes != nil {
		body = append(body, cli.Size(*art.SizeBytes))
	}
	if art.MediaType != "" {
		body = append(body, art.MediaType)
	}
	if art.TargetType != "file" {
		body = append(body, art.TargetType)
	}
	if art.Kept {
		body = append(body, "kept")
	}
	digest := ""
	if art.Digest != (handoff.Digest{}) {
		digest = art.Digest.Algorithm + ":" + art.Digest.Value
	}
	for _, line := range [][2]string{
		{"id", art.ID},
		{"channel", art.Channel},
		{"kind", art.Kind},
		{"status", status},
		{"title", art.Title},
		{"summary", art.Summary},
		{"path", art.Path},
		{"body", strings.Join(body, ", ")},
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
		{"key", art.Key},
		{"metadata", string(art.Metadata)},
		{"record", art.RecordPath},
	} {
		if line[1] != "" {
			fmt.Fprintf(a.Out, "%-11s  %s\n", line[0], cli.OneLine(line[1]))
		}
	}
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

func showHistory(ctx context.Context, a *cli.App, w *local.Workspace, id string, asJSON bool) error {
	list, err := lineage.History(ctx, w, id)
	if err != nil {
		return err
	}
	if asJSON {
		return a.JSON(list)
	}
	a.Artifacts(list, true)
	return nil
}

func showLineage(ctx context.Context, a *cli.App, w *local.Workspace, id, format string) error {
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
