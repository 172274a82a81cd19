package hook

import (
	"path"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
)

// FuzzParse parses payloads, which any program can send. What is accepted names a
// thread, and can be recorded.
func FuzzParse(f *testing.F) {
	for program, data := range map[string]string{
		"claude":   `{"hook_event_name":"SubagentStop","session_id":"s","agent_id":"a","agent_type":"t","cwd":"/w","prompt_id":"p","timestamp":1e300}`,
		"codex":    `{"hook_event_name":"Stop","session_id":"s","cwd":"/w","turn_id":"t","background_tasks":[{}],"timestamp":"9999-12-31T23:59:59-12:00"}`,
		"copilot":  `{"sessionId":"s","cwd":"/w","agentId":"a","parentAgentId":"s","stopReason":"error"}`,
		"opencode": `{"type":"session.created","properties":{"sessionID":"s","info":{"id":"x","parentID":"s","directory":"/w","agent":"b"}}}`,
		"pi":       `{"ev":{"type":"session_start","reason":"new"},"outerSessionId":"o","session_id":"a/b%","cwd":"/w"}`,
	} {
		f.Add(program, "Stop", []byte(data))
	}
	f.Fuzz(func(t *testing.T, program, event string, data []byte) {
		e, ok := Parse(program, event, data, func(string) string { return "h\x1b" })
		if !ok {
			return
		}
		if !isID(e.Session) || !path.IsAbs(e.Dir) || e.HandoffSession != "" {
			t.Errorf("got %+v from %q", e, data)
		}
		if _, err := thread.ParseURI(e.Thread()); err != nil {
			t.Errorf("got %q from %q: %v", e.Thread(), data, err)
		}
		if _, err := handoff.EncodeJSON(e); err != nil {
			t.Errorf("got %+v from %q: %v", e, data, err)
		}
	})
}

// TestFailed parses ends of turns: a member that is null is no error.
func TestFailed(t *testing.T) {
	for properties, want := range map[string]bool{
		`"sessionID":"s"`:                               false,
		`"sessionID":"s","error":null`:                  false,
		`"sessionID":"s","error":{"name":"AbortError"}`: true,
		`"sessionID":"s","error":"timed out"`:           true,
	} {
		e, ok := Parse("opencode", "", []byte(`{"type":"session.idle","cwd":"/w","properties":{`+properties+`}}`),
			func(string) string { return "" })
		if !ok || e.Failed != want {
			t.Errorf("%s: failed %t, %t, want %t", properties, e.Failed, ok, want)
		}
	}
	for reason, want := range map[string]bool{"stop": false, "length": false, "error": true, "aborted": true} {
		e, ok := Parse("pi", "", []byte(`{"ev":{"type":"agent_end","stopReason":"`+reason+`"},"sessionId":"s","cwd":"/w"}`),
			func(string) string { return "" })
		if !ok || e.Failed != want {
			t.Errorf("%s: failed %t, %t, want %t", reason, e.Failed, ok, want)
		}
	}
}
