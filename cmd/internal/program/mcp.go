package program

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/mcp"
	"github.com/agent-handoff/handoff/cmd/internal/setup"
	"github.com/agent-handoff/handoff/internal/tool/userdir"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func mcpCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "Serve one agent over the Model Context Protocol",
		Long: `Mcp is the server that an agent program starts. It speaks the Model Context
Protocol on standard input and output until the client disconnects.

The workspace is that of the tool's argument, of the client's roots, of the
project directory in the environment, or of the current directory, in this
order. An argument may only name a directory inside one of these.`,
		Example: "  claude mcp add --scope user handoff -- handoff mcp",
		Args:    cli.Exactly(0, ""),
		RunE: func(c *cobra.Command, _ []string) error {
			o := mcpOptions(a, nil)
			o.Called = func(harness string) {
				setup.NoteCall(userdir.State(a.Getenv), harness, a.Now())
			}
			s := mcp.New(o)
			err := s.Run(c.Context(), &mcp.Stdio{In: a.In, Out: os.Stdout})
			if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
				err = nil // the client is gone
			}
			return errors.Join(err, s.Close())
		},
	}
}

// mcpOptions configure a server, for the given workspaces or for one client.
func mcpOptions(a *cli.App, workspaces []string) mcp.Options {
	threads := thread.NewSet(all.Drivers(), a.Getenv, a.Getenv("HOME"))
	return mcp.Options{
		Open: func(dir string) (*workspace.Workspace, error) {
			return workspace.Open(dir, workspace.Options{Getenv: a.Getenv, Now: a.Now, Rand: a.Rand, Backends: a.Backends,
				Threads: threads})
		},
		Registered: func() []string {
			list, err := setup.Registered(userdir.State(a.Getenv))
			if err != nil {
				return nil // then only the client's own directories may be used
			}
			return list
		},
		Dir: a.Dir, Getenv: a.Getenv, Now: a.Now, Version: a.Version, Workspaces: workspaces,
		Threads: threads,
	}
}
