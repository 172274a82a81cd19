package handoff

import "cmp"

// A Producer says who made a record. Every id in it is the harness's own, kept
// verbatim and compared only for equality. It is attribution, not
// authentication: whoever may write the log may write any name into it.
type Producer struct {
	// WorkID is the id by which usage, artifacts and traces join: the enclosing
	// operation's, else the task's, else the run's, else the session's.
	WorkID        string            `json:"workId,omitempty"`
	ParentWorkID  string            `json:"parentWorkId,omitempty"`
	Harness       string            `json:"harness,omitempty"` // codex, claude-code, …
	Agent         string            `json:"agent,omitempty"`
	Model         Model             `json:"model,omitzero"`
	RunID         string            `json:"runId,omitempty"`
	OperationID   string            `json:"operationId,omitempty"`
	TaskID        string            `json:"taskId,omitempty"`
	Session       string            `json:"session,omitempty"`
	ParentSession string            `json:"parentSession,omitempty"`
	Thread        string            `json:"thread,omitempty"`     // agents://codex/<id>
	ToolCallID    string            `json:"toolCallId,omitempty"` // of the publish call itself: evidence, not a join key
	IDs           map[string]string `json:"ids,omitempty"`        // whatever else the harness told, by slot
	Observed      []Observation     `json:"observed,omitempty"`
	Source        Source            `json:"source,omitempty"`
}

// A Model names a language model as its provider does.
type Model struct {
	Provider string `json:"provider,omitempty"`
	ID       string `json:"id"`
}

// An Observation is an identity that was seen too, but lost against a better
// source.
type Observation struct {
	Harness string            `json:"harness,omitempty"`
	IDs     map[string]string `json:"ids"`
	Source  Source            `json:"source"`
}

// A Source says where an identity came from.
type Source string

// The sources, best first.
const (
	FromFlag        Source = "flag"
	FromMCP         Source = "mcp"         // _meta of a tool call
	FromEnvironment Source = "environment" // handoff's own variables
	FromHarness     Source = "harness"     // the variable of the harness that runs the command
	FromInherited   Source = "inherited"   // the variable of a harness further out
	FromNone        Source = "none"
)

// Identify joins what several sources say about one producer, best first. A
// slot holds the first value that was said of it; a later, different one, and
// all that is said of another harness, is kept as an Observation.
func Identify(said ...Producer) Producer {
	var p Producer
	for _, q := range said {
		lost := map[string]string{}
		other := p.Harness != "" && q.Harness != "" && p.Harness != q.Harness
		have, take := p.slots(), q.slots()
		for i, s := range take {
			switch {
			case *s.value == "" || *s.value == *have[i].value:
			case *have[i].value == "" && !other:
				*have[i].value = *s.value
			case s.name != "harness":
				lost[s.name] = *s.value
			}
		}
		for name, value := range q.IDs {
			switch had, ok := p.IDs[name]; {
			case !ok && !other:
				if p.IDs == nil {
					p.IDs = map[string]string{}
				}
				p.IDs[name] = value
			case had != value:
				lost[name] = value
			}
		}
		if len(lost) > 0 || other {
			p.Observed = append(p.Observed, Observation{q.Harness, lost, q.Source})
		}
		p.Observed = append(p.Observed, q.Observed...)
		if p.Model == (Model{}) && !other {
			p.Model = q.Model
		}
		if p.Source == "" || p.Source == FromNone {
			p.Source = q.Source
		}
	}
	if p.Source == FromNone {
		p.Harness = "unknown"
	}
	p.WorkID = cmp.Or(p.WorkID, p.OperationID, p.TaskID, p.RunID, p.Session)
	return p
}

// Slot returns the value that the producer has for a slot: one of its fields,
// by the name that filters or that JSON has for it, or one of its other ids.
func (p Producer) Slot(name string) string {
	for _, s := range p.slots() {
		if s.name == name || s.json == name {
			return *s.value
		}
	}
	return p.IDs[name]
}

// SlotName returns the name of the slot that JSON spells otherwise, and any
// other name as it is.
func SlotName(name string) string {
	for _, s := range new(Producer).slots() {
		if s.json == name {
			return s.name
		}
	}
	return name
}

type slot struct {
	name, json string
	value      *string
}

func (p *Producer) slots() [11]slot {
	return [...]slot{
		{"harness", "harness", &p.Harness}, {"agent", "agent", &p.Agent}, {"session", "session", &p.Session},
		{"parent-session", "parentSession", &p.ParentSession}, {"run", "runId", &p.RunID},
		{"operation", "operationId", &p.OperationID}, {"task", "taskId", &p.TaskID}, {"work", "workId", &p.WorkID},
		{"parent-work", "parentWorkId", &p.ParentWorkID}, {"thread", "thread", &p.Thread}, {"tool-call", "toolCallId", &p.ToolCallID},
	}
}
