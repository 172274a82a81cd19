package main

import (
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/config"
	"github.com/spf13/cobra"
)

// identityFlags are how a caller says who it is, where the environment doesn't
// or is wrong.
type identityFlags struct {
	producer handoff.Producer
	model    string
	ids      []string
}

func (f *identityFlags) add(c *cobra.Command) {
	p := &f.producer
	for _, s := range []struct {
		value       *string
		name, usage string
	}{
		{&p.Agent, "agent", "who publishes: the agent's `name`"},
		{&p.Harness, "harness", "the agent's `program`: codex, claude-code, …"},
		{&p.Session, "session", "the `id` of the session"},
		{&p.ParentSession, "parent-session", "the `id` of the session it runs for"},
		{&p.RunID, "run", "the `id` of the run"},
		{&p.OperationID, "operation", "the `id` of the operation"},
		{&p.TaskID, "task", "the `id` of the task"},
		{&p.WorkID, "work", "the `id` by which usage joins (default: the operation, else the task, run or session)"},
		{&p.ParentWorkID, "parent-work", "the `id` of the work that this work is part of"},
		{&p.Thread, "thread", "the conversation's `URI`: agents://codex/…"},
		{&p.ToolCallID, "tool-call", "the `id` of the call that publishes"},
	} {
		c.Flags().StringVar(s.value, s.name, "", s.usage)
	}
	c.Flags().StringVar(&f.model, "model", "", "the model, as `provider/id`")
	c.Flags().StringArrayVar(&f.ids, "producer", nil, "any other id of the harness, as `slot=value`")
}

// resolve joins the flags with what the environment says.
func (f *identityFlags) resolve(a *app) (handoff.Producer, error) {
	p := f.producer
	if f.model != "" {
		provider, id, ok := strings.Cut(f.model, "/")
		if !ok {
			provider, id = "", f.model
		}
		p.Model = handoff.Model{Provider: provider, ID: id}
	}
	ids, err := pairs("--producer", f.ids)
	if err != nil {
		return p, err
	}
	p.IDs = ids
	said := config.Identity(a.getenv)
	if f.given() {
		p.Source = handoff.FromFlag
		said = append([]handoff.Producer{p}, said...)
	}
	return handoff.Identify(said...), nil
}

func (f *identityFlags) given() bool {
	if f.model != "" || len(f.ids) > 0 {
		return true
	}
	for _, slot := range []string{"agent", "harness", "session", "parent-session", "run", "operation", "task", "work", "parent-work", "thread", "tool-call"} {
		if f.producer.Slot(slot) != "" {
			return true
		}
	}
	return false
}

// pairs parses key=value flags.
func pairs(flag string, list []string) (map[string]string, error) {
	if len(list) == 0 {
		return nil, nil
	}
	m := map[string]string{}
	for _, s := range list {
		key, value, ok := strings.Cut(s, "=")
		if !ok || key == "" {
			return nil, invalid(flag, s, "is no key=value", "write "+flag+" key=value")
		}
		if _, twice := m[key]; twice {
			return nil, invalid(flag, s, "gives a key twice", "write "+flag+" once for each key")
		}
		m[key] = value
	}
	return m, nil
}
