package cli

import (
	"slices"

	"github.com/spf13/cobra"
)

// A group lists commands for one thing that a person wants to do.
type group struct {
	title    string
	commands []string // in the order of the help
}

// groups are the commands that "help all" lists. The others are those that programs
// call, and those of rare tasks.
var groups = []group{
	{"See", []string{"news", "status", "list", "show", "read", "search", "thread", "why", "cost", "serve"}},
	{"Hand over", []string{"publish", "write", "wait", "continue", "label", "withdraw"}},
	{"Review and choose", []string{"review", "compare", "apply", "accept"}},
	{"Prove", []string{"attest", "verify"}},
	{"Run", []string{"run", "session", "session open", "session add", "session find", "session set", "session close",
		"session archive", "session delete", "pipeline", "pipeline init", "pipeline next", "pipeline put", "pipeline get",
		"pipeline gate", "pipeline adopt"}},
	{"Set up and keep", []string{"init", "doctor", "config", "config set", "config trust", "log", "check", "gc", "export",
		"import", "demo"}},
}

// primary are the commands of the short help.
var primary = []string{"news", "list", "show", "read", "thread", "why", "serve", "publish", "wait",
	"review", "run", "session", "pipeline", "init"}

// more returns the commands of root that are in no group. Those of a command are in
// its help.
func more(root *cobra.Command) (names []string) {
	for _, c := range root.Commands() {
		listed := slices.ContainsFunc(groups, func(g group) bool { return slices.Contains(g.commands, c.Name()) })
		if !listed && !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return names
}
