package config_test

import (
	"reflect"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
)

func env(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

// TestIdentity is the table of precedence: flag, handoff's own variables, the
// harness's own variable, an inherited one, none. What loses is observed.
func TestIdentity(t *testing.T) {
	flag := handoff.Producer{Agent: "flagged", TaskID: "t-flag", Source: handoff.FromFlag}
	harness := func(name, provider, id string) handoff.Producer {
		return handoff.Producer{Harness: name, Session: id, WorkID: id, Thread: "agents://" + provider + "/" + id, Source: handoff.FromHarness}
	}
	seen := func(name, provider, id string, source handoff.Source) handoff.Observation {
		return handoff.Observation{Harness: name, IDs: map[string]string{"session": id, "thread": "agents://" + provider + "/" + id}, Source: source}
	}
	with := func(p handoff.Producer, change func(*handoff.Producer)) handoff.Producer {
		change(&p)
		return p
	}
	for _, tt := range []struct {
		name string
		flag *handoff.Producer
		env  map[string]string
		want handoff.Producer
	}{
		{"none", nil, nil, handoff.Producer{Harness: "unknown", Source: handoff.FromNone}},
		{"codex", nil, map[string]string{"CODEX_THREAD_ID": "c"}, harness("codex", "codex", "c")},
		{"claude", nil, map[string]string{"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "c"}, harness("claude-code", "claude", "c")},
		{"claude, old", nil, map[string]string{"CLAUDECODE": "1"}, handoff.Producer{Harness: "claude-code", Source: handoff.FromHarness}},
		{"amp", nil, map[string]string{"AMP_CURRENT_THREAD_ID": "T-1"}, harness("amp", "amp", "T-1")},
		{"amp, best first", nil, map[string]string{"AGENT": "amp", "AMP_CURRENT_THREAD_ID": "T-1", "AGENT_THREAD_ID": "T-2"}, harness("amp", "amp", "T-1")},
		{"amp, signed", nil, map[string]string{"AGENT": "amp", "AGENT_THREAD_ID": "T-2"}, harness("amp", "amp", "T-2")},
		{"another's AGENT_THREAD_ID", nil, map[string]string{"AGENT_THREAD_ID": "T-2"}, handoff.Producer{Harness: "unknown", Source: handoff.FromNone}},
		{"gemini", nil, map[string]string{"GEMINI_CLI": "1", "GEMINI_SESSION_ID": "g"}, harness("gemini-cli", "gemini", "g")},
		{"gemini, no id", nil, map[string]string{"GEMINI_CLI": "1"}, handoff.Producer{Harness: "gemini-cli", Source: handoff.FromHarness}},
		{"pi", nil, map[string]string{"PI_SESSION_ID": "p"}, harness("pi", "pi", "p")},
		{"cursor", nil, map[string]string{"CURSOR_CONVERSATION_ID": "u"}, harness("cursor", "cursor", "u")},
		{"qwen", nil, map[string]string{"QWEN_CODE_SESSION_ID": "q"}, harness("qwen-code", "qwen", "q")},

		{"codex in a shell of claude's", nil, map[string]string{"CODEX_THREAD_ID": "c", "CLAUDE_CODE_SESSION_ID": "a", "CLAUDECODE": "1"},
			with(harness("codex", "codex", "c"), func(p *handoff.Producer) {
				p.Observed = []handoff.Observation{seen("claude-code", "claude", "a", handoff.FromInherited)}
			})},
		{"three deep", nil, map[string]string{"QWEN_CODE_SESSION_ID": "q", "PI_SESSION_ID": "p", "CLAUDE_CODE_SESSION_ID": "a"},
			with(harness("pi", "pi", "p"), func(p *handoff.Producer) {
				p.Observed = []handoff.Observation{
					seen("qwen-code", "qwen", "q", handoff.FromInherited), seen("claude-code", "claude", "a", handoff.FromInherited)}
			})},

		{"own", nil, map[string]string{"HANDOFF_HARNESS": "h", "HANDOFF_AGENT": "a", "HANDOFF_SESSION": "s", "HANDOFF_RUN": "r",
			"HANDOFF_TASK": "t", "HANDOFF_OPERATION": "o", "HANDOFF_THREAD": "agents://codex/x"},
			handoff.Producer{Harness: "h", Agent: "a", Session: "s", RunID: "r", TaskID: "t", OperationID: "o", WorkID: "o",
				Thread: "agents://codex/x", Source: handoff.FromEnvironment}},
		{"a session without a run, in pi's words too", nil, map[string]string{"HANDOFF_SESSION": "s", "PI_ARTIFACT_RUN_ID": "s", "PI_ARTIFACT_SESSION_DIR": "d"},
			handoff.Producer{Session: "s", WorkID: "s", Source: handoff.FromEnvironment}},
		{"a run in pi's words", nil, map[string]string{"HANDOFF_SESSION": "s", "PI_ARTIFACT_RUN_ID": "r", "PI_ARTIFACT_SESSION_DIR": "d"},
			handoff.Producer{Session: "s", RunID: "r", WorkID: "r", Source: handoff.FromEnvironment}},
		{"own before the harness's", nil, map[string]string{"HANDOFF_SESSION": "s", "CODEX_THREAD_ID": "c"},
			handoff.Producer{Harness: "codex", Session: "s", WorkID: "s", Thread: "agents://codex/c", Source: handoff.FromEnvironment,
				Observed: []handoff.Observation{{Harness: "codex", IDs: map[string]string{"session": "c"}, Source: handoff.FromHarness}}}},
		{"own of another harness", nil, map[string]string{"HANDOFF_HARNESS": "mine", "CODEX_THREAD_ID": "c"},
			handoff.Producer{Harness: "mine", Source: handoff.FromEnvironment,
				Observed: []handoff.Observation{seen("codex", "codex", "c", handoff.FromHarness)}}},

		{"flag before own", &flag, map[string]string{"HANDOFF_AGENT": "env", "HANDOFF_RUN": "r"},
			handoff.Producer{Agent: "flagged", TaskID: "t-flag", WorkID: "t-flag", RunID: "r", Source: handoff.FromFlag,
				Observed: []handoff.Observation{{IDs: map[string]string{"agent": "env"}, Source: handoff.FromEnvironment}}}},
		{"flag, own, harness, inherited", &flag,
			map[string]string{"HANDOFF_AGENT": "env", "CODEX_THREAD_ID": "c", "CLAUDE_CODE_SESSION_ID": "a"},
			handoff.Producer{Agent: "flagged", TaskID: "t-flag", WorkID: "t-flag", Harness: "codex", Session: "c", Thread: "agents://codex/c",
				Source: handoff.FromFlag, Observed: []handoff.Observation{
					{IDs: map[string]string{"agent": "env"}, Source: handoff.FromEnvironment},
					seen("claude-code", "claude", "a", handoff.FromInherited)}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			said := config.Identity(env(tt.env))
			if tt.flag != nil {
				said = append([]handoff.Producer{*tt.flag}, said...)
			}
			if got := handoff.Identify(said...); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("Identify(%v) =\n%+v, want\n%+v", tt.env, got, tt.want)
			}
		})
	}
}
