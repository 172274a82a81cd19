package workspace

import (
	"cmp"
	"context"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/trace/hook"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/workspace/runs"
)

// A Caller is on whose behalf operations run. Identity is attribution, not
// authentication: anyone who can run handoff can claim to be anybody.
type Caller struct {
	Dir        string           // absolute; paths as typed are relative to it
	Producer   handoff.Producer // recorded as the maker; zero for unknown
	SessionDir string           // absolute; the session's directory if it is not the recorded one, or ""
	Within     string           // the session or run that a run of the caller is part of, "" for none
	Warnings   []string         // about how the environment identifies the caller
}

// CallerFrom returns the caller that works in dir. What it is given about
// itself comes first, then the variables of the environment: handoff's own,
// then those of the harness that runs the process. Identities that lost are
// recorded in Producer.Observed.
func CallerFrom(dir string, getenv func(string) string, given handoff.Producer) Caller {
	known := config.Identity(getenv, config.Ancestors)
	if identifies(given) {
		given.Source = cmp.Or(given.Source, handoff.FromFlag)
		known = append([]handoff.Producer{given}, known...)
	}
	return Caller{
		Dir: dir, Producer: handoff.Identify(known...), SessionDir: config.SessionDir(getenv, dir),
		Within: cmp.Or(getenv("HANDOFF_RUN"), getenv("HANDOFF_SESSION")), Warnings: config.Warnings(getenv),
	}
}

// identifies reports whether a producer has any ID at all.
func identifies(p handoff.Producer) bool {
	return len(p.IDs) > 0 || slices.ContainsFunc(handoff.SlotNames(), func(name string) bool { return p.Slot(name) != "" })
}

// ToolCaller returns the caller of a tool call over the Model Context Protocol that
// works in dir: what the _meta of the call says comes first, then the variables of the
// environment that the client started the server in. client is the name in the client's
// info, which HANDOFF_HARNESS overrides.
//
// In an open session that the environment names and whose process this one descends from,
// as in handoff run, what the tool records is in that session, as it is from a shell, and the
// program's own thread is kept apart. A subagent has a run of its own there, under the ID of
// its thread. A server that outlives its session, or was started in it and is not part of it
// any more, serves other threads: those are in no session of handoff.
func (w *Workspace) ToolCaller(ctx context.Context, dir string, getenv func(string) string, client string,
	meta map[string]any) Caller {
	given := config.MetaIdentity(client, meta)
	switch {
	case given.Session != "" || given.ToolCallID != "":
		given.Source = handoff.FromMCP
	case getenv("HANDOFF_HARNESS") != "":
		given = handoff.Producer{}
	case given.Harness != "":
		given.Source = handoff.FromMCP
	}
	if id := getenv("HANDOFF_SESSION"); id != "" && id != given.Session {
		switch worksIn, known := w.worksIn(ctx, id, getenv("HANDOFF_RUN")); {
		case worksIn:
			given.Session = ""
		case known: // the variables are those of whoever started a server that serves others now
			getenv = config.Without(getenv, "HANDOFF_SESSION", "HANDOFF_SESSION_DIR", "HANDOFF_RUN", "HANDOFF_RUN_DIR",
				"HANDOFF_AGENT")
		}
	}
	return CallerFrom(dir, getenv, given)
}

// worksIn reports whether this process works in a session and, unless it is "", the run in it
// that its environment names. known is false if the session is not recorded.
func (w *Workspace) worksIn(ctx context.Context, session, run string) (in, known bool) {
	if in, known = w.descends(ctx, session); !in || run == session {
		return in, known
	}
	if inRun, known := w.descends(ctx, run); known {
		return inRun, true
	}
	return in, known
}

// descends reports whether a session or run is open, and this process is one of it, descends
// from one of it, or can't know that, because the session names no process of this machine.
// known is false if the session is not recorded.
func (w *Workspace) descends(ctx context.Context, id string) (in, known bool) {
	if id == "" {
		return false, false
	}
	s, err := w.c.Anonymous.Session(ctx, id)
	if err != nil || s.Opened == 0 {
		return false, false
	}
	self := runs.ThisProcess()
	above := []handoff.Process{self}
	for _, a := range config.Ancestors() {
		above = append(above, runs.ProcessOf(a.PID))
	}
	in = true
	for _, p := range []handoff.Process{s.Process, s.Child} {
		if p.PID == 0 || p.BootID != self.BootID || p.PIDNamespace != self.PIDNamespace {
			continue
		}
		if in = slices.Contains(above, p); in {
			break
		}
	}
	return in && s.ClosedAt.IsZero(), true
}

// WithSubagent returns the caller as the subagent that made its tool call, if the
// program names only the main agent and the transcripts show within 0.3 s which
// subagent it was.
func (c Caller) WithSubagent(ctx context.Context, threads *thread.Set) Caller {
	c.Producer = hook.WithSubagent(ctx, threads, c.Producer)
	return c
}

// maker returns the hub that records what the caller publishes. A subagent that hooks
// recorded has the name and the session of their records, if the program gave its shells and
// tools none, or only those of the subagent.
func (w *Workspace) maker(ctx context.Context) *handoff.Hub {
	p := w.c.Producer
	if p.Source != handoff.FromHarness && p.Source != handoff.FromMCP {
		return w.c.Hub
	}
	task, err := w.c.Anonymous.Work(ctx, p.Harness, cmp.Or(p.IDs["agent"], p.RunID, p.Session))
	if err != nil || task.Kind != "task" {
		return w.c.Hub
	}
	p.Agent, p.WorkID = cmp.Or(p.Agent, task.Agent), task.ID
	const levels = 64 // records may name each other as parents
	for up, n := task, 0; p.Session == task.ID && err == nil && n < levels; n++ {
		if up, err = w.c.Anonymous.Work(ctx, p.Harness, up.Parent); err == nil && up.Kind == "session" {
			p.Session, p.RunID = up.ID, task.ID
		}
	}
	return w.c.Anonymous.As(p)
}
