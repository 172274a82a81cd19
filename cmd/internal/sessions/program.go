package sessions

import (
	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/spf13/cobra"
)

// requireProgram makes a command require a command line after --. Its usage errors
// have the exit code of a program that was not started.
func requireProgram(c *cobra.Command) {
	c.Args = func(c *cobra.Command, args []string) error {
		if c.ArgsLenAtDash() != 0 || len(args) == 0 {
			return coded(cli.ExitNotStarted, cli.Invalid(c.Name(), "", "missing command after --",
				"usage: "+cli.Name()+" "+c.Name()+" [flags] -- CMD…"))
		}
		return nil
	}
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return coded(cli.ExitNotStarted, c.Root().FlagErrorFunc()(c, err))
	})
}

// program returns the path of a program that c is to run.
func program(c *cobra.Command, name string) (string, error) {
	path, code, err := lookUp(name)
	if err != nil {
		return "", coded(code, handoff.E(c.Name(), name, handoff.NotFound, err, handoff.Advice("name an executable program")))
	}
	return path, nil
}
