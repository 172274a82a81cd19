package gemini_test

import (
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
)

// TestUsage has a chat for each rule of counting usage.
func TestUsage(t *testing.T) {
	one := tokens{input: 1, output: 2}
	begin := func() *script { return begin(logID, nil).user("u", "go") }
	for name, tt := range map[string]struct {
		script   *script
		want     thread.Tokens
		complete thread.Completeness
		reason   string
	}{
		"cached tokens are part of input, thoughts and tool are not": {
			begin().model("m", "x", tokens{input: 100, cached: 60, output: 9, thoughts: 4, tool: 20}),
			thread.Tokens{Input: 60, CacheRead: 60, Output: 13, Reasoning: 4, Calls: 1}, thread.Exact, "",
		},
		"more cached than input": {begin().model("m", "x", tokens{input: 10, cached: 60}),
			thread.Tokens{CacheRead: 10, Calls: 1}, thread.Exact, ""},
		"a new version of a message replaces its usage": {
			begin().model("m", "x", tokens{input: 1, output: 1}).model("m", "xy", tokens{input: 1, output: 5}), thread.Tokens{
				Input: 1, Output: 5, Calls: 1}, thread.Exact, "",
		},
		"a new version without usage keeps it": {
			begin().model("m", "x", one).add(obj{"id": "m", "type": "gemini", "content": "xy"}), one.want(1), thread.Exact, "",
		},
		"a removed message counts": {begin().model("m", "x", one).raw(obj{"$rewindTo": "m"}).model("n", "y", one),
			thread.Tokens{Input: 2, Output: 4, Calls: 2}, thread.Exact, ""},
		"an answer without usage is a gap": {
			begin().model("m", "x", one).add(obj{"id": "n", "type": "gemini", "content": "y", "model": "gemini-3"}), one.want(1),
			thread.LowerBound, "1 answers have no recorded usage",
		},
		"a cancelled request is a gap": {begin().model("m", "x", one).note("n", "info", "Request cancelled."), one.want(1),
			thread.LowerBound, "1 requests were cancelled"},
		"the request for a summary is a gap": {
			begin().model("m", "x", one).user("s", "<state_snapshot>x</state_snapshot>"), one.want(1), thread.LowerBound,
			"the thread summary",
		},
		"negative numbers are a gap": {
			begin().add(obj{"id": "m", "type": "gemini", "content": "x", "model": "g", "tokens": obj{"input": -5, "output": 2}}),
			thread.Tokens{Output: 2, Calls: 1}, thread.LowerBound, "1 records of usage have negative",
		},
		"the request for the title is a gap": {begin().model("m", "x", one).set(obj{"summary": "a title"}), one.want(1),
			thread.LowerBound, "1 request, for the title, is in no file"},
		"an empty title is none": {begin().model("m", "x", one).set(obj{"summary": ""}), one.want(1), thread.Exact, ""},
		"a number that is not known is a gap": {
			begin().add(obj{"id": "m", "type": "gemini", "content": "x", "model": "g",
				"tokens": obj{"input": 1, "output": 2, "audio": 3}}), one.want(1), thread.LowerBound,
			"have numbers that this version does not know (audio)",
		},
		"a record of an unknown type with usage is a gap": {
			begin().model("m", "x", one).add(obj{"id": "n", "type": "router", "tokens": tokens{input: 5}.obj()}), one.want(1),
			thread.LowerBound, "records of types that this version does not know (router)",
		},
		"no requests": {begin(), thread.Tokens{}, thread.NoUsage, "no usage is recorded"},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			put(t, home, "p/chats/session-2026-06-12T10-00-"+logID[:8]+".jsonl", tt.script.String())
			threadtest.CheckUsage(t, threadtest.Load(t, provider(t, home), logID), tt.want, tt.complete, tt.reason)
		})
	}
}
