package program

import (
	"context"
	"fmt"

	"github.com/agent-handoff/handoff/cmd/internal/complete"
	"github.com/agent-handoff/handoff/cmd/internal/report"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

const publishHelp = `Publish records a file or directory as an artifact and prints its ID. The file
stays where it is and must be inside the workspace. With -, the content is read
from standard input and stored in the workspace.

A revision names the artifacts that it replaces with --replaces, and the ones it
was made from with --from. Publishing again under the same --key changes nothing
and prints the ID of the first artifact.

Files of up to 1 MiB are also copied, so that handoff read returns the published
bytes if the file changes later; in a linked git worktree, files and directories
of up to 256 MiB. --keep copies any size, and directories; --keep=never copies
nothing. The settings keep and limits in config.yaml change the default.

A claim, such as "tests pass", is recorded with --claim, and the evidence for it
with each --evidence after it: command:LINE, thread:URI#M3 or artifact:REF.
handoff verify checks it.

The producer is taken from the identity flags, from handoff's own variables
(HANDOFF_SESSION, HANDOFF_RUN, HANDOFF_AGENT, …) and from those of the agent
program. It is attribution, not authentication.`

func publishCommand(a *cli.App) *cobra.Command {
	var p handoff.Draft
	var who cli.Identity
	var meta []string
	var keep string
	var claims claimFlags
	c := &cobra.Command{
		Use:   "publish PATH|-",
		Short: "Publish a file or directory as an artifact",
		Long:  publishHelp,
		Example: `  handoff publish docs/design.md --channel design --title 'Retry policy'
  handoff publish fix.diff --channel patch --from art_01K… --replaces art_01J…
  go test ./... | handoff publish - --channel verification --kind log`,
		Args: cli.Exactly(1, "one path"),
	}
	f := c.Flags()
	f.StringArrayVar(&meta, "meta", nil, "metadata, as `key=value`; may be repeated")
	f.StringVar(&keep, "keep", "", "`policy` for copying the content: always (--keep alone), auto or never")
	f.Lookup("keep").NoOptDefVal = string(handoff.KeepAlways)
	publicationFlags(c, &p)
	claims.add(c)
	a.JSONFlag(c, "print the artifact as JSON", cli.Prints(handoff.Published{}))
	a.AllowSecretFlag(c)
	who.Add(c)
	who.AddIDs(c)
	c.RegisterFlagCompletionFunc("channel", complete.Channels(a))
	c.RegisterFlagCompletionFunc("replaces", complete.Refs(a))
	c.RegisterFlagCompletionFunc("from", complete.Refs(a))
	c.RunE = func(c *cobra.Command, args []string) error {
		values, err := cli.Pairs("--meta", meta)
		if err != nil {
			return err
		}
		if p.Claims, err = claims.parse(); err != nil {
			return err
		}
		p.Keep = handoff.Keep(keep)
		p.Metadata = map[string]any{}
		for k, v := range values {
			p.Metadata[k] = v
		}
		p.AllowSecret = a.AllowSecret
		if p.Path = args[0]; p.Path == "-" {
			p.Path, p.Body = "", a.In
		}
		return a.Writing(func(w *workspace.Workspace) error { return publish(c.Context(), a, w, p, who) })
	}
	return c
}

// publicationFlags describe an artifact.
func publicationFlags(c *cobra.Command, p *handoff.Draft) {
	f := c.Flags()
	f.StringVar(&p.Channel, "channel", "",
		"the `channel` to publish in (purpose): analysis, design, patch, verification, handoff, or any other word")
	f.StringVar(&p.Title, "title", "", "title `text`, one line of at most 120 characters")
	f.StringVar(&p.Summary, "summary", "", "summary `text`, one line of at most 500 characters")
	f.StringVar(&p.Kind, "kind", "", "`kind` of content (form): report, patch, json, log, or any other word")
	f.StringVar(&p.MediaType, "media-type", "", "media `type` (default: detected)")
	f.StringArrayVar(&p.Replaces, "replaces", nil, "`ref` of an artifact that this one replaces; may be repeated")
	f.StringArrayVar(&p.Parents, "from", nil, "`ref` of an artifact that this one was made from; may be repeated")
	f.StringArrayVar(&p.Tags, "tag", nil, "`tag` to find it by; may be repeated")
	f.StringVar(&p.Key, "key", "", "idempotency `key`: publishing again with it returns the first artifact")
	f.StringArrayVar(&p.Resolves, "resolves", nil,
		"`ID` of a comment that this resolves, or all of what it replaces; may be repeated")
	f.BoolVar(&p.AskReview, "ask-review", false, "ask for a review: handoff review lists it")
	f.StringVar(&p.Filename, "filename", "", "file `name` of content from standard input")
}

func publish(ctx context.Context, a *cli.App, w *workspace.Workspace, p handoff.Draft, who cli.Identity) error {
	w, err := who.As(a, w)
	if err != nil {
		return err
	}
	done, err := w.Claims(thread.NewSet(all.Drivers(), a.Getenv, a.Getenv("HOME"))).Publish(ctx, p)
	if err != nil {
		return err
	}
	report.Warnings(a, done)
	if done.AlsoActive != "" {
		fmt.Fprintf(a.Err, "%s is also active and has the same path; to publish a revision of it, use --replaces %[1]s\n",
			done.AlsoActive)
	}
	if done.Existing {
		fmt.Fprintf(a.Err, "already published under key %q\n", done.Key)
	} else {
		report.Publish(a, done.Artifact)
	}
	return a.Published(done, done.ID)
}
