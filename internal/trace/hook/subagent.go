package hook

import (
	"context"
	"maps"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
)

// An agentFinder is a provider of threads that can tell which agent made a
// tool call that was just made.
type agentFinder interface {
	AgentOfCall(ctx context.Context, thread, call string) (agent string, known bool)
}

// How often WithSubagent looks for a call, and the time between two tries.
const (
	callTries = 16
	callPause = 20 * time.Millisecond
)

// WithSubagent returns the producer of a tool call as the subagent that made it, if
// p names only the main agent and the transcripts show within 0.3 s which subagent
// it was.
func WithSubagent(ctx context.Context, threads *thread.Set, p handoff.Producer) handoff.Producer {
	u, err := thread.ParseURI(p.Thread)
	if err != nil || u.Agent != "" || p.ToolCallID == "" {
		return p
	}
	provider, _ := threads.Provider(u.Provider)
	finder, ok := provider.(agentFinder)
	for n := 0; ok && n < callTries && ctx.Err() == nil; n++ {
		agent, known := finder.AgentOfCall(ctx, u.Thread, p.ToolCallID)
		if agent != "" {
			p.Thread += "/" + agent
			p.IDs = maps.Clone(p.IDs)
			if p.IDs == nil {
				p.IDs = map[string]string{}
			}
			p.IDs["agent"] = agent
		}
		if known {
			break
		}
		time.Sleep(callPause)
	}
	return p
}

// NameOf returns the name or role that the transcript of a subagent has, "" if it is not there or has
// none: a hook may know only what kind of agent it is.
func NameOf(ctx context.Context, threads *thread.Set, e trace.HookEvent) string {
	provider, err := threads.Provider(e.Provider)
	if err != nil {
		return ""
	}
	t, err := provider.Thread(ctx, e.Agent)
	if err != nil {
		return ""
	}
	return t.ProducerAgent()
}
