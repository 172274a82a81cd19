package program

import (
	"cmp"
	"fmt"
	"runtime/debug"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/stamp"
	"github.com/spf13/cobra"
)

// A build is the JSON of version: what Go recorded, and in a release its version.
type build struct {
	Version     string `json:"version"`
	Commit      string `json:"commit,omitempty"`
	CommittedAt string `json:"committedAt,omitempty"`
	Modified    bool   `json:"modified,omitempty"` // the files were not those of the commit
	Go          string `json:"go"`
}

func thisBuild() build {
	b := build{Version: stamp.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		b.Version = cmp.Or(b.Version, "unknown")
		return b
	}
	b.Version, b.Go = cmp.Or(b.Version, info.Main.Version), info.GoVersion
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.CommittedAt = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// version returns the versions of this program and of the Go toolchain.
func version() string {
	b := thisBuild()
	return b.Version + " " + b.Go
}

// withoutDashes returns a command line in which --version --json is version --json.
func withoutDashes(args []string) []string {
	if len(args) == 2 && min(args[0], args[1]) == "--json" && max(args[0], args[1]) == "--version" {
		return []string{"version", "--json"}
	}
	return args
}

func versionCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "version",
		Short: "Show the version, the commit it was built from, and its date",
		Long: `Version shows the version of handoff and of Go, and the commit that handoff was
built from. "handoff --version" shows the first line.`,
		Example: "  handoff version --json",
		Args:    cli.Exactly(0, ""),
	}
	a.JSONFlag(c, "print JSON", cli.Prints(build{}))
	c.RunE = func(*cobra.Command, []string) error {
		b := thisBuild()
		if a.AsJSON {
			return a.JSON(b)
		}
		fmt.Fprintf(a.Out, "%s version %s\n", cli.Name(), a.Version)
		if b.Commit == "" {
			return nil
		}
		modified := ""
		if b.Modified {
			modified = ", with changes"
		}
		_, err := fmt.Fprintf(a.Out, "commit %s of %s%s\n", b.Commit, b.CommittedAt, modified)
		return err
	}
	return c
}
