package program

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/cmd/internal/complete"
	"github.com/agent-handoff/handoff/cmd/internal/report"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/lineage"
	"github.com/agent-handoff/handoff/pipeline"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/trace"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/pipelines"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// showFlags are what a caller wants to see.
type showFlags struct {
	history, graph, files bool
	state                 bool   // of a pipeline run
	format                string // of the graph
	table                 *cli.Table
}

func showCommand(a *cli.App) *cobra.Command {
	var f showFlags
	c := &cobra.Command{
		Use:     "show REF|SESSION|ISSUE",
		Aliases: []string{"get"},
		Short:   "Show an artifact, session or issue: metadata, location, status",
		Long: `Show prints the metadata, location and status of an artifact. The content is not
printed: open the file at the path, or use handoff read.

REF is, in this order: an ID; run/name, or a name, which is searched in your
run, then in your session, then everywhere; the path of a published file, for
its newest artifact; CHANNEL:latest, CHANNEL:LABEL, CHANNEL:v2 or REF@v2, for
the newest active artifact, the labeled one, or a revision; at least 6
characters of the start or end of an ID. The first with a match decides.

For the ID of a session or run, show prints its names, status and outputs, and
with --files what is in its folder.

For an issue, or the name of an archived run such as completed/42, show lists
every attempt of its pipeline run, oldest first: its outcome, the attempts that
it was made from, when it was submitted, the revision to read it with, and what
was decided about it. What is out of date is a note, and what comes next
follows. An attempt that was rejected has no number. If the folder of the run
was removed, the attempts come from the records.

With --state it prints the state.yaml that follows from the artifacts of a run.
If the run has a state.yaml that differs, each difference is a warning and the
exit code is 1.

The last lines are a receipt: the work that published the artifact, or all work
of the session, how long it took, its tokens and cost, and what it published.
What is not known is left out.`,
		Example: "  handoff show art_01K…\n  handoff show art_01K… --lineage --format mermaid\n" +
			"  handoff show 42\n  handoff show 42 --state",
		Args:              cli.Exactly(1, "one ref"),
		ValidArgsFunction: complete.Ref(a),
	}
	c.Flags().BoolVar(&f.history, "history", false, "list every revision, oldest first")
	c.Flags().BoolVar(&f.graph, "lineage", false, "draw what it was made from and what was made from it")
	c.Flags().StringVar(&f.format, "format", "tree", "lineage `format`: tree, json, dot or mermaid")
	c.Flags().BoolVar(&f.files, "files", false, "for sessions, list the files in the folder")
	c.Flags().BoolVar(&f.state, "state", false, "for issues, print state.yaml as derived from the artifacts")
	a.JSONFlag(c, "print JSON",
		cli.Prints(workspace.Shown{Artifact: &handoff.Artifact{}}),
		cli.Prints(workspace.Shown{Session: &session.Detail{}}), cli.Prints(workspace.Shown{}),
		cli.PrintsWith("history", workspace.Revisions{}), cli.PrintsWith("lineage", lineage.Graph{}),
		cli.PrintsWith("state", pipeline.Notes{}))
	f.table = a.NewTable(c, cli.ArtifactColumns, pipelines.AttemptColumns)
	c.MarkFlagsMutuallyExclusive("history", "lineage", "files", "state")
	c.MarkFlagsMutuallyExclusive("columns", "lineage", "files", "state")
	c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"tree", "json", "dot", "mermaid"},
		cobra.ShellCompDirectiveNoFileComp))
	c.RunE = func(c *cobra.Command, args []string) error {
		formatted := c.Flags().Changed("format")
		switch {
		case formatted && !f.graph:
			return cli.Invalid("show", args[0], "--format requires --lineage", "add --lineage")
		case formatted && a.AsJSON && f.format != "json":
			return cli.Invalid("show", args[0], "--json and --format "+f.format+" are mutually exclusive",
				"leave one of them out")
		case a.AsJSON:
			f.format = "json"
		}
		return a.Reading(func(w *workspace.Workspace) error { return show(c.Context(), a, w, args[0], f) })
	}
	return c
}

