package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/spf13/cobra"
)

func threadCommand(a *cli.App) *cobra.Command {
	var o thread.Options
	var file string
	c := &cobra.Command{
		Use:     "thread URI",
		Short:   "Open an agent's conversation, wherever its tool left it",
		GroupID: cli.Threads,
		Long: `Thread prints a conversation that an agent tool left on this machine, or what a
subagent of it did. A URI is agents://PROVIDER/ID, with /AGENT for a subagent
and #M3-M9 for some messages; PROVIDER/ID, PROVIDER://ID and a bare ID do too.
Nothing is ever written where the tools keep their files.`,
		Example: "  handoff thread agents://codex/019c871c-b1f9-7f60-9c4f-87ed09f13592\n" +
			"  handoff thread claude/2823d1df-720a-4c31-ac55-ae8ba726721f --list\n" +
			"  alias xurl='handoff thread'",
		Args: cli.Exactly(1, "one URI"),
	}
	f := c.Flags()
	f.BoolVarP(&o.Head, "head", "I", false, "only what is known of it, without messages")
	f.BoolVar(&o.List, "list", false, "its subagents, with what each is doing")
	f.BoolVar(&o.Full, "full", false, "a subagent's whole transcript, not only its end")
	f.BoolVar(&o.Tools, "tools", false, "tool calls too, and what the model thought")
	f.BoolVar(&o.Usage, "usage", false, "what it spent, and what its subagents spent")
	f.BoolVar(&o.JSON, "json", false, "print JSON")
	f.StringVarP(&file, "output", "o", "", "write to this `file` instead")
	c.RunE = func(c *cobra.Command, args []string) error {
		u, err := thread.ParseURI(args[0])
		if err != nil {
			return err
		}
		o.Now = a.Now()
		set := thread.NewSet(all.Drivers(), a.Getenv, a.Getenv("HOME"))
		if file == "" {
			return set.Write(c.Context(), a.Out, u, o)
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(a.Dir, file)
		}
		return writeWhole(c.Context(), file, func(ctx context.Context, w io.Writer) error {
			return set.Write(ctx, w, u, o)
		})
	}
	return c
}

// writeWhole makes or replaces a file with what write writes, all or nothing.
func writeWhole(ctx context.Context, name string, write func(context.Context, io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".handoff-*")
	if err != nil {
		return &handoff.Error{Op: "write", Name: name, Kind: handoff.Unavailable, Err: reason(err), Hint: handoff.Advice("name a file in a directory that can be written")}
	}
	defer os.Remove(f.Name())
	if err := write(ctx, f); err != nil {
		f.Close()
		return err
	}
	err = errors.Join(f.Chmod(0o644), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return &handoff.Error{Op: "write", Name: name, Kind: handoff.Unavailable, Err: reason(err), Hint: handoff.Advice("name another file with -o")}
	}
	return nil
}

// reason strips the operation and the names, which the caller gives, from an
// error of the file system.
func reason(err error) error {
	var p *os.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.As(err, &l):
		return l.Err
	}
	return err
}
