package find

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/thread/page"
	"github.com/agent-handoff/handoff/transcript"
	"github.com/agent-handoff/handoff/workspace/threads"
	"github.com/spf13/cobra"
)

// ThreadCommand returns the command thread.
func ThreadCommand(a *cli.App) *cobra.Command {
	var print printFlags
	var list listThreads
	var send sendFlags
	c := &cobra.Command{
		Use:   "thread [URI]",
		Short: "Print a thread of an agent, or list threads",
		Long: `Thread prints a thread that an agent program stored on this machine, or that
of one of its subagents. A URI is agents://PROVIDER/ID, with /AGENT for a
subagent and #M3-M9 for a range of messages. PROVIDER/ID, PROVIDER://ID and a
bare ID are accepted too. Files of the agent programs are never changed.

Without a URI, it lists the threads of this repository with all its
worktrees, newest first. These URIs list threads in all directories:
agents://PROVIDER those of a provider, agents://PROVIDER/ROLE those with a
subagent of this role. agents://. and agents:///PATH?providers=claude,codex list
those of a directory.

With --data it sends a text with the program of the agent, to a thread or,
if the URI is a provider such as codex, to a new one, and prints the answer as
it comes. The query has parameters of the program, such as codex?model=NAME;
parameters that change what the agent may do are refused. PATH, or a variable
such as HANDOFF_CODEX_BIN, names the program; one in the workspace is refused.
The exit code is that of the program, or as for run.`,
		Example: "  handoff thread claude -d 'Review the last commit'\n" +
			"  handoff thread agents://codex/019c871c-b1f9-7f60-9c4f-87ed09f13592\n" +
			"  handoff thread claude/2823d1df-720a-4c31-ac55-ae8ba726721f --list\n" +
			"  handoff thread --since 3d --provider claude\n" +
			"  alias xurl='handoff thread'",
		Args: cli.Between(0, 1, "at most one URI"),
	}
	print.add(c)
	list.add(c)
	send.add(c)
	c.Flags().StringVar(&list.Status, "status", "",
		"filter threads, or the subagents of a URI, by `status`, such as running")
	c.Flags().IntVar(&list.Limit, "limit", defaultThreads,
		"show at most this `count`; 0 for no limit. Of subagents, all are shown by default")
	c.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(thread.Statuses(), cobra.ShellCompDirectiveNoFileComp))
	a.JSONFlag(c, "print JSON",
		cli.Prints(transcript.Page{}), cli.Prints(page.Document{}),
		cli.Prints(page.SubagentDocument{}), cli.PrintsWith("data", reply{}))
	list.table = a.NewTable(c, threadColumns, threadMatchColumns)
	c.AddCommand(keepCommand(a))
	c.RunE = func(c *cobra.Command, args []string) error {
		err := runThread(c, a, &print, &list, &send, args)
		failed := new(handoff.Error)
		ofFile := errors.As(err, &failed) && failed.Op == "write"
		if err == nil || len(args) == 0 || send.given(c) || ofFile {
			return err
		}
		return elsewhere(c.Context(), a, args[0], err)
	}
	return c
}

// elsewhere returns the error about a URI. Where there is a workspace, its hint is about what
// else has that name.
func elsewhere(ctx context.Context, a *cli.App, uri string, err error) error {
	w, failed := a.Open()
	if failed != nil {
		return err
	}
	defer w.Close()
	return w.Threads(thread.NewSet(all.Drivers(), a.Getenv, a.Getenv("HOME"))).Elsewhere(ctx, "thread", uri, err)
}

// runThread sends a text to a thread, lists threads, or prints one.
func runThread(c *cobra.Command, a *cli.App, print *printFlags, list *listThreads, send *sendFlags,
	args []string) error {
	set := thread.NewSet(all.Drivers(), a.Getenv, a.Getenv("HOME"))
	if send.given(c) {
		uri := strings.Join(args, "")
		if err := given(c, uri, "--data writes to the thread",
			append(slices.Concat(listOnly, printOnly), "head", "output")...); err != nil {
			return err
		}
		return send.run(c.Context(), a, set, uri)
	}
	if len(args) == 0 {
		return print.to(c.Context(), a, set, func() error {
			return list.run(c, a, set, transcript.Selection{Limit: -1}, "")
		})
	}
	sel, several, err := threads.Select(c.Context(), set, args[0], a.Dir, a.Getenv("HOME"))
	if err != nil {
		return err
	}
	if several {
		return print.to(c.Context(), a, set, func() error { return list.run(c, a, set, sel, args[0]) })
	}
	if err := given(c, args[0], "the URI names one thread", listOnly...); err != nil {
		return err
	}
	print.Status = thread.Status(list.Status)
	if c.Flags().Changed("limit") {
		print.Limit = list.Limit
	}
	return print.run(c, a, set, args[0])
}

// given returns an error if one of the flags was given, which do not go with a URI.
func given(c *cobra.Command, uri, what string, flags ...string) error {
	for _, name := range flags {
		if c.Flags().Changed(name) {
			return cli.Invalid("thread", uri, what+", so --"+name+" can't be used", "leave out --"+name)
		}
	}
	return nil
}

// printFlags are the flags for printing one thread.
type printFlags struct {
	page.Options
	file string
}

// printOnly are the flags that do not go with a list.
var printOnly = []string{"list", "full", "tools", "usage"}

func (p *printFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.BoolVarP(&p.Head, "head", "I", false, "print metadata without messages")
	f.BoolVar(&p.List, "list", false, "list its subagents and their status")
	f.BoolVar(&p.Full, "full", false, "print the complete transcript of a subagent")
	f.BoolVar(&p.Tools, "tools", false, "include tool calls and thinking")
	f.BoolVar(&p.Usage, "usage", false, "print token usage, including subagents")
	f.StringVarP(&p.file, "output", "o", "", "write to `file`, which is replaced; - is standard output")
}

func (p *printFlags) run(c *cobra.Command, a *cli.App, set *thread.Set, uri string) error {
	u, err := thread.ParseURI(uri)
	if err != nil {
		return err
	}
	p.Now, p.JSON = a.Now(), a.AsJSON
	set = set.Observed(thread.Observer{Now: a.Now})
	if w, err := a.Open(); err == nil { // a thread is printed also where there is no workspace
		defer w.Close()
		in := w.Threads(set)
		set, p.Chain = in.Set(), in.Chain
		set.SetFallback(in.OpenKept)
	}
	return p.to(c.Context(), a, set, func() error { return page.Write(c.Context(), a.Out, set, u, p.Options) })
}

// to runs print with the output of a being the file of --output, if one is given.
func (p *printFlags) to(ctx context.Context, a *cli.App, set *thread.Set, print func() error) error {
	if p.file == "" || p.file == "-" || p.file == "/dev/stdout" {
		return print()
	}
	out, terminal := a.Out, a.Terminal
	defer func() { a.Out, a.Terminal = out, terminal }()
	return page.WriteFile(ctx, cli.Absolute(a.Dir, p.file), set, func(w io.Writer) error {
		a.Out, a.Terminal = w, false
		return print()
	})
}
