package main

import (
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
		Short:   "Print an agent's conversation transcript",
		GroupID: cli.Threads,
		Long: `Thread prints a conversation that an agent tool stored on this machine, or that
of one of its subagents. A URI is agents://PROVIDER/ID, with /AGENT for a
subagent and #M3-M9 for a range of messages. PROVIDER/ID, PROVIDER://ID and a
bare ID are accepted too. Files of the agent tools are never changed.`,
		Example: "  handoff thread agents://codex/019c871c-b1f9-7f60-9c4f-87ed09f13592\n" +
			"  handoff thread claude/2823d1df-720a-4c31-ac55-ae8ba726721f --list\n" +
			"  alias xurl='handoff thread'",
		Args: cli.Exactly(1, "one URI"),
	}
	f := c.Flags()
	f.BoolVarP(&o.Head, "head", "I", false, "print metadata without messages")
	f.BoolVar(&o.List, "list", false, "list its subagents and their status")
	f.StringVar((*string)(&o.Status), "status", "", "show only subagents with this `status`, such as running")
	f.IntVar(&o.Limit, "limit", 0, "show at most this `count` of subagents")
	f.BoolVar(&o.Full, "full", false, "print the complete transcript of a subagent")
	f.BoolVar(&o.Tools, "tools", false, "include tool calls and thinking")
	f.BoolVar(&o.Usage, "usage", false, "print token usage, including subagents")
	a.JSONFlag(c, "print JSON")
	f.StringVarP(&file, "output", "o", "", "write to `file`, which is replaced; - is standard output")
	c.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(thread.Statuses(), cobra.ShellCompDirectiveNoFileComp))
	c.RunE = func(c *cobra.Command, args []string) error {
		u, err := thread.ParseURI(args[0])
		if err != nil {
			return err
		}
		o.Now, o.JSON = a.Now(), a.AsJSON
		set := thread.NewSet(all.Drivers(), a.Getenv, a.Getenv("HOME"))
		if file == "" || file == "-" || file == "/dev/stdout" {
			return set.Write(c.Context(), a.Out, u, o)
		}
		return set.WriteFile(c.Context(), cli.Absolute(a.Dir, file), u, o)
	}
	return c
}
