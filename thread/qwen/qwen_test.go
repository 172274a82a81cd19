package qwen_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/qwen"
)

var suite = threadtest.Suite{Driver: qwen.Driver(), Write: home, Lines: true, Big: big}

func TestSuite(t *testing.T)    { threadtest.Run(t, suite) }
func TestStatuses(t *testing.T) { threadtest.CheckStatuses(t, suite) }

func provider(t testing.TB, home string) thread.Provider {
	t.Helper()
	return threadtest.Open(t, qwen.Driver(), home)
}

// TestFragments reads an answer that has several records, of which two are on one
// line. Its usage is that of the last one.
func TestFragments(t *testing.T) {
	home := t.TempDir()
	s := begin(doneID)
	s.user("one")
	s.answer("a", tokens(10), text("two"))
	s.n-- // the same uuid
	s.answer("a", tokens(15), text("three"))
	s.lines = []string{s.lines[0], s.lines[1] + s.lines[2]}
	s.write(t, home)
	p := provider(t, home)
	th := threadtest.Load(t, p, doneID)
	threadtest.CheckUsage(t, th, thread.Tokens{Input: 5, CacheRead: 10, Output: 15, Calls: 1}, thread.Exact, "")
	if said := threadtest.CheckThread(t, p, doneID); !slices.Equal(said,
		[]string{"user: one", "assistant: two", "assistant: three"}) || th.BadLines > 0 {
		t.Errorf("got %q, %d bad lines", said, th.BadLines)
	}
}

// TestThoughts has thoughts that are not part of the output.
func TestThoughts(t *testing.T) {
	home := t.TempDir()
	s := begin(doneID)
	s.user("one")
	s.answer("a", obj{"promptTokenCount": 100, "candidatesTokenCount": 20, "thoughtsTokenCount": 7,
		"totalTokenCount": 127}, text("two"))
	s.answer("b", obj{"promptTokenCount": 100, "candidatesTokenCount": 20, "thoughtsTokenCount": 7,
		"totalTokenCount": 120}, text("three"))
	s.answer("c", nil, text("four"))
	s.write(t, home)
	th := threadtest.Load(t, provider(t, home), doneID)
	threadtest.CheckUsage(t, th, thread.Tokens{Input: 200, Output: 47, Reasoning: 14, Calls: 2}, thread.LowerBound,
		"1 answers have no recorded usage")
}

// FuzzChat reads any bytes as a chat and as a subagent.
func FuzzChat(f *testing.F) {
	dir := f.TempDir()
	home(f, dir)
	threadtest.AddSeeds(f, dir, "*.jsonl")
	alone := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		threadtest.WriteFile(t, string(b), alone, ".qwen/projects/p/chats", doneID+".jsonl")
		threadtest.WriteFile(t, string(b), alone, ".qwen/projects/p/subagents", doneID, "agent-"+agentID+".jsonl")
		threadtest.CheckThread(t, provider(t, alone), doneID)
		threadtest.CheckThread(t, provider(t, alone), agentID)
	})
}

// TestUsagePlace has answers on different days. Each has its own usage, at its time.
func TestUsagePlace(t *testing.T) {
	home := t.TempDir()
	s := begin(doneID)
	s.user("one")
	s.answer("a", tokens(100), text("two"))
	first := s.at
	s.at = s.at.AddDate(0, 0, 4)
	s.system("ui_telemetry", obj{"uiEvent": obj{"event.name": "qwen-code.api_error", "prompt_id": doneID + "########0",
		"error_message": "400"}})
	s.user("three")
	s.answer("b", tokens(200), text("four"))
	s.write(t, home)
	p := provider(t, home)
	checkUsageAt(t, p, doneID, map[int]int64{2: 200, 5: 400})
	th := threadtest.Load(t, p, doneID)
	if r := th.Requests; len(r) != 2 || !r[0].At.Equal(first) || !r[1].At.Equal(s.at) {
		t.Errorf("got requests %+v", r)
	}
}

// TestAsides has records of requests: of the chat and of a subagent, whose transcripts have them, and of those that
// no transcript has. One without a prompt may be any of them.
func TestAsides(t *testing.T) {
	home := t.TempDir()
	s := begin(doneID)
	request := func(prompt string, n int) {
		s.system("ui_telemetry", obj{"uiEvent": obj{"event.name": "qwen-code.api_response", "prompt_id": prompt, "model": "m",
			"input_token_count": n, "output_token_count": n, "cached_content_token_count": 0, "thoughts_token_count": 0,
			"total_token_count": 2 * n}})
	}
	s.user("one")
	request(doneID+"########0", 20)
	s.answer("a", tokens(20), text("two"))
	request(doneID+"#"+agentID+"#0", 300)
	request(doneID+"#memory-1#0", 4000)
	aside := s.at
	request("compress-1", 50000)
	s.write(t, home)
	s.agent = agentID
	s.write(t, home)
	s.agent = ""
	p := provider(t, home)
	th := threadtest.Load(t, p, doneID)
	threadtest.CheckUsage(t, th, thread.Tokens{Input: 54010, CacheRead: 10, Output: 54020, Calls: 3}, thread.Exact, "")
	if r := th.Requests; len(r) != 3 || !r[1].At.Equal(aside) {
		t.Errorf("got requests %+v, want that of a subagent at %s", r, aside)
	}
	checkUsageAt(t, p, doneID, map[int]int64{2: 40})
	request("", 1)
	s.write(t, home)
	threadtest.CheckUsage(t, threadtest.Load(t, p, doneID),
		thread.Tokens{Input: 54010, CacheRead: 10, Output: 54020, Calls: 3}, thread.LowerBound,
		"1 records of usage lack a member that this version needs (event.name or prompt_id)")
}

// checkUsageAt checks which messages of a thread have usage, and how many tokens in total.
func checkUsageAt(t testing.TB, p thread.Provider, id string, want map[int]int64) {
	t.Helper()
	th, err := p.Thread(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	got := map[int]int64{}
	if err := th.Read(t.Context(), thread.Tools, func(m thread.Message) error {
		if m.Usage != nil {
			got[m.N] += m.Usage.Total()
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(got, want) {
		t.Errorf("%s: got tokens by message %v, want %v", id, got, want)
	}
}
