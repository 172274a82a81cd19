package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/names"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// An Identity holds the flags by which a caller identifies itself where the
// environment does not.
type Identity struct {
	Producer handoff.Producer
	model    string
	ids      []string
}

// identityFlags are the identity flags that set one field of a producer.
var identityFlags = []string{"agent", "harness", "session", "parent-session", "run", "operation", "task", "work", "parent-work", "thread", "tool-call"}

// Add gives a command the identity flags.
func (f *Identity) Add(c *cobra.Command) {
	p := &f.Producer
	for _, s := range []struct {
		value       *string
		name, usage string
	}{
		{&p.Agent, "agent", "agent `name`"},
		{&p.Harness, "harness", "agent `program`: codex, claude-code, …"},
		{&p.Session, "session", "session `id`"},
		{&p.ParentSession, "parent-session", "`id` of the parent session"},
		{&p.RunID, "run", "run `id`"},
		{&p.OperationID, "operation", "operation `id`"},
		{&p.TaskID, "task", "task `id`"},
		{&p.WorkID, "work", "work `id`, which usage is joined by (default: the operation, else the task, run or session)"},
		{&p.ParentWorkID, "parent-work", "`id` of the parent work"},
		{&p.Thread, "thread", "`URI` of the conversation: agents://codex/…"},
		{&p.ToolCallID, "tool-call", "`id` of the tool call that runs this command"},
	} {
		c.Flags().StringVar(s.value, s.name, "", s.usage)
	}
	c.Flags().StringVar(&f.model, "model", "", "model `name`, as provider/id")
	c.Flags().StringArrayVar(&f.ids, "producer", nil, "any other id of the harness, as `field=value` (repeatable)")
	GroupFlags(c, "Identity flags", slices.Concat(identityFlags, []string{"model", "producer"})...)
}

// Resolve combines the flags with the identity in the environment.
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
	known := config.Identity(a.Getenv)
	if f.given() {
		p.Source = handoff.FromFlag
		known = append([]handoff.Producer{p}, known...)
	}
	return handoff.Identify(known...), nil
}

func (f *Identity) given() bool {
	if f.model != "" || len(f.ids) > 0 {
		return true
	}
	for _, slot := range identityFlags {
		if f.Producer.Slot(slot) != "" {
			return true
		}
	}
	return false
}

// Caller is the producer that the environment identifies.
func (a *App) Caller() handoff.Producer { return handoff.Identify(config.Identity(a.Getenv)...) }

// Scope returns where the names that a producer's commands use are looked up.
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
