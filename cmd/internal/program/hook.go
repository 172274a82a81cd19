package program

import (
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/workspace/runs"

	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/setup"
	"github.com/agent-handoff/handoff/internal/tool/userdir"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// maxHookPayload is the largest payload of a hook that is read. A prompt or a message is
// a part of it.
const maxHookPayload = 128 << 20

func hookCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "hook PROGRAM [EVENT]",
		Short: "Record what an agent program reports to its hooks",
		Long: `Hook is what handoff init installs as a hook of an agent program. It reads an
event on standard input and records sessions, prompts and subagents as work, and
the last message of a subagent and the files it created as artifacts. In a log
that other machines use, the message is recorded only if you share threads
("handoff config set share_threads true"). It records only in a workspace that
exists, and always exits 0.

Some programs pass the output of a hook to the model. For these, hook prints
what the session left when it starts or is resumed, and for a new subagent of
Claude Code how to hand over a result that it can't write as a file. At the end
of a turn it prints the outputs of handoff run --expect that are missing, so
that the agent continues once; if none is missing, it prints what the turn left.
New comments on what the agent published are printed at the start of a session
and at the start and the end of a turn, once, if they were made on this machine;
others are counted.

With "handoff init --review-plans", hook publishes a plan of Claude Code and
waits up to an hour for its review, which allows it, or denies it with the
comments. Without a review, Claude Code asks its user as before.

EVENT is required for programs whose input does not name the event. With the
program statusline, hook prints the URI of the thread and the newest
artifact of its session, for the status line of Claude Code.`,
		Example:   "  handoff hook claude\n  handoff hook copilot sessionStart",
		Args:      cobra.ArbitraryArgs,
		ValidArgs: append(workspace.HookPrograms(), "statusline"),
		RunE: func(c *cobra.Command, args []string) error {
			defer func() { _ = recover() }() // a hook must never disturb the agent
			runHook(c, a, args)
			return nil
		},
	}
}

func runHook(c *cobra.Command, a *cli.App, args []string) {
	var payload json.RawMessage
	// Not until the end of the input: the program may leave it open.
	err := json.NewDecoder(io.LimitReader(a.In, maxHookPayload)).Decode(&payload)
	state := userdir.State(a.Getenv)
	switch {
	case len(args) == 0 || errors.Is(err, io.EOF) || c.Context().Err() != nil && err != nil:
		return
	case err != nil:
		setup.NoteHook(state, args[0], a.Now(), fmt.Errorf("read event: %w", err))
		return
	case args[0] == "statusline":
		statusLine(c, a, payload)
		return
	}
	event := ""
	if len(args) > 1 {
		event = args[1]
	}
	e, ok := workspace.ParseHook(args[0], event, payload, a.Getenv)
	if !ok {
		return
	}
	e.Process = runs.HarnessProcess(e.Harness, a.Getenv)
	ctx := c.Context()
	if e.Kind != trace.PlanReady { // for which it waits until the program ends it
		a.Hold() // the program may end a hook early, but no event that it has passed is lost
		ctx = context.WithoutCancel(ctx)
	}
	w, err := openAt(a, e.Dir)
	if err != nil {
		return
	}
	defer w.Close()
	threads := thread.NewSet(all.Drivers(), a.Getenv, a.Getenv("HOME"))
	err = w.Hook(ctx, e, threads, func(reply []byte) error {
		_, err := fmt.Fprintln(a.Out, string(reply))
		return cmp.Or(err, a.Flush())
	})
	setup.NoteHook(state, args[0], a.Now(), err)
	if slices.ContainsFunc(noted, func(n [2]string) bool { return n[1] == e.Harness }) {
		setup.NoteSession(state, e.Harness, e.Process, e.Session)
	}
}

// openAt opens the workspace of a directory.
func openAt(a *cli.App, dir string) (*workspace.Workspace, error) {
	return workspace.Open(dir, workspace.Options{Getenv: a.Getenv, Now: a.Now, Rand: a.Rand, Backends: a.Backends})
}

// statusLine prints a line from what Claude Code passes to its status line.
func statusLine(c *cobra.Command, a *cli.App, payload []byte) {
	var p struct {
		Session   string `json:"session_id"`
		Cwd       string `json:"cwd"`
		Workspace struct {
			Current string `json:"current_dir"`
		} `json:"workspace"`
	}
	if json.Unmarshal(payload, &p) != nil || p.Session == "" {
		return
	}
	line := textfmt.OneLine("agents://claude/" + p.Session)
	if w, err := openAt(a, cmp.Or(p.Workspace.Current, p.Cwd, a.Dir)); err == nil {
		defer w.Close()
		page, err := w.List(c.Context(), workspace.ListOptions{
			Limit: 1, Filter: workspace.Filter{Producer: map[string]string{"session": p.Session}}})
		if err == nil && len(page.Artifacts) > 0 {
			newest := page.Artifacts[0]
			line += "  " + newest.ID + " " + textfmt.OneLine(newest.Label())
		}
	}
	fmt.Fprintln(a.Out, line)
}
