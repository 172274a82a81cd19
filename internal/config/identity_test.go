package config_test

import (
	"os"
	"reflect"
	"runtime"
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
		return handoff.Producer{Harness: name, Session: id, WorkID: id, Thread: "agents://" + provider + "/" + id,
			Source: handoff.FromHarness}
	}
	seen := func(name, provider, id string, source handoff.Source) handoff.Observation {
		return handoff.Observation{Harness: name,
			IDs: map[string]string{"session": id, "thread": "agents://" + provider + "/" + id}, Source: source}
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
		{"claude", nil, map[string]string{"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "c"},
			harness("claude-code", "claude", "c")},
		{"claude, old", nil, map[string]string{"CLAUDECODE": "1"},
			handoff.Producer{Harness: "claude-code", Source: handoff.FromHarness}},
		{"amp", nil, map[string]string{"AMP_CURRENT_THREAD_ID": "T-1"}, harness("amp", "amp", "T-1")},
		{"amp, best first", nil, map[string]string{"AGENT": "amp", "AMP_CURRENT_THREAD_ID": "T-1", "AGENT_THREAD_ID": "T-2"},
			harness("amp", "amp", "T-1")},
		{"amp, signed", nil, map[string]string{"AGENT": "amp", "AGENT_THREAD_ID": "T-2"}, harness("amp", "amp", "T-2")},
		{"another's AGENT_THREAD_ID", nil, map[string]string{"AGENT_THREAD_ID": "T-2"},
			handoff.Producer{Harness: "unknown", Source: handoff.FromNone}},
		{"gemini", nil, map[string]string{"GEMINI_CLI": "1", "GEMINI_SESSION_ID": "g"}, harness("gemini-cli", "gemini", "g")},
		{"gemini, no id", nil, map[string]string{"GEMINI_CLI": "1"},
			handoff.Producer{Harness: "gemini-cli", Source: handoff.FromHarness}},
		{"pi", nil, map[string]string{"PI_SESSION_ID": "p"}, harness("pi", "pi", "p")},
		{"cursor", nil, map[string]string{"CURSOR_CONVERSATION_ID": "u"}, harness("cursor", "cursor", "u")},
		{"qwen", nil, map[string]string{"QWEN_CODE_SESSION_ID": "q"}, harness("qwen-code", "qwen", "q")},

		{"codex, a subagent", nil, map[string]string{"CODEX_THREAD_ID": "c", "CODEX_SESSION_ID": "root",
			"CODEX_TOOL_CALL_ID": "call_1"},
			with(harness("codex", "codex", "c"), func(p *handoff.Producer) {
				p.Session, p.RunID, p.WorkID, p.ToolCallID = "root", "c", "c", "call_1"
			})},
		{"codex, the main agent", nil, map[string]string{"CODEX_THREAD_ID": "c", "CODEX_SESSION_ID": "c"},
			harness("codex", "codex", "c")},
		{"qwen, a subagent", nil, map[string]string{"QWEN_CODE_SESSION_ID": "q", "QWEN_CODE_AGENT_ID": "general-1",
			"QWEN_CODE_PROMPT_ID": "p1"},
			with(harness("qwen-code", "qwen", "q"), func(p *handoff.Producer) {
				p.Thread, p.IDs = "agents://qwen/q/general-1", map[string]string{"agent": "general-1", "prompt": "p1"}
			})},
		{"kimi, whose session a hook noted", nil, map[string]string{"KIMI_SESSION_ID": "session_k"},
			harness("kimi", "kimi", "session_k")},
		{"droid, whose session a hook noted", nil, map[string]string{"DROID_SESSION_ID": "d"},
			harness("droid", "droid", "d")},
		{"opencode, no id", nil, map[string]string{"OPENCODE": "1", "OPENCODE_PID": "7"},
			handoff.Producer{Harness: "opencode", Source: handoff.FromHarness}},
		{"kilo, which sets a variable of opencode", nil,
			map[string]string{"KILO": "1", "KILO_PID": "7", "OPENCODE": "1", "KILO_SESSION_ID": "k"},
			harness("kilo", "kilo", "k")},
		{"opencode, a subagent", nil, map[string]string{"OPENCODE_SESSION_ID": "o", "OPENCODE_PARENT_SESSION_ID": "p"},
			with(harness("opencode", "opencode", "o"), func(p *handoff.Producer) { p.ParentSession = "p" })},
		{"opencode in a shell of kilo's", nil, map[string]string{"KILO": "1", "KILO_PID": "7", "OPENCODE": "1",
			"OPENCODE_PID": "8"},
			handoff.Producer{Harness: "kilo", Source: handoff.FromHarness, Observed: []handoff.Observation{
				{Harness: "opencode", IDs: map[string]string{}, Source: handoff.FromInherited}}}},
		{"pi, no id", nil, map[string]string{"PI_CODING_AGENT": "true"},
			handoff.Producer{Harness: "pi", Source: handoff.FromHarness}},
		{"copilot", nil, map[string]string{"COPILOT_CLI": "1", "COPILOT_AGENT_SESSION_ID": "o"},
			harness("copilot-cli", "copilot", "o")},
		{"droid", nil, map[string]string{"FACTORY_EXEC_TARGET_AUTONOMY": "high"},
			handoff.Producer{Harness: "droid", Source: handoff.FromHarness}},

		{"GitHub Actions", nil, map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_RUN_ID": "17", "GITHUB_JOB": "build",
			"GITHUB_SHA": "abc"},
			handoff.Producer{RunID: "17", TaskID: "build", WorkID: "build",
				IDs: map[string]string{"ciRun": "17", "commit": "abc"}, Source: handoff.FromInherited}},
		{"claude in GitLab", nil, map[string]string{"GITLAB_CI": "true", "CI_PIPELINE_ID": "17", "CI_JOB_ID": "8",
			"CLAUDE_CODE_SESSION_ID": "c"},
			with(harness("claude-code", "claude", "c"), func(p *handoff.Producer) {
				p.TaskID, p.WorkID, p.IDs = "8", "8", map[string]string{"ciRun": "17"}
			})},

		{"codex in a shell of claude's", nil, map[string]string{"CODEX_THREAD_ID": "c", "CLAUDE_CODE_SESSION_ID": "a",
			"CLAUDECODE": "1"},
			with(harness("codex", "codex", "c"), func(p *handoff.Producer) {
				p.Observed = []handoff.Observation{seen("claude-code", "claude", "a", handoff.FromInherited)}
			})},
		{"three deep", nil, map[string]string{"QWEN_CODE_SESSION_ID": "q", "PI_SESSION_ID": "p",
			"CLAUDE_CODE_SESSION_ID": "a"},
			with(harness("pi", "pi", "p"), func(p *handoff.Producer) {
				p.Observed = []handoff.Observation{
					seen("qwen-code", "qwen", "q", handoff.FromInherited), seen("claude-code", "claude", "a", handoff.FromInherited)}
			})},

		{"own", nil, map[string]string{"HANDOFF_HARNESS": "h", "HANDOFF_AGENT": "a", "HANDOFF_SESSION": "s",
			"HANDOFF_RUN":  "r",
			"HANDOFF_TASK": "t", "HANDOFF_OPERATION": "o", "HANDOFF_THREAD": "agents://codex/x"},
			handoff.Producer{Harness: "h", Agent: "a", Session: "s", RunID: "r", TaskID: "t", OperationID: "o", WorkID: "o",
				Thread: "agents://codex/x", Source: handoff.FromEnvironment}},
		{"a session without a run, in pi's words too", nil,
			map[string]string{"HANDOFF_SESSION": "s", "PI_ARTIFACT_RUN_ID": "s", "PI_ARTIFACT_SESSION_DIR": "d"},
			handoff.Producer{Session: "s", WorkID: "s", Source: handoff.FromEnvironment}},
		{"a run in pi's words", nil, map[string]string{"HANDOFF_SESSION": "s", "PI_ARTIFACT_RUN_ID": "r",
			"PI_ARTIFACT_SESSION_DIR": "d"},
			handoff.Producer{Session: "s", RunID: "r", WorkID: "r", Source: handoff.FromEnvironment}},
		{"own before the harness's", nil, map[string]string{"HANDOFF_SESSION": "s", "CODEX_THREAD_ID": "c"},
			handoff.Producer{Harness: "codex", Session: "s", WorkID: "s", Thread: "agents://codex/c",
				Source: handoff.FromEnvironment,
				Observed: []handoff.Observation{{Harness: "codex", IDs: map[string]string{"session": "c"},
					Source: handoff.FromHarness}}}},
		{"own of another harness", nil, map[string]string{"HANDOFF_HARNESS": "mine", "CODEX_THREAD_ID": "c"},
			handoff.Producer{Harness: "mine", Source: handoff.FromEnvironment,
				Observed: []handoff.Observation{seen("codex", "codex", "c", handoff.FromHarness)}}},

		{"flag before own", &flag, map[string]string{"HANDOFF_AGENT": "env", "HANDOFF_RUN": "r"},
			handoff.Producer{Agent: "flagged", TaskID: "t-flag", WorkID: "t-flag", RunID: "r", Source: handoff.FromFlag,
				Observed: []handoff.Observation{{IDs: map[string]string{"agent": "env"}, Source: handoff.FromEnvironment}}}},
		{"flag, own, harness, inherited", &flag,
			map[string]string{"HANDOFF_AGENT": "env", "CODEX_THREAD_ID": "c", "CLAUDE_CODE_SESSION_ID": "a"},
			handoff.Producer{Agent: "flagged", TaskID: "t-flag", WorkID: "t-flag", Harness: "codex", Session: "c",
				Thread: "agents://codex/c",
				Source: handoff.FromFlag, Observed: []handoff.Observation{
					{IDs: map[string]string{"agent": "env"}, Source: handoff.FromEnvironment},
					seen("claude-code", "claude", "a", handoff.FromInherited)}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			said := config.Identity(env(tt.env), func() []config.Ancestor { return nil })
			if tt.flag != nil {
				said = append([]handoff.Producer{*tt.flag}, said...)
			}
			if got := handoff.Identify(said...); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("Identify(%v) =\n%+v, want\n%+v", tt.env, got, tt.want)
			}
		})
	}
}

