package cli

import (
	"cmp"
	"context"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/names"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// Identity are how a caller says who it is, where the environment doesn't
// or is wrong.
type Identity struct {
	Producer handoff.Producer
	model    string
	ids      []string
}

// Add gives a command the flags of an identity.
func (f *Identity) Add(c *cobra.Command) {
	p := &f.Producer
	for _, s := range []struct {
		value       *string
		name, usage string
	}{
		{&p.Agent, "agent", "who is at work: the agent's `name`"},
		{&p.Harness, "harness", "the agent's `program`: codex, claude-code, …"},
		{&p.Session, "session", "the `id` of the session"},
		{&p.ParentSession, "parent-session", "the `id` of the session it runs for"},
		{&p.RunID, "run", "the `id` of the run"},
		{&p.OperationID, "operation", "the `id` of the operation"},
		{&p.TaskID, "task", "the `id` of the task"},
		{&p.WorkID, "work", "the `id` by which usage joins (default: the operation, else the task, run or session)"},
		{&p.ParentWorkID, "parent-work", "the `id` of the work that this work is part of"},
		{&p.Thread, "thread", "the conversation's `URI`: agents://codex/…"},
		{&p.ToolCallID, "tool-call", "the `id` of the call that runs this command"},
	} {
		c.Flags().StringVar(s.value, s.name, "", s.usage)
	}
	c.Flags().StringVar(&f.model, "model", "", "the model, as `provider/id`")
	c.Flags().StringArrayVar(&f.ids, "producer", nil, "any other id of the harness, as `slot=value`")
}

// Resolve joins the flags with what the environment says.
func (f *Identity) Resolve(a *App) (handoff.Producer, error) {
	p := f.Producer
	if f.model != "" {
		provider, id, ok := strings.Cut(f.model, "/")
		if !ok {
			provider, id = "", f.model
		}
		p.Model = handoff.Model{Provider: provider, ID: id}
	}
	ids, err := Pairs("--producer", f.ids)
	if err != nil {
		return p, err
	}
	p.IDs = ids
	said := config.Identity(a.Getenv)
	if f.given() {
		p.Source = handoff.FromFlag
		said = append([]handoff.Producer{p}, said...)
	}
	return handoff.Identify(said...), nil
}

func (f *Identity) given() bool {
	if f.model != "" || len(f.ids) > 0 {
		return true
	}
	for _, slot := range []string{"agent", "harness", "session", "parent-session", "run", "operation", "task", "work", "parent-work", "thread", "tool-call"} {
		if f.Producer.Slot(slot) != "" {
			return true
		}
	}
	return false
}

// Caller is who the environment says is at work.
func (a *App) Caller() handoff.Producer { return handoff.Identify(config.Identity(a.Getenv)...) }

// Scope says whose names are meant by what a producer's commands name.
func (a *App) Scope(ctx context.Context, w *workspace.Workspace, p handoff.Producer) names.Scope {
	for _, warning := range config.Warnings(a.Getenv) {
		a.Warn("%s", warning)
	}
	s := names.Scope{Session: p.Session, Run: p.RunID, Dir: config.SessionDir(a.Getenv, a.Dir)}
	if owner := cmp.Or(p.Session, p.RunID); s.Dir == "" && owner != "" {
		s.Dir, s.Within = w.SessionDir(ctx, owner), w.Home()
	}
	return s
}
