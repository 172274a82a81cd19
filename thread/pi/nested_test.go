package pi_test

import (
	"fmt"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
)

// TestNestedCalls reads the calls that a script made.
func TestNestedCalls(t *testing.T) {
	s := begin(treeID, "2026-05-24T23:39:56Z", nil).user("go").answer("toolUse", "", 1, "codemode").
		add("message", obj{"message": obj{"role": "toolResult", "toolCallId": "call-codemode", "toolName": "codemode",
			"content": []obj{{"type": "text", "text": "Script completed"}}, "nestedCalls": obj{"calls": []obj{
				{"id": "c/1", "name": "write", "status": "ok", "arguments": obj{"path": "a.go"}},
				{"id": "c/2", "name": "bash", "status": "error", "arguments": obj{"command": "false"},
					"error": "(no output)\n\nCommand exited with code 3"},
				{"id": "c/3", "name": "bash", "status": "ok", "arguments": obj{"command": "true"}},
			}}}}).answer("stop", "Done.", 1)
	dir := t.TempDir()
	put(t, dir, project+named("2026-05-24T23:39:56Z", treeID), s.String())
	p := provider(t, dir)
	var got []string
	for _, c := range threadtest.Calls(t, p, treeID) {
		exit := "none"
		if c.Exit != nil {
			exit = fmt.Sprint(*c.Exit)
		}
		got = append(got, fmt.Sprint(c.Name, " ", c.Input, " in ", c.Within, ", exit ", exit, ", failed ", c.Failed))
	}
	want := []string{
		`codemode {"a":1} in , exit none, failed false`,
		`write {"path":"a.go"} in call-codemode, exit none, failed false`,
		`bash {"command":"false"} in call-codemode, exit 3, failed true`,
		`bash {"command":"true"} in call-codemode, exit 0, failed false`,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got calls\n%q\nwant\n%q", got, want)
	}
	if th := threadtest.Load(t, p, treeID); th.ToolCalls != 4 {
		t.Errorf("got %d calls, want 4", th.ToolCalls)
	}
}

// TestSubagentOfID finds a subagent without a session by the time in the ID of the one
// that it had.
func TestSubagentOfID(t *testing.T) {
	s := begin("019e7777-0000-7000-8000-00000000aaaa", "2026-05-29T10:00:00Z", nil).user("go").
		answer("toolUse", "", 1, "subagent").
		result("subagent", "ok", obj{"results": []obj{{"agent": "reviewer", "exitCode": 0,
			"usage": obj{"input": 1}, "messages": []obj{{"role": "user", "content": "look", "timestamp": 1780048802500}}}}})
	dir := t.TempDir()
	put(t, dir, project+named("2026-05-29T10:00:00Z", "019e7777-0000-7000-8000-00000000aaaa"), s.String())
	p := provider(t, dir)
	id := func(ms int64) string { return fmt.Sprintf("%08x-%04x-7000-8000-000000000009", ms>>16, ms&0xffff) }
	th, err := p.Thread(t.Context(), id(1780048802300)) // between the call and its result
	if err != nil || th.ID != "reviewer" || len(th.Warnings) != 1 {
		t.Errorf("got %+v, %v, want the subagent with a warning", th, err)
	}
	if th, err := p.Thread(t.Context(), id(1780048700000)); err == nil {
		t.Errorf("got %+v, want none: no subagent ran then", th)
	}
}
