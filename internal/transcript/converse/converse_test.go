package converse_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/transcript/converse"
)

const id = "019f0000-0000-7000-8000-000000000001"

// TestCommands has the command lines that start and continue a thread.
func TestCommands(t *testing.T) {
	for provider, want := range map[string][2]string{
		"amp": {"amp -x TEXT --stream-json", "amp threads continue ID -x TEXT --stream-json"},
		"claude": {"claude -p --verbose --output-format stream-json TEXT",
			"claude -p --verbose --output-format stream-json --resume ID TEXT"},
		"codex":    {"codex exec --json TEXT", "codex exec resume --json ID TEXT"},
		"copilot":  {"copilot -p TEXT --output-format json", "copilot -p TEXT --output-format json --resume=ID"},
		"gemini":   {"gemini -p TEXT --output-format stream-json", "gemini -p TEXT --output-format stream-json --resume ID"},
		"opencode": {"opencode run TEXT --format json", "opencode run TEXT --session ID --format json"},
		"pi":       {"pi -p TEXT --mode json", "pi --session /tmp/x.jsonl -p TEXT --mode json"},
	} {
		for i, target := range []converse.Target{{Provider: provider},
			{Provider: provider, ID: "ID", Source: "/tmp/x.jsonl"}} {
			c, err := converse.New(target, "TWO WORDS", nil)
			if got := strings.ReplaceAll(strings.Join(c.Args, " "), "TWO WORDS", "TEXT"); err != nil || got != want[i] ||
				c.Env != "HANDOFF_"+strings.ToUpper(provider)+"_BIN" {
				t.Errorf("%s: got %q, %s, %v, want %q", provider, got, c.Env, err, want[i])
			}
		}
	}
	if got := len(converse.Providers()); got != 7 {
		t.Errorf("got %d providers, want 7", got)
	}
}

// TestStart has the command lines that start a program with a first prompt.
func TestStart(t *testing.T) {
	want := map[string]string{"claude": "claude PROMPT", "codex": "codex PROMPT", "copilot": "copilot -i PROMPT",
		"cursor": "cursor-agent PROMPT", "droid": "droid PROMPT", "gemini": "gemini -i PROMPT",
		"kilo": "kilo --prompt PROMPT", "opencode": "opencode --prompt PROMPT", "pi": "pi @FILE PROMPT",
		"qwen": "qwen -i PROMPT"}
	for provider, line := range want {
		c, err := converse.Start(provider, "FILE", "PROMPT")
		got := strings.Join(c.Args, " ")
		if err != nil || got != line || c.Env != "HANDOFF_"+strings.ToUpper(provider)+"_BIN" {
			t.Errorf("%s: got %q, %s, %v, want %q", provider, got, c.Env, err, line)
		}
	}
	if got := converse.Starters(); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
		t.Errorf("got the programs %q", got)
	}
	for _, provider := range []string{"amp", "kiro", ""} {
		if _, err := converse.Start(provider, "FILE", "PROMPT"); !errors.Is(err, handoff.Unsupported) {
			t.Errorf("%q: got %v, want Unsupported", provider, err)
		}
	}
	_, err := converse.New(converse.Target{Provider: "qwen"}, "two words", nil)
	if !errors.Is(err, handoff.Unsupported) {
		t.Errorf("write with a program that can only be started: got %v, want Unsupported", err)
	}
}

// TestWords has texts that a program could take for a command of its own, or for the
// name of a file to send.
func TestWords(t *testing.T) {
	for _, text := range []string{"update", "review", "help", "@/etc/passwd", "@notes.md and more"} {
		for _, provider := range converse.Providers() {
			c, err := converse.New(converse.Target{Provider: provider, ID: id, Source: "/x"}, text, nil)
			if err != nil {
				t.Fatal(err)
			}
			option := slices.Index(c.Args, "-p") + 1 // in some programs the text is its value
			if i := slices.Index(c.Args, text); i >= 0 && (i != option || provider == "pi") && c.Args[i-1] != "-x" {
				t.Errorf("%s: got %q, where %q could be a command or a file", provider, c.Args, text)
			}
			if !slices.ContainsFunc(c.Args, func(arg string) bool { return strings.TrimSpace(arg) == text }) {
				t.Errorf("%s: got %q without the text %q", provider, c.Args, text)
			}
		}
	}
}

