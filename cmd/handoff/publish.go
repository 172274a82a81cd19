package main

import (
	"context"
	"fmt"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func publishCommand(a *cli.App) *cobra.Command {
	var d handoff.Draft
	var who cli.Identity
	var meta []string
	var never bool
	var keep string
	c := &cobra.Command{
		Use:     "publish PATH|- --channel C",
		Short:   "Say that a file matters; it stays where it is",
		GroupID: cli.Publish,
		Long: `Publish records that a file or directory is an artifact that others should
find, and prints its id. The body stays where it is. With - as the path the
body is read from standard input and stored by handoff.

A revision names what it takes the place of with --replaces; what it was made
from goes into --from. A publish under a --key that was used before changes
nothing and prints the first artifact's id.

A copy of a file of up to 1 MiB is kept, so that handoff read gives what was
published even when the file changes. --keep keeps a larger one too, or a
directory; --no-keep keeps none; config.yaml may say keep: always or never.

Who publishes is taken from flags, handoff's own variables (HANDOFF_SESSION,
HANDOFF_RUN, HANDOFF_AGENT, …) and those of the agent program. It is
attribution, not authentication.`,
		Example: "  handoff publish docs/design.md --channel design --title 'Retry policy'\n" +
			"  handoff publish fix.diff --channel patch --from art_01K… --replaces art_01J…\n" +
			"  go test ./... 2>&1 | handoff publish - --channel verification --filename test.log",
		Args: cli.Exactly(1, "one path"),
	}
	a.JSONFlag(c, "print the artifact as JSON")
	c.Flags().StringArrayVar(&meta, "meta", nil, "anything else, as `key=value`; may be repeated")
	c.Flags().StringVar(&keep, "keep", "", "keep a copy: `always` (the same as --keep alone), auto or never")
	c.Flags().Lookup("keep").NoOptDefVal = string(handoff.KeepAlways)
	c.Flags().BoolVar(&never, "no-keep", false, "keep no copy")
	c.MarkFlagsMutuallyExclusive("keep", "no-keep")
	draftFlags(c, &d)
	who.Add(c)
	c.MarkFlagRequired("channel")
	c.RegisterFlagCompletionFunc("channel", a.CompleteChannels)
	c.RegisterFlagCompletionFunc("replaces", a.CompleteRefs)
	c.RegisterFlagCompletionFunc("from", a.CompleteRefs)
	c.RunE = func(c *cobra.Command, args []string) error {
		values, err := cli.Pairs("--meta", meta)
		if err != nil {
			return err
		}
		if d.Keep = handoff.Keep(keep); never {
			d.Keep = handoff.KeepNever
		}
		d.Metadata = map[string]any{}
		for k, v := range values {
			d.Metadata[k] = v
		}
		return a.Writing(func(w *workspace.Workspace) error {
			return publish(c.Context(), a, w, args[0], d, who)
		})
	}
	return c
}

// draftFlags are what a publish may say of an artifact.
func draftFlags(c *cobra.Command, d *handoff.Draft) {
	f := c.Flags()
	f.StringVar(&d.Channel, "channel", "", "the stream it belongs to: analysis, design, patch, verification, handoff, or a `word` of your own")
	f.StringVar(&d.Title, "title", "", "one `line` that names it (at most 120 characters)")
	f.StringVar(&d.Summary, "summary", "", "one `line` that says what is in it (at most 500 characters)")
	f.StringVar(&d.Kind, "kind", "", "what it is: report, patch, json, log, or a `word` of your own")
	f.StringVar(&d.MediaType, "media-type", "", "its media `type` (default: by its extension, else its bytes)")
	f.StringArrayVar(&d.Replaces, "replaces", nil, "a `ref` whose place it takes; may be repeated")
	f.StringArrayVar(&d.Parents, "from", nil, "a `ref` that it was made from; may be repeated")
	f.StringArrayVar(&d.Tags, "tag", nil, "a `word` to find it by; may be repeated")
	f.StringVar(&d.Key, "key", "", "publish only once under this `word`")
	f.StringVar(&d.Filename, "filename", "", "the `name` of a body from standard input")
}

func publish(ctx context.Context, a *cli.App, w *workspace.Workspace, path string, d handoff.Draft, who cli.Identity) error {
	producer, err := who.Resolve(a)
	if err != nil {
		return err
	}
	if path == "-" {
		d.Body = a.In
	} else if d.Filename != "" {
		return cli.Invalid("publish", path, "--filename is for a body from standard input", "leave --filename out; the file keeps its name")
	} else if err = a.Place(ctx, w, producer, &d, path); err != nil {
		return err
	}
	scope := a.Scope(ctx, w, producer)
	if d.Replaces, err = a.ResolveAll(ctx, w, scope, d.Replaces); err != nil {
		return err
	}
	if d.Parents, err = a.ResolveAll(ctx, w, scope, d.Parents); err != nil {
		return err
	}
	p, err := w.As(producer).Publish(ctx, d)
	if err != nil {
		return err
	}
	a.RenderSession(ctx, w, p.Producer.Session)
	for _, warning := range p.Warnings {
		a.Warn("%s", warning)
	}
	if p.Existing {
		fmt.Fprintf(a.Err, "already published under key %q\n", p.Key)
	} else {
		fmt.Fprintln(a.Err, cli.Event(p.Artifact))
	}
	if a.AsJSON {
		return a.JSON(p)
	}
	fmt.Fprintln(a.Out, p.ID)
	return nil
}
