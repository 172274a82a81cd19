package claude

import (
	"bytes"
	"context"

	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/thread"
)

// callTail is how much of the end of a transcript is searched for a call that was
// just made.
const callTail = 256 << 10

// AgentOfCall returns the ID of the subagent of a session that made a tool call,
// "" for the main agent. It is not known before the agent's transcript has the
// call, which Claude Code 2.1 writes 20 to 120 ms after it makes it. The transcript
// of a subagent may not exist before its first calls.
func (p *provider) AgentOfCall(ctx context.Context, session, call string) (agent string, known bool) {
	projects, err := p.projects(ctx)
	if err != nil || !thread.IsUUID(session) {
		return "", true
	}
	t := newTree(ctx)
	var files []file
	for _, dir := range projects {
		files = append(files, t.nested(dir, session)...)
	}
	files = append(files, t.sessions(projects, session)...)
	if len(files) == 0 {
		return "", true // it has no transcripts
	}
	order.Sort(files, newestFirst)
	quoted := []byte(`"` + call + `"`)
	for _, f := range files {
		if !bytes.Contains(t.Tail(f.path, callTail), quoted) {
			continue
		}
		if f.agent {
			return f.id, true
		}
		return "", true
	}
	return "", false
}
