package claude_test

import (
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/claude"
)

// sums writes what the program counted for a session and its subagents.
func (s *script) sums(input, output int) *script {
	return s.raw(obj{"type": "cost-state", "sessionId": s.common["sessionId"], "totalCostUSD": 0.5,
		"modelUsage": obj{"claude-opus-4-8": obj{"inputTokens": input, "outputTokens": output, "cacheReadInputTokens": 0,
			"cacheCreationInputTokens": 0}, "claude-haiku-5-5": obj{"inputTokens": 0, "outputTokens": 0}}})
}

// TestSums compares the usage with the sums that newer versions record at their end.
func TestSums(t *testing.T) {
	const outside = "outside the thread"
	begin := func() *script {
		return start(mainID, "", "2.1.332", 0).user("go").say("m", "a", used(3, 0, 0, 0, 5), "end_turn")
	}
	agent := func() *script {
		return start(mainID, "one", "2.1.332", 1).user("look").say("n", "b", used(20, 0, 0, 0, 30), "end_turn")
	}
	for name, tt := range map[string]struct {
		script   *script
		agent    *script
		complete thread.Completeness
		reason   string
	}{
		"equal":            {begin().sums(3, 5), nil, thread.Exact, ""},
		"with a subagent":  {begin().sums(23, 35), agent(), thread.Exact, ""},
		"a missing agent":  {begin().sums(23, 35), nil, thread.LowerBound, "the program counted 50 tokens more"},
		"fewer than known": {begin().sums(2, 5), nil, thread.LowerBound, outside},
		"added up over resumes": {begin().sums(3, 5).user("on").say("o", "c", used(4, 0, 0, 0, 6), "end_turn").sums(7, 11),
			nil, thread.Exact, ""},
		"a request after the sums": {begin().sums(3, 5).user("on").say("o", "c", used(4, 0, 0, 0, 6), "end_turn"), nil,
			thread.LowerBound, outside},
		"a line that has no usage": {begin().text("{").sums(3, 5), nil, thread.Exact, ""},
		"no sums":                  {begin().raw(obj{"type": "cost-state"}), nil, thread.LowerBound, outside},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			put(t, home, ".claude", project+mainID+".jsonl", tt.script.String())
			if tt.agent != nil {
				put(t, home, ".claude", project+mainID+"/subagents/agent-one.jsonl", tt.agent.String())
			}
			p := threadtest.Open(t, claude.Driver(), home)
			got := threadtest.Load(t, p, mainID).Usage
			if got.Completeness != tt.complete || !strings.Contains(got.Reason, tt.reason) {
				t.Errorf("got %s: %q, want %s: %q", got.Completeness, got.Reason, tt.complete, tt.reason)
			}
		})
	}
}

// TestSumsOfFork has a fork, whose sums begin with those of its origin.
func TestSumsOfFork(t *testing.T) {
	one := used(10, 0, 0, 0, 1)
	first := start(firstID, "", "2.1.332", 0).user("go").say("a1", "One.", one, "end_turn")
	branch := first.fork(branchID)
	branch.at = branch.at.Add(time.Minute)
	branch.user("another way").say("b1", "Two.", one, "end_turn").sums(45, 7)
	for name, tt := range map[string]struct {
		first *script
		want  thread.Completeness
	}{
		"with sums":    {first.sums(35, 6), thread.Exact},
		"without sums": {start(firstID, "", "2.1.332", 0).user("go").say("a1", "One.", one, "end_turn"), thread.LowerBound},
	} {
		home := t.TempDir()
		put(t, home, ".claude", project+firstID+".jsonl", tt.first.String())
		put(t, home, ".claude", project+branchID+".jsonl", branch.String())
		p := threadtest.Open(t, claude.Driver(), home)
		th := threadtest.Load(t, p, branchID)
		if th.Usage.Completeness != tt.want || th.Usage.Input != 10 || th.Inherited.Input != 10 {
			t.Errorf("%s: got %+v, inherited %+v, want %s", name, th.Usage, th.Inherited, tt.want)
		}
	}
}

// TestAdvisor has a request within which another model answered.
func TestAdvisor(t *testing.T) {
	asked := used(3, 0, 0, 0, 5)
	asked["iterations"] = []obj{{"type": "message", "input_tokens": 3, "output_tokens": 4},
		{"type": "advisor_message", "model": "claude-opus-4-6", "input_tokens": 5000, "output_tokens": 700}}
	strange := used(1, 0, 0, 0, 1)
	strange["iterations"] = []obj{{"type": "oracle_message", "input_tokens": 7, "output_tokens": 8}}
	for name, tt := range map[string]struct {
		usage  obj
		models []string
		reason string
	}{
		"advisor": {asked, []string{"claude-opus-4-8", "claude-opus-4-6"}, "outside the thread"},
		"unknown": {strange, []string{"claude-opus-4-8"}, "records of types that this version does not know (iterations: oracle_message)"},
	} {
		home := t.TempDir()
		put(t, home, ".claude", project+mainID+".jsonl", start(mainID, "", "2.1.332", 0).user("go").
			say("m", "a", tt.usage, nil).say("m", "b", tt.usage, "end_turn").String())
		got := threadtest.Load(t, threadtest.Open(t, claude.Driver(), home), mainID).Usage
		var models []string
		for _, m := range got.Models {
			models = append(models, m.Model)
		}
		if strings.Join(models, " ") != strings.Join(tt.models, " ") || !strings.Contains(got.Reason, tt.reason) {
			t.Errorf("%s: got %+v, want %q because of %q", name, got, tt.models, tt.reason)
		}
		last := got.Models[len(got.Models)-1]
		if name == "advisor" && (last.Input != 5000 || last.Output != 700 || last.Calls != 1) {
			t.Errorf("the advisor used %+v", last)
		}
	}
}

// TestUnknownRecord has a record of an unknown type with usage, and one without.
func TestUnknownRecord(t *testing.T) {
	home := t.TempDir()
	put(t, home, ".claude", project+mainID+".jsonl", start(mainID, "", "2.1.332", 0).user("go").
		say("m", "a", used(3, 0, 0, 0, 5), "end_turn").add("side-answer", obj{"usage": obj{"input_tokens": 9}}).
		add("mood", obj{"mood": "fine"}).String())
	th := threadtest.Load(t, threadtest.Open(t, claude.Driver(), home), mainID)
	if th.Usage.Completeness != thread.LowerBound || !strings.Contains(th.Usage.Reason, "(side-answer)") ||
		th.Unknown["mood"] != 1 {
		t.Errorf("got %+v, unknown %v", th.Usage, th.Unknown)
	}
}