func show(ctx context.Context, a *cli.App, w *workspace.Workspace, ref string, f showFlags) error {
	switch {
	case f.history:
		return showHistory(ctx, a, w, ref, f.table)
	case f.graph:
		id, graph, err := w.Lineage(ctx, ref)
		if err != nil {
			return err
		}
		return report.Graph(a, graph, id, f.format)
	case f.state:
		notes, err := w.Pipelines().Notes(ctx, ref)
		if err != nil {
			return err
		}
		return pipelines.PrintState(a, notes)
	}
	set := thread.NewSet(all.Drivers(), a.Getenv, a.Getenv("HOME"))
	shown, err := w.Show(ctx, ref, f.files)
	if err != nil {
		return w.Threads(set).Elsewhere(ctx, "show", ref, err)
	}
	if err := w.AddTranscripts(ctx, set, &shown); err != nil {
		a.Warn("%v", err)
	}
	switch {
	case a.AsJSON:
		err = showJSON(a, shown)
	case shown.Issue != nil:
		err = pipelines.PrintOverview(a, *shown.Issue, f.table)
	case f.table.Given():
		return cli.Invalid("show", ref, "is not a list", "leave out --columns and --wide, or add --history")
	case shown.Session != nil:
		printSession(a, *shown.Session)
	default:
		showArtifact(a, *shown.Artifact, shown.NoThread)
		showVerdicts(a, shown.Verification)
		for _, comment := range shown.Discussion {
			printComment(a, comment)
		}
	}
	if r := shown.Receipt; r != nil && !a.AsJSON {
		fmt.Fprintln(a.Out)
		report.Receipt(a, a.Out, *r)
	}
	if shown.Artifact != nil {
		a.Used(ctx, w, *shown.Artifact)
	}
	return err
}

func showJSON(a *cli.App, shown workspace.Shown) error {
	if shown.Issue != nil {
		return a.JSONList("attempts", *shown.Issue)
	}
	return a.JSON(shown)
}

func showArtifact(a *cli.App, art handoff.Artifact, noThread bool) {
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
		{"redacted", art.Redacted.Notice()},
		{"dropped", art.Dropped.Notice()},
		{"revision", fmt.Sprint("v", art.Revision)},
		{"labels", strings.Join(art.Labels, " ")},
		{"title", art.Title},
		{"summary", art.Summary},
		{"name", name},
		{"path", a.Path(art)},
		{"read with", readCommandLine(art)},
		{"inside", inside(art)},
		{"body", describe(art)},
		{"digest", digest},
		{"published", textfmt.Stamp(art.CreatedAt)},
		{"producer", producer(art.Producer)},
		{"attributed", attributed(art)},
		{"thread", threadLine(art, noThread)},
		{"tags", strings.Join(art.Tags, " ")},
		{"replaces", strings.Join(art.Replaces, " ")},
		{"from", strings.Join(art.Parents, " ")},
		{"unresolved", strings.Join(art.Unresolved, " ")},
		{"used by", users(art)},
		{"key", art.Key},
		{"claims", claimed(art)},
		{"attested", attested(art)},
		{"metadata", string(art.Metadata)},
		{"record", art.RecordPath},
	} {
		if line[1] != "" {
			fmt.Fprintf(a.Out, "%-11s  %s\n", line[0], textfmt.OneLine(line[1]))
		}
	}
	printNotices(a, art.Notices())
	for _, l := range art.Applied {
		fmt.Fprintf(a.Out, "%-11s  %s\n", "applied", textfmt.OneLine(fmt.Sprintf("to %.12s by %s, %s", l.Commit, l.By,
			textfmt.Stamp(l.CreatedAt))))
	}
	for _, l := range art.LabelHistory {
		fmt.Fprintf(a.Out, "%-11s  %s\n", "labeled", textfmt.OneLine(labeling(l)))
	}
}

// showVerdicts prints each claim with its verdict.
func showVerdicts(a *cli.App, v *trace.Verification) {
	if v == nil {
		return
	}
	a.Warnings(v.Warnings)
	for _, claim := range v.Claims {
		fmt.Fprintf(a.Out, "%-11s  %s: %s\n", "claim", claim.Verdict, textfmt.OneLine(claim.Text))
	}
}

// claimed returns how many claims an artifact has, with the command that shows their
// evidence.
func claimed(art handoff.Artifact) string {
	if len(art.Claims) == 0 {
		return ""
	}
	return fmt.Sprintf("%d, checked by %s", len(art.Claims), cli.CommandLine(handoff.ActionVerify, art.ID))
}