// TestRefused has what is refused: options in place of values, and every option that
// relaxes a permission.
func TestRefused(t *testing.T) {
	ok := converse.Target{Provider: "codex", ID: id, Source: "/x"}
	parameter := func(name, value string) []converse.Parameter { return []converse.Parameter{{name, value}} }
	for name, tt := range map[string]struct {
		target     converse.Target
		text       string
		parameters []converse.Parameter
		kind       error
	}{
		"unknown provider":     {converse.Target{Provider: "kiro"}, "hi", nil, handoff.Unsupported},
		"ID with a dash":       {converse.Target{Provider: "codex", ID: "--yolo"}, "hi", nil, handoff.Invalid},
		"path with a dash":     {converse.Target{Provider: "pi", ID: "a", Source: "--x"}, "hi", nil, handoff.Invalid},
		"text with a dash":     {ok, "--dangerously-bypass-approvals-and-sandbox", nil, handoff.Invalid},
		"empty text":           {ok, " \n", nil, handoff.Invalid},
		"null byte":            {ok, "a\x00b", nil, handoff.Invalid},
		"value with a dash":    {ok, "hi", parameter("model", "--yolo"), handoff.Invalid},
		"empty value":          {ok, "hi", parameter("model", ""), handoff.Invalid},
		"parameter with space": {ok, "hi", parameter("model --yolo", "x"), handoff.Invalid},
	} {
		if _, err := converse.New(tt.target, tt.text, tt.parameters); !errors.Is(err, tt.kind) {
			t.Errorf("%s: got %v, want %v", name, err, tt.kind)
		}
	}
	for _, provider := range converse.Providers() {
		for _, name := range []string{
			"dangerously-skip-permissions", "permission-mode", "allowedTools", "allowed-tools", "add-dir", "settings",
			"mcp-config", "agent",
			"dangerously-bypass-approvals-and-sandbox", "full-auto", "sandbox", "config", "profile", "yolo", "approval-mode",
			"allow-all-tools",
			"allow-tool", "dangerously-allow-all", "extension", "trust", "cd", "output-format", "resume",
		} {
			if c, err := converse.New(converse.Target{Provider: provider}, "hi", parameter(name, "x")); !errors.Is(err,
				handoff.Invalid) {
				t.Errorf("%s: parameter %s: got %q, %v, want it refused", provider, name, c.Args, err)
			}
		}
	}
	c, err := converse.New(ok, "hi", parameter("model", "m"))
	if err != nil || !slices.Equal(c.Args, []string{"codex", "exec", "resume", "--json", "--model", "m", id, " hi"}) {
		t.Errorf("got %q, %v", c.Args, err)
	}
}

// TestRead reads the output of each program.
func TestRead(t *testing.T) {
	for provider, tt := range map[string]struct{ output, id, text string }{
		"claude": {`{"type":"system","subtype":"init","session_id":"s"}
{"type":"assistant","message":{"content":[{"type":"text","text":"hello"},{"type":"tool_use"}]},"session_id":"s"}
{"type":"result","result":"hello","session_id":"other"}`, "s", "hello"},
		"amp": {`{"type":"system","session_id":"T-1"}
{"type":"result","result":"only here"}`, "T-1", "only here"},
		"codex": {`{"type":"thread.started","thread_id":"t"}
not json
{"type":"item.completed","item":{"type":"reasoning","text":"hm"}}
{"type":"item.completed","item":{"type":"agent_message","text":"hello"}}`, "t", "hello"},
		"gemini": {`{"type":"init","session_id":"g"}
{"type":"message","role":"user","content":"x"}
{"type":"message","role":"assistant","content":"hel","delta":true}
{"type":"message","role":"assistant","content":"lo","delta":true}`, "g", "hello"},
		"opencode": {`{"type":"step_start","sessionID":"ses_1"}
{"type":"text","sessionID":"ses_1","part":{"text":"hello"}}`, "ses_1", "hello"},
		"pi": {`{"type":"session","id":"p"}
{"type":"message_update","assistantMessageEvent":{"type":"text_delta","delta":"hel"}}
{"type":"message_update","assistantMessageEvent":{"type":"text_delta","delta":"lo"}}
{"type":"message_end","message":{"content":"hello"}}`, "p", "hello"},
		"copilot": {`{"type":"session.start","data":{"sessionId":"c"}}
{"type":"assistant.message_delta","data":{"deltaContent":"hello"}}
{"type":"assistant.message","data":{"content":"hello"}}`, "c", "hello"},
	} {
		c, err := converse.New(converse.Target{Provider: provider}, "hi", nil)
		if err != nil {
			t.Fatal(err)
		}
		var r converse.Reply
		var text string
		for line := range strings.Lines(tt.output) {
			text += c.Read(&r, []byte(line))
		}
		if r.ID != tt.id || text != tt.text {
			t.Errorf("%s: got %q, %q, want %q, %q", provider, r.ID, text, tt.id, tt.text)
		}
	}
}

// FuzzRead reads any bytes as a line of output.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"type":"item.completed","item":{"type":"agent_message","text":"x"}}`))
	f.Add([]byte(`{"session_id":"--x"`))
	f.Fuzz(func(t *testing.T, line []byte) {
		for _, provider := range converse.Providers() {
			c, err := converse.New(converse.Target{Provider: provider}, "hi", nil)
			if err != nil {
				t.Fatal(err)
			}
			var r converse.Reply
			c.Read(&r, line)
			if strings.HasPrefix(r.ID, "-") {
				t.Errorf("%s: got ID %q", provider, r.ID)
			}
		}
	})
}
