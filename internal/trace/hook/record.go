package hook

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/transcript/brief"
	"github.com/agent-handoff/handoff/trace"
)

// A Recorder records the facts of events. Its hub records in the name of nobody.
type Recorder struct {
	Hub *handoff.Hub
	Now func() time.Time

	// Left returns the files that a thread created, relative to the
	// workspace, and its last message. nil for neither.
	Left func(ctx context.Context, thread string) (files []string, message string)

	// News returns what an agent is told at the start of a session beside what the session
	// left. nil for nothing.
	News func(ctx context.Context, e trace.HookEvent) (string, error)

	// Comments returns what the agent is handed of the comments on artifacts that it
	// published. nil for nothing.
	Comments func(ctx context.Context, published []handoff.Artifact) (string, error)

	// NoMessages leaves out the last messages of subagents, which are parts of
	// threads: the log is sent to other machines, and the user does not share them.
	NoMessages bool
}

// Record records an event, at most once.
func (r Recorder) Record(ctx context.Context, e trace.HookEvent) error {
	switch e.Kind {
	case trace.SessionStart:
		return r.start(ctx, e, e.Session, &handoff.WorkStarted{Kind: "session"})
	case trace.SessionEnd:
		if !r.started(ctx, e) {
			return nil // a command such as "claude mcp list", which starts no thread
		}
		return r.end(ctx, e, e.Session)
	case trace.PromptStart:
		if e.Agent == "" && !r.started(ctx, e) {
			if err := r.start(ctx, e, e.Session, &handoff.WorkStarted{Kind: "session"}); err != nil {
				return err
			}
		}
		return r.start(ctx, e, r.newPrompt(e), &handoff.WorkStarted{Kind: "prompt", ParentWorkID: cmp.Or(e.Agent, e.Session)})
	case trace.TurnEnd:
		if e.Prompt == "" {
			return nil // none is open
		}
		return r.end(ctx, e, e.Prompt)
	case trace.AgentStart:
		return r.start(ctx, e, e.Agent, &handoff.WorkStarted{
			Kind: "task", Name: e.AgentType, ParentWorkID: cmp.Or(e.Parent, e.Session)})
	case trace.AgentEnd:
		if _, err := r.Hub.Work(ctx, e.Harness, e.Agent); e.AgentType == "" && errors.Is(err, handoff.NotFound) {
			return nil // a request of the program itself, such as for a compaction, of which no start is reported
		}
		failed := r.end(ctx, e, e.Agent)
		for prompt := r.openPrompt(ctx, e); prompt != ""; prompt = r.openPrompt(ctx, e) {
			if err := r.end(ctx, e, prompt); err != nil {
				return errors.Join(failed, err)
			}
		}
		return errors.Join(failed, r.publish(ctx, e))
	}
	return nil
}

// started reports whether the start of a session, or of a part of it, is recorded.
func (r Recorder) started(ctx context.Context, e trace.HookEvent) bool {
	if _, err := r.Hub.Work(ctx, e.Harness, e.Session); err == nil {
		return true
	}
	parts, err := r.Hub.WorkUnder(ctx, e.Harness, e.Session)
	return err != nil || len(parts) > 0
}

// newPrompt returns the ID of a prompt that starts. If the program gives it none,
// that is the agent and the time.
func (r Recorder) newPrompt(e trace.HookEvent) string {
	at := e.At
	if at == 0 {
		at = r.Now().UnixMilli()
	}
	return cmp.Or(e.Prompt, fmt.Sprintf("%s#%d", cmp.Or(e.Agent, e.Session), at))
}

// openPrompt returns the newest prompt of an agent that has not ended, "" for none.
func (r Recorder) openPrompt(ctx context.Context, e trace.HookEvent) string {
	list, err := r.Hub.WorkUnder(ctx, e.Harness, cmp.Or(e.Agent, e.Session))
	if err != nil {
		return ""
	}
	for _, w := range slices.Backward(list) {
		if w.Kind == "prompt" && w.Ended == 0 {
			return w.ID
		}
	}
	return ""
}

