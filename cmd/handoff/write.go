package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/names"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func writeCommand(a *cli.App) *cobra.Command {
	d := handoff.Draft{}
	var who cli.Identity
	var from []string
	c := &cobra.Command{
		Use:     "write NAME [FILE|-]",
		Short:   "Write under a plain name that is yours alone",
		GroupID: cli.Publish,
		Long: `Write stores a file, or standard input, under a name that belongs to your run,
or to your session where there is no run, and prints its ref, run/name. Fifty
agents may write context.md at once.

Writing a name again updates its file; every earlier revision can still be read.
Bytes that lay in the file without a record are made a revision first. The same
content again changes nothing.`,
		Example: "  handoff write context.md notes.md\n  git diff | handoff write plans/change.diff --title 'What changed'",
		Args:    cobra.RangeArgs(1, 2),
	}
	f := c.Flags()
	f.StringVar(&d.Channel, "channel", "handoff", "the `channel` it belongs to")
	f.StringVar(&d.Title, "title", "", "one `line` that names it")
	f.StringVar(&d.Summary, "summary", "", "one `line` that says what is in it")
	f.StringVar(&d.Kind, "kind", "", "what it is: report, patch, or a `word` of your own")
	f.StringArrayVar(&from, "from", nil, "a `ref` that it was made from; may be repeated")
	f.StringArrayVar(&d.Tags, "tag", nil, "a `word` to find it by; may be repeated")
	a.JSONFlag(c, "print the artifact as JSON")
	who.Add(c)
	c.RegisterFlagCompletionFunc("channel", a.CompleteChannels)
	c.RunE = func(c *cobra.Command, args []string) error {
		d.Name, d.Body = args[0], a.In
		if len(args) == 2 && args[1] != "-" {
			file, err := openFile(cli.Absolute(a.Dir, args[1]))
			if err != nil {
				return unread(args[1], err)
			}
			defer file.Close()
			d.Body = file
		}
		return a.Writing(func(w *workspace.Workspace) error {
			producer, err := who.Resolve(a)
			if err != nil {
				return err
			}
			scope := a.Scope(c.Context(), w, producer)
			if d.Parents, err = a.ResolveAll(c.Context(), w, scope, from); err != nil {
				return err
			}
			writer := names.Writer{Hub: w.As(producer), Workspace: w.Root, Scope: scope}
			written, err := writer.Write(c.Context(), d)
			if err != nil {
				return err
			}
			a.RenderSession(c.Context(), w, producer.Session)
			return tellWritten(a, written)
		})
	}
	return c
}

// openFile opens a regular file.
func openFile(name string) (*os.File, error) {
	info, err := os.Stat(name) // first, for to open a pipe waits for who writes it
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errIrregular
	}
	return os.Open(name)
}

var errIrregular = errors.New("is no file")

func unread(name string, err error) error {
	e := &handoff.Error{Op: "write", Name: name, Kind: handoff.Unavailable, Err: reason(err), Hint: handoff.Advice("name a file that can be read, or - for standard input")}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Kind = handoff.NotFound
	case errors.Is(err, errIrregular):
		e.Kind = handoff.Invalid
	}
	return e
}

func tellWritten(a *cli.App, w names.Written) error {
	for _, found := range w.SavedEdits {
		a.Warn("%s had been changed without a record; the change is kept as %s", w.File, found.ID)
	}
	for _, warning := range w.Warnings {
		a.Warn("%s", warning)
	}
	if w.Existing {
		fmt.Fprintln(a.Err, "it says so already; nothing was added")
	} else {
		fmt.Fprintln(a.Err, cli.Event(w.Artifact))
	}
	if a.AsJSON {
		return a.JSON(w.Published)
	}
	fmt.Fprintln(a.Out, w.Namespace+"/"+w.Name)
	return nil
}
