package claude_test

import (
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/claude"
)

// TestForkedAgent has a subagent that is a fork: it begins with the answer of the session
// that called it, with another UUID.
func TestForkedAgent(t *testing.T) {
	home := t.TempDir()
	main := start(mainID, "", "2.1.332", 0).user("go").say("m", "I fork.", used(3, 0, 0, 0, 5), "tool_use").
		call("m", "t", "Agent", obj{"subagent_type": "fork", "prompt": "look"}, used(3, 0, 0, 0, 5)).
		result("t", "Looked.", obj{"status": "completed", "agentId": "one", "agentType": "fork"})
	fork := start(mainID, "one", "2.1.332", 1).raw(obj{"type": "fork-context-ref", "agentId": "one",
		"parentSessionId": mainID}).
		call("m", "t", "Agent", obj{"subagent_type": "fork", "prompt": "look"}, used(3, 0, 0, 0, 5)).
		result("t", "Fork started.", nil).say("n", "Looked.", used(7, 0, 0, 0, 2), "end_turn")
	put(t, home, ".claude", project+mainID+".jsonl", main.String())
	put(t, home, ".claude", project+mainID+"/subagents/agent-one.jsonl", fork.String())
	p := threadtest.Open(t, claude.Driver(), home)
	th := threadtest.Load(t, p, "one")
	if th.Usage.Tokens != (thread.Tokens{Input: 7, Output: 2, Calls: 1}) || th.Inherited.Output != 5 || th.ToolCalls != 0 {
		t.Errorf("got %+v, inherited %+v, %d calls", th.Usage, th.Inherited, th.ToolCalls)
	}
	usage, _ := usageOf(t, p)
	if usage[mainID].Input != 3 || usage["one"].Input != 7 {
		t.Errorf("got %+v", usage)
	}
}

// TestForkAfterCompaction has a fork of a session that was compacted: it begins with the
// compaction, and an answer before that follows it.
func TestForkAfterCompaction(t *testing.T) {
	one := used(10, 0, 0, 0, 1)
	first := start(firstID, "", "2.1.332", 0).user("go").say("a1", "One.", one, "end_turn")
	kept := len(first.lines) - 1
	first.system("compact_boundary").
		add("user", obj{"isCompactSummary": true, "message": obj{"role": "user", "content": "In short: one."}}).
		user("on").say("a2", "Two.", one, "end_turn").sums(35, 6)
	branch := *first
	branch.lines = []string{first.lines[kept+1], first.lines[kept+2], first.lines[kept], first.lines[kept+3],
		first.lines[kept+4]}
	fork := branch.fork(branchID)
	fork.at = fork.at.Add(time.Minute)
	fork.user("another way").say("b1", "Three.", one, "end_turn").sums(45, 7)
	first.at = first.at.Add(time.Hour)
	first.user("go on").say("a3", "Four.", one, "end_turn")
	home := t.TempDir()
	put(t, home, ".claude", project+firstID+".jsonl", first.String())
	put(t, home, ".claude", project+branchID+".jsonl", fork.String())
	p := threadtest.Open(t, claude.Driver(), home)
	th := threadtest.Load(t, p, branchID)
	if th.ForkedFrom != firstID || th.Usage.Calls != 1 || th.Inherited.Calls != 2 ||
		th.Usage.Completeness != thread.Exact {
		t.Errorf("got a fork of %q with %+v, inherited %+v", th.ForkedFrom, th.Usage, th.Inherited)
	}
	if th := threadtest.Load(t, p, firstID); th.ForkedFrom != "" || th.Usage.Calls != 3 || th.Inherited.Calls != 0 {
		t.Errorf("the origin is a fork of %q with %+v, inherited %+v", th.ForkedFrom, th.Usage, th.Inherited)
	}
}

// TestForkWithLongPrompt has a fork whose first prompt is longer than what is read of most
// transcripts to find out what they are.
func TestForkWithLongPrompt(t *testing.T) {
	one := used(10, 0, 0, 0, 1)
	first := start(firstID, "", "2.1.200", 0).user(strings.Repeat("log ", 60<<10)).say("a1", "One.", one, "end_turn")
	branch := first.fork(branchID)
	branch.at = branch.at.Add(time.Minute)
	branch.user("another way").say("b1", "Two.", one, "end_turn")
	first.user("go on").say("a2", "Three.", one, "end_turn")
	home := t.TempDir()
	put(t, home, ".claude", project+firstID+".jsonl", first.String())
	put(t, home, ".claude", project+branchID+".jsonl", branch.String())
	p := threadtest.Open(t, claude.Driver(), home)
	th := threadtest.Load(t, p, branchID)
	if th.ForkedFrom != firstID || th.Usage.Calls != 1 || th.Inherited.Calls != 1 || th.Started.IsZero() {
		t.Errorf("got a fork of %q at %s with %+v, inherited %+v", th.ForkedFrom, th.Started, th.Usage, th.Inherited)
	}
}
