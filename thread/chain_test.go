package thread_test

import (
	"testing"

	"github.com/agent-handoff/handoff/thread"
)

func TestContinuedIn(t *testing.T) {
	u, err := thread.ParseURI("agents://codex/019f0000-0000-7000-8000-000000000001")
	if err != nil {
		t.Fatal(err)
	}
	line := thread.ContinueLine(u)
	for prompt, want := range map[string]bool{line: true, line + " with its brief": true, line + "\r\n": true,
		"Go on.\n" + line + "\n\nmore": true, line + "#M3": true, "": false, "  > " + line: false, "> " + line: false,
		"see: " + line: false, "Continue the work of codex": false, line + "/a/b": false,
		"Continue the work of agents://%zz\n" + line: false, "Continue the work of agents://": false} {
		other := &thread.Thread{Provider: "claude", ID: "1"}
		if got := other.ContinuedIn(prompt); want != (got == u) || (!want && got != thread.URI{}) {
			t.Errorf("%q: got %v, want %v", prompt, got, want)
		}
	}
	for name, own := range map[string]*thread.Thread{"itself": {Provider: u.Provider, ID: u.Thread},
		"a subagent": {Provider: "claude", ID: "1", Parent: "2"}} {
		if got := own.ContinuedIn(line); got != (thread.URI{}) {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
