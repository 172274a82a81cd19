package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/config"
	"github.com/agent-handoff/handoff/local"
	"github.com/agent-handoff/handoff/names"
	"github.com/spf13/cobra"
)

func writeCommand(a *app) *cobra.Command {
	d := handoff.Draft{}
	var who identityFlags
	var from []string
	var asJSON bool
	c := &cobra.Command{
		Use:     "write NAME [FILE|-]",
		Short:   "Write under a plain name that is yours alone",
		GroupID: handOver,
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
	f.BoolVar(&asJSON, "json", false, "print the artifact as JSON")
	who.add(c)
	c.RegisterFlagCompletionFunc("channel", a.completeChannels)
	c.RunE = func(c *cobra.Command, args []string) error {
		d.Name, d.Body = args[0], a.in
		if len(args) == 2 && args[1] != "-" {
			file, err := os.Open(absolute(a.dir, args[1]))
			if err != nil {
				return &handoff.Error{Op: "write", Name: args[1], Kind: handoff.NotFound, Err: reason(err), Hint: "name a file that can be read, or - for standard input"}
			}
			defer file.Close()
			d.Body = file
		}
		return a.writing(func(w *local.Workspace) error {
			producer, err := who.resolve(a)
			if err != nil {
				return err
			}
			scope := a.scope(w, producer)
			if d.Parents, err = a.resolveAll(c.Context(), w, scope, from); err != nil {
				return err
			}
			writer := names.Writer{Hub: w.As(producer), Workspace: w.Root, Scope: scope}
			written, err := writer.Write(c.Context(), d)
			if err != nil {
				return err
			}
			a.renderSession(c.Context(), w, producer.Session)
			return a.tellWritten(written, asJSON)
		})
	}
	return c
}

func (a *app) tellWritten(w names.Written, asJSON bool) error {
	for _, found := range w.Rescued {
		a.warn("%s had been changed without a record; the change is kept as %s", w.File, found.ID)
	}
	for _, warning := range w.Warnings {
		a.warn("%s", warning)
	}
	if w.Existing {
		fmt.Fprintln(a.err, "it says so already; nothing was added")
	} else {
		fmt.Fprintln(a.err, event(w.Artifact))
	}
	if asJSON {
		return a.json(w.Published)
	}
	fmt.Fprintln(a.out, w.Namespace+"/"+w.Name)
	return nil
}

// scope says whose names are meant by what a producer's commands name.
func (a *app) scope(w *local.Workspace, p handoff.Producer) names.Scope {
	for _, warning := range config.Warnings(a.getenv) {
		a.warn("%s", warning)
	}
	s := names.Scope{Session: p.Session, Run: p.RunID, Dir: config.SessionDir(a.getenv, a.dir)}
	if owner := cmp.Or(p.Session, p.RunID); s.Dir == "" && owner != "" {
		s.Dir = w.SessionDir(names.Folder(owner))
	}
	return s
}

// caller is who the environment says is at work.
func (a *app) caller() handoff.Producer { return handoff.Identify(config.Identity(a.getenv)...) }

func absolute(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}
