package cli

import (
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

// identityFields are what --producer can set. The first ones are flags of each command that
// records something, too, and the others of those that AddIDs was called for.
var identityFields = []struct {
	name, usage string
	field       func(*handoff.Producer) *string
}{
	{"agent", "agent `name`", func(p *handoff.Producer) *string { return &p.Agent }},
	{"session", "session `ID`", func(p *handoff.Producer) *string { return &p.Session }},
	{"task", "task `ID`", func(p *handoff.Producer) *string { return &p.TaskID }},
	{"harness", "agent `program`: codex, claude-code, …", func(p *handoff.Producer) *string { return &p.Harness }},
	{"parent-session", "`ID` of the parent session", func(p *handoff.Producer) *string { return &p.ParentSession }},
	{"run", "run `ID`", func(p *handoff.Producer) *string { return &p.RunID }},
	{"operation", "operation `ID`", func(p *handoff.Producer) *string { return &p.OperationID }},
	{"work", "work `ID`; joins usage to artifacts",
		func(p *handoff.Producer) *string { return &p.WorkID }},
	{"parent-work", "`ID` of the parent work", func(p *handoff.Producer) *string { return &p.ParentWorkID }},
	{"thread", "`URI` of the thread: agents://codex/…", func(p *handoff.Producer) *string { return &p.Thread }},
	{"tool-call", "`ID` of the tool call that runs this command",
		func(p *handoff.Producer) *string { return &p.ToolCallID }},
}

const shownIdentity = 3

// Add gives a command the identity flags.
func (f *Identity) Add(c *cobra.Command) {
	var shown, others []string
	for i, field := range identityFields {
		if i < shownIdentity {
			c.Flags().StringVar(field.field(&f.Producer), field.name, "", field.usage)
			shown = append(shown, field.name)
		} else {
			others = append(others, field.name)
		}
	}
	c.Flags().StringArrayVar(&f.ids, "producer", nil,
		"another `field=value`: "+strings.Join(append(others, "model"), ", ")+
			", or an ID of the program; may be repeated")
	GroupFlags(c, "Identity flags", append(shown, "producer")...)
}

// AddIDs gives a command the flags of the other fields, which help does not show. They are
// for the programs that record work and what it published, and join both by these IDs.
func (f *Identity) AddIDs(c *cobra.Command) {
	for _, field := range identityFields[shownIdentity:] {
		c.Flags().StringVar(field.field(&f.Producer), field.name, "", field.usage)
		c.Flags().MarkHidden(field.name)
	}
	c.Flags().StringVar(&f.model, "model", "", "model `name`, as provider/name")
	c.Flags().MarkHidden("model")
}

// AddRun gives a command the flag of the run whose names it uses.
func (f *Identity) AddRun(c *cobra.Command) {
	c.Flags().StringVar(&f.Producer.RunID, "run", "", "run `ID`")
	c.Flags().MarkHidden("run")
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
	p, model := f.Producer, f.model
	var err error
	p.IDs, err = Pairs("--producer", f.ids)
	for _, field := range identityFields {
		if value, ok := p.IDs[field.name]; ok {
			*field.field(&p) = value
			delete(p.IDs, field.name)
		}
	}
	if value, ok := p.IDs["model"]; ok {
		model = value
		delete(p.IDs, "model")
	}
	if model != "" {
		provider, id, ok := strings.Cut(model, "/")
		if !ok {
			provider, id = "", model
		}
		p.Model = handoff.Model{Provider: provider, ID: id}
	}
	return p, err
}
