package find

import (
	"fmt"
	"strconv"

	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/transcript"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/threads"
	"github.com/spf13/cobra"
)

func keepCommand(a *cli.App) *cobra.Command {
	var o threads.KeepOptions
	c := &cobra.Command{
		Use:   "keep URI... | --referenced",
		Short: "Keep transcripts after their tool removes them",
		Long: `Keep copies the transcript of a thread, with those of its subagents, to
the bodies of the workspace. Agent programs remove transcripts after some weeks;
handoff thread URI then shows the copy, with a warning. Nothing is written to
the directories of the programs. A later copy replaces an earlier one, whose
body gc can then collect.

A transcript with what looks like a secret is refused, unless --redact replaces
the secrets in the copy or --allow-secret keeps them. --dry-run lists what
would be kept, its size, and for each secret its kind and the number of its
message. The exit code is 1 if a transcript was refused.

In a log that other machines use, transcripts are kept only if you have allowed
it with "handoff config set share_threads true", and their secrets are always
redacted. After "handoff config set keep_threads true", the transcripts of a
session are kept, redacted, when it is closed and when the agent's session ends.`,
		Example: "  handoff thread keep codex/019c871c-b1f9-7f60-9c4f-87ed09f13592 --redact\n" +
			"  handoff thread keep --referenced --dry-run",
		Args: cobra.ArbitraryArgs,
	}
	f := c.Flags()
	f.BoolVar(&o.Referenced, "referenced", false, "keep the threads that an artifact or a session references")
	f.BoolVar(&o.Redact, "redact", false, "replace secrets in the copy")
	f.BoolVar(&o.AllowSecrets, "allow-secret", false, "keep transcripts as they are, with their secrets")
	f.BoolVar(&o.DryRun, "dry-run", false, "list what would be kept, and keep nothing")
	c.MarkFlagsMutuallyExclusive("redact", "allow-secret")
	a.JSONFlag(c, "print JSON", cli.Prints(threads.Kept{}))
	c.RunE = func(c *cobra.Command, args []string) error {
		if o.URIs = args; (len(args) == 0) != o.Referenced {
			return cli.Invalid("keep thread", "", "requires one URI or more, or --referenced",
				"name a thread, or pass --referenced")
		}
		return runKeep(c, a, o)
	}
	return c
}

func runKeep(c *cobra.Command, a *cli.App, o threads.KeepOptions) error {
	run := a.Writing
	if o.DryRun {
		run = a.Reading
	}
	return run(func(w *workspace.Workspace) error {
		done, err := w.Threads(thread.NewSet(all.Drivers(), a.Getenv, a.Getenv("HOME"))).Keep(c.Context(), o)
		if err != nil {
			return err
		}
		refused := false
		for _, t := range done.Threads {
			refused = refused || t.Status == transcript.Refused
		}
		if a.AsJSON {
			if err := a.JSONList("threads", done); err != nil {
				return err
			}
		} else {
			printKept(a, done)
		}
		if refused {
			return cli.ExitCode(cli.ExitNo)
		}
		return nil
	})
}

// printKept prints a line for each transcript and each finding.
func printKept(a *cli.App, done threads.Kept) {
	for _, t := range done.Threads {
		status := string(t.Status)
		if done.DryRun && t.RecordID == "" && t.SizeBytes > 0 {
			status = "would be " + status
		}
		line := textfmt.OneLine(t.URI) + "  " + status
		if t.SizeBytes > 0 {
			line += fmt.Sprintf("  %d bytes, %d compressed, %s", t.TranscriptBytes, t.SizeBytes, textfmt.Count(t.Files, "file"))
		}
		if t.Redacted > 0 {
			line += ", " + textfmt.Count(t.Redacted, "secret") + " redacted"
		}
		if t.Reason != "" {
			line += ": " + textfmt.OneLine(t.Reason)
		}
		fmt.Fprintln(a.Out, line)
		for _, f := range t.Findings {
			at := "line " + strconv.Itoa(f.Line)
			if f.Message > 0 {
				at = "message " + strconv.Itoa(f.Message)
			}
			fmt.Fprintf(a.Out, "  %s  %s  %s (%d)\n", textfmt.OneLine(f.Thread), at, f.Kind, f.Count)
		}
		if t.Status == transcript.Refused {
			a.Warn("%s has secrets: --redact replaces them in the copy", t.URI)
		}
	}
}
