package amp_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
)

// TestDefects has a thread for each known mistake of other readers.
func TestDefects(t *testing.T) {
	long := strings.Repeat("wörter ", 300_000)
	plain := []obj{{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}}
	spoken := []string{"user: one", "assistant: two"}
	for name, tt := range map[string]struct {
		doc    obj
		said   []string
		status thread.Status
		source thread.StatusSource
	}{
		"an earlier answer is not the end": {
			obj{"messages": []obj{user(0, text("one")), agent(1, "complete", "end_turn", text("two")), user(2, text("three"))}},
			append(slices.Clone(spoken), "user: three"), thread.Running, thread.Child,
		},
		"a call is not the end of a turn": {
			obj{"messages": []obj{user(0, text("one")), agent(1, "complete", "tool_use", text("two"), use("a", "Read"))}},
			spoken, thread.Running, thread.Child,
		},
		"status as a word": {obj{"messages": plain, "status": "done"}, spoken, thread.Completed,
			thread.Child},
		"status as an object": {obj{"messages": plain, "status": obj{"running": obj{"since": 1}}}, spoken,
			thread.Running, thread.Child},
		"unknown status": {obj{"messages": plain, "status": "pondering"}, spoken, thread.Completed,
			thread.Inferred},
		"inferred status": {obj{"messages": plain}, spoken, thread.Completed, thread.Inferred},
		"no messages":     {obj{}, nil, thread.PendingInit, thread.Inferred},
		"results of calls are not messages": {obj{"messages": []obj{user(0, text("one")), user(1, result("x", "done", "y"))}},
			[]string{"user: one"}, thread.Running, thread.Child},
		"long message": {obj{"messages": []obj{user(0, text(long))}},
			[]string{"user: " + strings.TrimSpace(long)}, thread.Running, thread.Child},
		"relation to a missing thread": {obj{"messages": plain, "relationships": []obj{handedOff("parent", awayID)}}, spoken,
			thread.Completed, thread.Inferred},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			put(t, home, mainID, tt.doc)
			threadtest.CheckUnchanged(t, home)
			p := provider(t, home)
			said, th := threadtest.CheckThread(t, p, mainID), threadtest.Load(t, p, mainID)
			if !slices.Equal(said, tt.said) || th.State.Status != tt.status || th.State.Source != tt.source {
				t.Errorf("got %.200q, %+v, want %.200q, %s by %s", said, th.State, tt.said, tt.status, tt.source)
			}
		})
	}
}

// TestBadNumbers checks that an impossible number is reported.
func TestBadNumbers(t *testing.T) {
	home := t.TempDir()
	answer := agent(1, "complete", "end_turn", text("two"))
	answer["usage"] = obj{"model": "m", "inputTokens": -1, "outputTokens": 2}
	put(t, home, mainID, obj{"messages": []obj{user(0, text("one")), answer}})
	th := threadtest.Load(t, provider(t, home), mainID)
	threadtest.CheckUsage(t, th, thread.Tokens{Output: 2, Calls: 1}, thread.LowerBound, "1 records of usage have negative")
	if len(th.Warnings) != 1 {
		t.Errorf("got warnings %q, want one", th.Warnings)
	}
}

// TestBadByte reads a thread with a byte that is not UTF-8.
func TestBadByte(t *testing.T) {
	home := t.TempDir()
	threadtest.WriteFile(t, "{\"messages\":[{\"role\":\"user\",\"content\":\"on\xffe\"}]}", home,
		".local/share/amp/threads", mainID+".json")
	if said := threadtest.CheckThread(t, provider(t, home), mainID); !slices.Equal(said, []string{"user: on\uFFFDe"}) {
		t.Errorf("got %q", said)
	}
}
