package handoff_test

import (
	"reflect"
	"testing"

	"github.com/agent-handoff/handoff"
)

func TestIdentify(t *testing.T) {
	flag := handoff.Producer{Harness: "codex", Agent: "builder", Session: "s1", IDs: map[string]string{"turn": "7"},
		Source: handoff.FromFlag}
	inherited := handoff.Producer{Harness: "claude-code", Session: "s2", IDs: map[string]string{"turn": "8"},
		Source: handoff.FromInherited}
	none := handoff.Producer{Source: handoff.FromNone}
	for _, tt := range []struct {
		name    string
		sources []handoff.Producer
		want    handoff.Producer
	}{
		{"none", nil, handoff.Producer{}},
		{"source none", []handoff.Producer{none}, handoff.Producer{Harness: "unknown", Source: handoff.FromNone}},
		{"one", []handoff.Producer{flag}, handoff.Producer{Harness: "codex", Agent: "builder", Session: "s1", WorkID: "s1",
			IDs: map[string]string{"turn": "7"}, Source: handoff.FromFlag}},
		{"another harness", []handoff.Producer{flag, inherited},
			handoff.Producer{Harness: "codex", Agent: "builder", Session: "s1", WorkID: "s1",
				IDs: map[string]string{"turn": "7"}, Source: handoff.FromFlag,
				Observed: []handoff.Observation{{Harness: "claude-code", IDs: map[string]string{"session": "s2", "turn": "8"},
					Source: handoff.FromInherited}}}},
		{"the same harness", []handoff.Producer{
			{Harness: "codex", RunID: "r1", Source: handoff.FromEnvironment},
			{Harness: "codex", RunID: "r2", Session: "s", Model: handoff.Model{ID: "gpt-5"}, Source: handoff.FromHarness},
		}, handoff.Producer{Harness: "codex", RunID: "r1", Session: "s", WorkID: "r1", Model: handoff.Model{ID: "gpt-5"},
			Source: handoff.FromEnvironment,
			Observed: []handoff.Observation{{Harness: "codex", IDs: map[string]string{"run": "r2"},
				Source: handoff.FromHarness}}}},
		{"no harness at first", []handoff.Producer{
			{Agent: "a", Source: handoff.FromFlag}, {Harness: "codex", TaskID: "t", Source: handoff.FromHarness}},
			handoff.Producer{Harness: "codex", Agent: "a", TaskID: "t", WorkID: "t", Source: handoff.FromFlag}},
	} {
		if got := handoff.Identify(tt.sources...); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// TestWorkID takes the ID of the innermost unit of work.
func TestWorkID(t *testing.T) {
	p := handoff.Producer{WorkID: "w", OperationID: "o", TaskID: "t", RunID: "r", Session: "s"}
	for _, want := range []string{"w", "o", "t", "r", "s", ""} {
		if got := handoff.Identify(p).WorkID; got != want {
			t.Errorf("WorkID of %+v is %q, want %q", p, got, want)
		}
		for _, field := range []*string{&p.WorkID, &p.OperationID, &p.TaskID, &p.RunID, &p.Session} {
			if *field != "" {
				*field = ""
				break
			}
		}
	}
}

func TestSlot(t *testing.T) {
	p := handoff.Producer{RunID: "r", ToolCallID: "c", IDs: map[string]string{"turn": "7"}}
	for name, want := range map[string]string{"run": "r", "runId": "r", "tool-call": "c", "toolCallId": "c", "turn": "7",
		"task": "", "other": ""} {
		if got := p.Slot(name); got != want {
			t.Errorf("Slot(%q) = %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"runId": "run", "run": "run", "turn": "turn"} {
		if got := handoff.SlotName(name); got != want {
			t.Errorf("SlotName(%q) = %q, want %q", name, got, want)
		}
	}
}
