package cli

import (
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
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
var identityFlags = []string{"agent", "harness", "session", "parent-session", "run", "operation", "task", "work",
	"parent-work", "thread", "tool-call"}

// Add gives a command the identity flags.
func (f *Identity) Add(c *cobra.Command) {
	p := &f.Producer
	for _, s := range []struct {
		value       *string
		name, usage string
	}{
		{&p.Agent, "agent", "agent `name`"},
		{&p.Harness, "harness", "agent `program`: codex, claude-code, …"},
		{&p.Session, "session", "session `ID`"},
		{&p.ParentSession, "parent-session", "`ID` of the parent session"},
		{&p.RunID, "run", "run `ID`"},
		{&p.OperationID, "operation", "operation `ID`"},
		{&p.TaskID, "task", "task `ID`"},
		{&p.WorkID, "work", "work `ID`, which usage is joined by (default: the operation, else the task, run or session)"},
		{&p.ParentWorkID, "parent-work", "`ID` of the parent work"},
		{&p.Thread, "thread", "`URI` of the conversation: agents://codex/…"},
		{&p.ToolCallID, "tool-call", "`ID` of the tool call that runs this command"},
	} {
		c.Flags().StringVar(s.value, s.name, "", s.usage)
	}
	c.Flags().StringVar(&f.model, "model", "", "model `name`, as provider/name")
	c.Flags().StringArrayVar(&f.ids, "producer", nil, "any other ID of the harness, as `field=value`; may be repeated")
	GroupFlags(c, "Identity flags", slices.Concat(identityFlags, []string{"model", "producer"})...)
}

// As returns the workspace on behalf of the producer that the flags and the
// environment identify.
func (f *Identity) As(a *App, w *workspace.Workspace) (*workspace.Workspace, error) {
	p, err := f.given()
	if err != nil {
		return nil, err
	}
	return w.As(workspace.CallerFrom(a.Dir, a.Getenv, p)), nil
}

// given returns the producer that the flags describe.
func (f *Identity) given() (handoff.Producer, error) {
	p := f.Producer
	if f.model != "" {
		provider, id, ok := strings.Cut(f.model, "/")
		if !ok {
			provider, id = "", f.model
		}
		p.Model = handoff.Model{Provider: provider, ID: id}
	}
	var err error
	p.IDs, err = Pairs("--producer", f.ids)
	return p, err
}