// attested returns how the command of an attestation ended.
func attested(art handoff.Artifact) string {
	at := art.Attestation
	if at == nil {
		return ""
	}
	return fmt.Sprintf("exit status %d after %s, in %s", at.ExitStatus, time.Duration(at.DurationMS)*time.Millisecond,
		"./"+at.Dir)
}

// labeling returns a change of an artifact's labels on one line.
func labeling(l handoff.Labeling) string {
	text := l.Label
	if l.Removed {
		text += " removed"
	}
	if l.Agent != "" {
		text += " by " + l.Agent
	}
	return text + ", " + textfmt.Stamp(l.CreatedAt)
}

// inside returns what an artifact's path is relative to, "" for the workspace.
func inside(art handoff.Artifact) string {
	switch {
	case art.Root != "":
		return "the " + art.Root + " directory"
	case art.Worktree != "":
		return "the worktree " + art.Worktree
	}
	return ""
}

// status returns the status of an artifact on one line.
func status(art handoff.Artifact) string {
	text := string(art.Status)
	if art.Version > handoff.Version {
		text += fmt.Sprintf(", version %d (newer than this handoff)", art.Version)
	}
	return text
}

// describe returns the state and the form of a body on one line.
func describe(art handoff.Artifact) string {
	parts := []string{string(art.Target)}
	if art.SizeBytes != nil {
		parts = append(parts, textfmt.Size(*art.SizeBytes))
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

// users returns who read an artifact, as far as it is known.
func users(art handoff.Artifact) string {
	var list []string
	for _, u := range art.UsedBy {
		work := strings.TrimPrefix(u.Harness+":"+u.WorkID, ":")
		switch {
		case u.Inferred:
			work = "inferred from " + u.Thread
		case u.RunID != "":
			work = "run " + u.RunID
		case u.Session != "":
			work = "session " + u.Session
		}
		if u.Agent != "" {
			work = u.Agent + " (" + work + ")"
		}
		list = append(list, work)
	}
	return strings.Join(list, ", ")
}

// producer returns who made a record on one line, as far as it is known.
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

func showHistory(ctx context.Context, a *cli.App, w *workspace.Workspace, ref string, table *cli.Table) error {
	history, err := w.History(ctx, ref)
	if err != nil {
		return err
	}
	if a.AsJSON {
		return a.JSONList("artifacts", history)
	}
	return table.Revisions(history.Artifacts)
}

// readCommandLine returns the command that prints what was published if the file
// doesn't contain it any more.
func readCommandLine(art handoff.Artifact) string {
	if art.IsStored() {
		return cli.CommandLine(handoff.ActionRead, art.ID)
	}
	if !art.Kept || art.File != "" && art.Target != handoff.Modified && art.Target != handoff.Missing {
		return ""
	}
	return cli.CommandLine(handoff.ActionRead, art.ID)
}

// attributed returns what a transcript shows of the publisher and the record does not.
func attributed(art handoff.Artifact) string {
	by := art.Attributed
	if by == nil {
		return ""
	}
	var parts []string
	if by.Agent != "" && by.Agent != art.Producer.Agent {
		parts = append(parts, "agent="+by.Agent)
	}
	if by.Model.ID != "" && by.Model.ID != art.Producer.Model.ID {
		parts = append(parts, "model="+by.Model.ID)
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, " ") + " (" + by.Source + ")"
}

// threadLine returns the command that prints the thread of an artifact, or its URI if
// it has no transcript.
func threadLine(art handoff.Artifact, noThread bool) string {
	switch {
	case art.Attributed != nil:
		return threadCommandLine(art.Attributed.Thread)
	case noThread:
		return art.Producer.Thread + " (no transcript on this machine)"
	}
	return threadCommandLine(art.Producer.Thread)
}

// threadCommandLine returns the command that prints a producer's thread, or
// its URI if handoff can't read the threads of that program.
func threadCommandLine(uri string) string {
	u, err := thread.ParseURI(uri)
	if uri == "" || err != nil {
		return uri
	}
	if !slices.ContainsFunc(all.Drivers(), func(d thread.Driver) bool { return d.Name == u.Provider }) {
		return uri
	}
	return cli.CommandLine(handoff.ActionThread, uri)
}
