package trace

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
)

// A HookKind is what happened.
type HookKind string

// The kinds of events. All other events of a program are ignored; its tool calls
// are in its transcript.
const (
	SessionStart HookKind = "session start" // also when one is resumed, and after a compaction
	SessionEnd   HookKind = "session end"
	PromptStart  HookKind = "prompt start"
	TurnEnd      HookKind = "turn end"
	AgentStart   HookKind = "agent start" // of a subagent
	AgentEnd     HookKind = "agent end"
	PlanReady    HookKind = "plan ready"    // the program asks whether it may carry out a plan
	PlanAccepted HookKind = "plan accepted" // it may
)

// A HookEvent is one event of an agent program. IDs are the program's own.
type HookEvent struct {
	Kind      HookKind
	Harness   string
	Dir       string // absolute: where the program works
	Session   string
	Prompt    string // the ID of the prompt or turn, "" if the program gives none
	At        int64  // when it happened, in milliseconds since 1970; 0 if the program does not say
	Agent     string // the ID of the subagent, "" for the main agent
	AgentType string
	Parent    string // the ID of the agent that started the subagent, if it is another subagent
	Model     string
	Message   string // the last message of a subagent
	Plan      string
	Input     json.RawMessage // of the tool that asks for a plan, as the answer repeats it
	Failed    bool
	Answered  bool // the hook was called because of an earlier answer of a hook

	Background bool // subagents are still running at the end of the turn

	// The session of handoff that the program runs in, and the run in it; "" for
	// none.
	HandoffSession, HandoffRun string

	Process handoff.Process // of the program, zero if it is not known

	Provider  string
	OwnThread bool // a subagent's thread has a URI of its own
}

// Thread returns the URI of the thread that the event is about.
func (e HookEvent) Thread() string {
	uri := thread.URI{Provider: e.Provider, Thread: e.Session, Agent: e.Agent}
	if e.Agent != "" && e.OwnThread {
		uri.Thread, uri.Agent = e.Agent, ""
	}
	return uri.String()
}

// A Program is the command of a run, as far as it is an agent program. What it
// reports to hooks is recorded also if no hooks are installed.
type Program struct {
	Args     []string // the command line
	Provider string   // of its threads, "" for a command that is not an agent program
	Session  string   // ID of its thread, "" if it is not known yet
	Agent    string   // name of the agent
	Process  handoff.Process

	Harness string
}

// Found sets the ID of the thread of p to that of the only one of list that
// started at or after a time and does not belong to another session. It returns how
// many there are.
func (p *Program) Found(ctx context.Context, hub *handoff.Hub, list []*thread.Thread, since time.Time,
	session string) (n int) {
	var ids []string
	for _, t := range list {
		from := since
		if t.Started.Nanosecond() == 0 {
			from = since.Truncate(time.Second) // some transcripts have no fractions
		}
		if t.Provider != p.Provider || t.IsAgent() || t.Started.Before(from) {
			continue
		}
		if w, err := hub.Work(ctx, p.Harness, t.ID); errors.Is(err, handoff.NotFound) || err == nil &&
			(w.SessionID == "" || w.SessionID == session) {
			ids = append(ids, t.ID)
		}
	}
	if len(ids) == 1 {
		p.Session = ids[0]
	}
	return len(ids)
}
