package hook

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
)

// NewProgram returns the agent program that a command line starts. newID returns an
// ID for its thread; a program that accepts one is given it as an argument.
func NewProgram(args []string, newID func() (string, error)) (trace.Program, error) {
	p := trace.Program{Args: args}
	p.Harness, p.Provider = config.ProgramOf(filepath.Base(args[0]))
	if p.Provider != "claude" || !startsClaude(args[1:]) {
		return p, nil
	}
	id, err := newID()
	if err != nil {
		return p, err
	}
	p.Session = id
	p.Args = slices.Concat(args[:1], []string{"--session-id", id}, args[1:])
	return p, nil
}

// Options of Claude Code 2.1 with which it starts no thread of its own here,
// or one that has an ID already; and its commands, which start none.
var (
	claudeOptions = []string{"--session-id", "-r", "--resume", "-c", "--continue", "--fork-session", "--from-pr",
		"--no-session-persistence",
		"--cloud", "--environment", "--teleport", "--desktop", "--bg", "--background", "-h", "--help", "-v", "--version"}
	claudeCommands = []string{"agents", "attach", "auth", "auto-mode", "config", "doctor", "gateway", "import", "install",
		"kill", "logs", "mcp", "plugin",
		"plugins", "purge", "respawn", "rm", "setup-token", "stop", "ultrareview", "update", "upgrade"}
)

// startsClaude reports whether Claude Code starts a new thread with arguments.
func startsClaude(args []string) bool {
	first := slices.IndexFunc(args, func(arg string) bool { return !strings.HasPrefix(arg, "-") })
	if first >= 0 && slices.Contains(claudeCommands, args[first]) {
		return false
	}
	return !slices.ContainsFunc(args, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return slices.Contains(claudeOptions, name)
	})
}

// eventOf returns an event of the thread of p, in the session or run of handoff.
func eventOf(p trace.Program, kind trace.HookKind, session, run string) trace.HookEvent {
	return trace.HookEvent{Kind: kind, Harness: p.Harness, Provider: p.Provider, Session: p.Session, AgentType: p.Agent,
		HandoffSession: session, HandoffRun: run, Process: p.Process}
}

// StartProgram records that p has a thread in a session or run, unless a hook
// recorded it.
func (r Recorder) StartProgram(ctx context.Context, p trace.Program, session, run string) error {
	if p.Session == "" {
		return nil
	}
	return r.Record(ctx, eventOf(p, trace.SessionStart, session, run))
}

// A Run is a run whose command ended.
type Run struct {
	Program trace.Program
	Session string // of handoff
	ID      string // of the run, "" for a session
	Started time.Time
	Failed  bool
}

// EndRun records that the thread of a run's program ended, unless a hook
// recorded it. If the ID of the thread is not known, it is that of the only one
// of those that find returns that started in the run. A warning reports that there
// are several.
func (r Recorder) EndRun(ctx context.Context, run Run, find func() ([]*thread.Thread, error)) (warnings []string,
	err error) {
	p := run.Program
	if p.Provider != "" && p.Session == "" {
		list, err := find()
		if err != nil {
			return nil, err
		}
		if n := p.Found(ctx, r.Hub, list, run.Started, run.Session); n > 1 {
			warnings = append(warnings, strconv.Itoa(n)+" threads of "+p.Provider+
				" started here during the run; none was linked to the session")
		}
		started := r
		started.Now = func() time.Time { return run.Started }
		if err := started.StartProgram(ctx, p, run.Session, run.ID); err != nil {
			return warnings, err
		}
	}
	if p.Session == "" {
		return warnings, nil
	}
	e := eventOf(p, trace.SessionEnd, run.Session, run.ID)
	e.Failed = run.Failed
	return warnings, r.Record(ctx, e)
}