// TestNearest checks that of several harnesses the nearest process decides.
func TestNearest(t *testing.T) {
	vars := map[string]string{"CODEX_THREAD_ID": "c", "CLAUDE_CODE_SESSION_ID": "a", "CLAUDE_PID": "20",
		"QWEN_CODE_SESSION_ID": "q", "QWEN_CODE_LAUNCHER_PID": "99"}
	shell, codex, claude := config.Ancestor{PID: 30, Names: []string{"bash", "-c"}}, config.Ancestor{
		PID: 10, Names: []string{"codex"}}, config.Ancestor{PID: 20, Names: []string{"node", "cli"}}
	for _, tt := range []struct {
		name      string
		processes []config.Ancestor
		want      []string
	}{
		{"claude started by codex", []config.Ancestor{shell, claude, shell, codex},
			[]string{"claude-code", "codex", "qwen-code"}},
		{"codex started by claude", []config.Ancestor{shell, codex, shell, claude},
			[]string{"codex", "claude-code", "qwen-code"}},
		{"another claude", []config.Ancestor{shell, {PID: 21, Names: []string{"claude"}}},
			[]string{"codex", "qwen-code", "claude-code"}},
		{"no process is known", nil, []string{"codex", "qwen-code", "claude-code"}},
	} {
		var got []string
		for _, p := range config.Identity(env(vars), func() []config.Ancestor { return tt.processes }) {
			if p.Harness != "" {
				got = append(got, p.Harness)
			}
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestNearestFork checks that a program and a fork of it are told apart by their processes.
func TestNearestFork(t *testing.T) {
	vars := map[string]string{"OPENCODE": "1", "OPENCODE_PID": "8", "KILO": "1", "KILO_PID": "7"}
	kilo := config.Ancestor{PID: 7, Names: []string{"kilo"}}
	opencode := config.Ancestor{PID: 8, Names: []string{"opencode"}}
	for want, processes := range map[string][]config.Ancestor{"kilo": {kilo, opencode}, "opencode": {opencode, kilo}} {
		said := config.Identity(env(vars), func() []config.Ancestor { return processes })
		if len(said) < 2 || said[0].Harness != want {
			t.Errorf("got %+v, want %s first", said, want)
		}
	}
}

// TestAncestors checks that the parent of this process is the first.
func TestAncestors(t *testing.T) {
	list := config.Ancestors()
	if runtime.GOOS != "linux" {
		t.Skip("processes are known on Linux only")
	}
	if len(list) == 0 || list[0].PID != os.Getppid() || len(list[0].Names) == 0 {
		t.Errorf("%+v, want process %d first", list, os.Getppid())
	}
}
