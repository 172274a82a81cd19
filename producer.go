package handoff

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A Producer identifies who made a record. Its IDs are the harness's own, stored
// verbatim and compared only for equality. It is attribution, not
// authentication: any writer of the log can record any producer.
type Producer struct {
	// WorkID, together with Harness, joins usage, artifacts and traces: the ID
	// of the enclosing operation, otherwise of the task, run or session.
	WorkID        string `json:"workId,omitempty"`
	ParentWorkID  string `json:"parentWorkId,omitempty"`
	Harness       string `json:"harness,omitempty"` // codex, claude-code, …
	Agent         string `json:"agent,omitempty"`
	Model         Model  `json:"model,omitzero"`
	RunID         string `json:"runId,omitempty"`
	OperationID   string `json:"operationId,omitempty"`
	TaskID        string `json:"taskId,omitempty"`
	Session       string `json:"session,omitempty"`
	ParentSession string `json:"parentSession,omitempty"`
	Thread        string `json:"thread,omitempty"` // agents://codex/<id>
	// of the publish call itself: evidence, not a key to join on
	ToolCallID string            `json:"toolCallId,omitempty"`
	IDs        map[string]string `json:"ids,omitempty"` // other IDs of the harness, by name
	Observed   []Observation     `json:"observed,omitempty"`
	Source     Source            `json:"source,omitempty"`
}

// A Model names a language model as its provider does.
type Model struct {
	Provider string `json:"provider,omitempty"`
	ID       string `json:"id"`
}

// An Observation is an identity from a source of lower priority, or of another
// harness.
type Observation struct {
	Harness string            `json:"harness,omitempty"`
	IDs     map[string]string `json:"ids"`
	Source  Source            `json:"source"`
}

// A Source is where an identity came from.
type Source string

// The sources, in the order of their priority.
const (
	FromFlag        Source = "flag"
	FromMCP         Source = "mcp"         // _meta of a tool call
	FromEnvironment Source = "environment" // handoff's own variables
	FromHarness     Source = "harness"     // an environment variable of the harness that runs the command
	FromInherited   Source = "inherited"   // an environment variable of an outer harness
	FromNone        Source = "none"
)

// Identify merges producers from several sources, in the order of their priority,
// into one. Each field has its first value. Later values that differ, and all
// values of another harness, become an Observation. WorkID is set if it is empty.
func Identify(sources ...Producer) Producer {
	var p Producer
	for _, q := range sources {
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

var threadForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9+.-]*://[^\s]+$`) })

// CheckThread returns an error of kind Invalid for a thread that is not a URI.
func CheckThread(uri string) error {
	if uri == "" || threadForm().MatchString(uri) {
		return nil
	}
	return E("thread", fmt.Sprintf("%.100q", uri), Invalid, errors.New("not a URI"),
		Advice("use the form agents://codex/ID"))
}

// Slot returns a field of the producer by its name in filters or in JSON, or an
// entry of IDs. The model is provider/id, or its ID alone.
func (p Producer) Slot(name string) string {
	for _, s := range p.slots() {
		if s.name == name || s.json == name {
			return *s.value
		}
	}
	if name == modelSlot && p.Model.ID != "" {
		return strings.TrimPrefix(p.Model.Provider+"/"+p.Model.ID, "/")
	}
	return p.IDs[name]
}

// modelSlot is the name of the model in filters and in JSON.
const modelSlot = "model"

// SlotNames returns the names in filters of the fields of a producer.
func SlotNames() []string {
	var names []string
	for _, s := range new(Producer).slots() {
		names = append(names, s.name)
	}
	return append(names, modelSlot)
}

// SlotName returns the name in filters of a field with the given name in JSON. It
// returns any other name unchanged.
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

// Name returns the agent, or else the program.
func (p Producer) Name() string { return cmp.Or(p.Agent, p.Harness) }

// check returns an error of kind Invalid if a value is too long for a record that
// every reader shows.
func (p Producer) check() error {
	for _, s := range p.slots() {
		most := maxWord
		if s.name == "thread" {
			most = maxThread
		}
		if err := checkLength(s.name, *s.value, most); err != nil {
			return err
		}
	}
	if err := cmp.Or(checkLength("model", p.Model.ID, maxWord),
		checkLength("model provider", p.Model.Provider, maxWord)); err != nil {
		return err
	}
	if err := checkIDs(p.IDs); err != nil {
		return err
	}
	for _, o := range p.Observed {
		if err := cmp.Or(checkLength("harness", o.Harness, maxWord), checkIDs(o.IDs)); err != nil {
			return err
		}
	}
	return nil
}

func checkIDs(ids map[string]string) error {
	if len(ids) > maxIDs {
		return E("producer", "", Invalid, fmt.Errorf("has %d IDs, more than %d", len(ids), maxIDs),
			Advice("leave some of them out"))
	}
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		if err := cmp.Or(checkLength("name of an ID", name, maxWord),
			checkLength(name, ids[name], maxThread)); err != nil {
			return err
		}
	}
	return nil
}

func (p *Producer) slots() [11]slot {
	return [...]slot{
		{"harness", "harness", &p.Harness}, {"agent", "agent", &p.Agent}, {"session", "session", &p.Session},
		{"parent-session", "parentSession", &p.ParentSession}, {"run", "runId", &p.RunID},
		{"operation", "operationId", &p.OperationID}, {"task", "taskId", &p.TaskID}, {"work", "workId", &p.WorkID},
		{"parent-work", "parentWorkId", &p.ParentWorkID}, {"thread", "thread", &p.Thread},
		{"tool-call", "toolCallId", &p.ToolCallID},
	}
}