// complete adds to an event what the facts so far show: that the session is a
// subagent of another one, which OpenCode reports at its start only, and which
// prompt ends.
func (r Recorder) complete(ctx context.Context, e trace.HookEvent) trace.HookEvent {
	if e.OwnThread && e.Agent == "" && e.Kind != trace.SessionStart {
		if w, err := r.Hub.Work(ctx, e.Harness, e.Session); err == nil && w.Kind == "task" {
			e.Session, e.Agent, e.AgentType = w.Parent, e.Session, w.Agent
			if e.Kind == trace.TurnEnd {
				e.Kind = trace.AgentEnd
			}
		}
	}
	if e.Agent != "" && e.Kind != trace.AgentStart {
		if w, err := r.Hub.Work(ctx, e.Harness, e.Agent); err == nil {
			e.AgentType = cmp.Or(w.Agent, e.AgentType) // its start may have a better name
		}
	}
	if e.Kind == trace.TurnEnd && e.Prompt == "" {
		e.Prompt = r.openPrompt(ctx, e)
	}
	return e
}

// ProducerOf returns who does the work of an event. As in the shells of the program,
// the session is the one of handoff that it runs in, if there is one.
func ProducerOf(e trace.HookEvent) handoff.Producer {
	p := handoff.Producer{Harness: e.Harness, Session: e.Session, Agent: e.AgentType, Thread: e.Thread(),
		Model: handoff.Model{ID: e.Model}, Source: handoff.FromHarness}
	if e.Agent != "" {
		p.TaskID, p.ParentWorkID = e.Agent, cmp.Or(e.Parent, e.Session)
	}
	p.WorkID = cmp.Or(e.Agent, e.Session)
	if e.HandoffSession == "" && e.HandoffRun == "" {
		return p
	}
	return handoff.Identify(handoff.Producer{Session: e.HandoffSession, RunID: e.HandoffRun, WorkID: p.WorkID,
		Source: handoff.FromEnvironment}, p)
}

func (r Recorder) start(ctx context.Context, e trace.HookEvent, id string, f *handoff.WorkStarted) error {
	if w, err := r.Hub.Work(ctx, e.Harness, id); err == nil && w.Started != 0 {
		return nil
	}
	f.WorkID, f.Agent, f.Model, f.Thread, f.StartedAt = id, e.AgentType, handoff.Model{ID: e.Model}, e.Thread(), r.Now()
	f.SessionID, f.RunID, f.Process = e.HandoffSession, e.HandoffRun, e.Process
	_, _, err := r.Hub.As(ProducerOf(e)).Record(ctx, f)
	return err
}

func (r Recorder) end(ctx context.Context, e trace.HookEvent, id string) error {
	if w, err := r.Hub.Work(ctx, e.Harness, id); err == nil && w.Ended != 0 {
		return nil
	}
	f := &handoff.WorkEnded{WorkID: id, EndedAt: r.Now(), IsError: e.Failed, Status: "completed"}
	if e.Failed {
		f.Status = "failed"
	}
	_, _, err := r.Hub.As(ProducerOf(e)).Record(ctx, f)
	return err
}

// maxWritten is how many files of a subagent are published at most.
const maxWritten = 20

// publish publishes what a subagent left: its last message and the files that it
// created. They would else be lost when its parent's context is compacted.
func (r Recorder) publish(ctx context.Context, e trace.HookEvent) error {
	hub := r.Hub.As(ProducerOf(e))
	var failed error
	var files []string
	message := e.Message
	if r.Left != nil {
		var last string
		files, last = r.Left(ctx, e.Thread())
		message = cmp.Or(message, last)
	}
	if r.NoMessages {
		message = ""
	}
	var left []string
	for i, file := range files {
		if i == maxWritten {
			break
		}
		done, err := hub.Publish(ctx, handoff.Draft{Channel: brief.HandOverChannel, Path: file,
			Tags: []string{brief.SubagentTag},
			Key:  strings.Join([]string{"hook", e.Harness, e.Agent, file}, ":")})
		if err != nil {
			failed = errors.Join(failed, err) // the file was moved or removed; the others count
			continue
		}
		left = append(left, done.ID)
	}
	if strings.TrimSpace(message) == "" {
		return failed
	}
	message, _ = handoff.RedactText(message)
	title := "last message of " + cmp.Or(e.AgentType, "a subagent")
	_, err := hub.Publish(ctx, handoff.Draft{Channel: brief.HandOverChannel, Kind: "message",
		Title: oneLine(title, handoff.MaxTitle),
		Body:  strings.NewReader(message), Filename: "message.md", Parents: left, Tags: []string{brief.SubagentTag},
		Key: strings.Join([]string{"hook", e.Harness, e.Agent, fmt.Sprintf("%x", sha256.Sum256([]byte(message)))}, ":")})
	return errors.Join(failed, err)
}

func oneLine(s string, limit int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > limit {
		return string(r[:limit])
	}
	return s
}
