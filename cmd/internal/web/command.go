package web

import (
	"bytes"
	"io"
	"os"
	"path/filepath"

	"github.com/agent-handoff/handoff/cmd/internal/complete"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// ExportCommand returns the command that exports sessions.
func ExportCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "export",
		Short: "Export a session, or what is behind commits and a pull request",
		Long: `Export writes what people and other programs read. docs/exports.md lists the
standards and versions, and what is left out.`,
	}
	c.AddCommand(exportHTMLCommand(a))
	return c
}

func exportHTMLCommand(a *cli.App) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "html SESSION",
		Short: "Write a session as one HTML page",
		Long: `Html writes a session or run as one page: its facts, its outputs with their
content, its runs, and what it read. The page has no script and loads nothing.
Of a long output it has the beginning. Threads are not part of it.`,
		Example:           "  handoff export html $ID -o session.html",
		Args:              cli.Exactly(1, "one session"),
		ValidArgsFunction: complete.Sessions(a),
	}
	c.Flags().StringVarP(&file, "output", "o", "", "write to `file`, which is replaced; - is standard output")
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.Reading(func(w *workspace.Workspace) error {
			var page bytes.Buffer
			if err := Export(c.Context(), NewSource(w, nil), a.Now(), args[0], &page); err != nil {
				return err
			}
			if file == "" || file == "-" {
				_, err := page.WriteTo(a.Out)
				return err
			}
			return writePage(cli.Absolute(a.Dir, file), page.Bytes())
		})
	}
	return c
}

// writePage replaces a file.
func writePage(file string, page []byte) error {
	failed := func(err error) error {
		return handoff.E("export", file, handoff.Unavailable, durable.Reason(err),
			handoff.Advice("name a file in a directory that you can write to"))
	}
	dir, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return failed(err)
	}
	defer dir.Close()
	if info, err := dir.Stat(filepath.Base(file)); err == nil && !info.Mode().IsRegular() {
		return handoff.E("export", file, handoff.Invalid, os.ErrExist,
			handoff.Advice("name a file that does not exist or may be replaced"))
	}
	err = durable.Replace(dir, filepath.Base(file), func(w io.Writer) error {
		_, err := w.Write(page)
		return err
	})
	if err != nil {
		return failed(err)
	}
	return nil
}
