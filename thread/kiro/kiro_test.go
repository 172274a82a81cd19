package kiro_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/kiro"
)

var suite = threadtest.Suite{Driver: kiro.Driver(), Write: home, Lines: true, Big: big}

func TestSuite(t *testing.T)    { threadtest.Run(t, suite) }
func TestStatuses(t *testing.T) { threadtest.CheckStatuses(t, suite) }

func provider(t testing.TB, home string) thread.Provider {
	t.Helper()
	return threadtest.Open(t, kiro.Driver(), home)
}

// The IDs of the threads that home writes.
const (
	doneID = "019f0000-0000-7000-8000-000000000001"
	openID = "019f0000-0000-7000-8000-000000000002"
)

type obj = map[string]any

// A script writes a session.
type script struct{ lines []string }

func (s *script) add(kind string, meta obj, content ...obj) {
	data := obj{"message_id": kind, "content": content}
	if meta != nil {
		data["meta"] = meta
	}
	b, err := handoff.EncodeJSON(obj{"version": "v1", "kind": kind, "data": data})
	if err != nil {
		panic(err)
	}
	s.lines = append(s.lines, strings.TrimSpace(string(b)))
}

func (s *script) user(words string) {
	s.add("Prompt", obj{"timestamp": 1780624939 + len(s.lines)}, text(words))
}

func text(s string) obj { return obj{"kind": "text", "data": s} }

func use(id, tool string) obj {
	return obj{"kind": "toolUse", "data": obj{"toolUseId": id, "name": tool, "input": obj{"a": 1}}}
}

func result(id, status string, content obj) obj {
	return obj{"kind": "toolResult", "data": obj{"toolUseId": id, "status": status, "content": []obj{content}}}
}

func (s *script) write(t testing.TB, home, id string) {
	t.Helper()
	threadtest.WriteFile(t, strings.Join(s.lines, "\n")+"\n", home, ".kiro/sessions/cli", id+".jsonl")
}

// home writes a home directory with threads of every kind.
func home(t testing.TB, dir string) []threadtest.Thread {
	s := &script{}
	s.user("list them")
	s.add("AssistantMessage", nil, text(""), use("a", "shell"), use("b", "read"))
	s.add("ToolResults", nil, result("a", "success", obj{"kind": "json", "data": obj{"exit_status": "exit status: 2"}}),
		result("b", "success", text("x")))
	s.add("AssistantMessage", nil, text("Done. More?"))
	s.write(t, dir, doneID)
	threadtest.WriteFile(t, `{"cwd":"/home/u/project","title":"A title"}`, dir, ".kiro/sessions/cli", doneID+".json")

	s = &script{}
	s.user("one")
	s.add("AssistantMessage", nil, text("I run it."), use("a", "shell"))
	s.write(t, dir, openID)

	return []threadtest.Thread{
		{
			ID: doneID, Status: thread.Completed, Source: thread.Inferred, Complete: thread.NoUsage,
			Messages: []string{"user: list them", "assistant: Done. More?"}, Calls: []string{
				`shell: {"exit_status":"exit status: 2"}`, "read: x"},
		},
		{ID: openID, Status: thread.Running, Source: thread.Child, Complete: thread.NoUsage,
			Messages: []string{"user: one", "assistant: I run it."}, Calls: []string{"shell: "}},
	}
}

// big writes a session of at least size bytes.
func big(t testing.TB, home string, size int64) string {
	s := &script{}
	s.user(strings.Repeat("word ", 4<<10))
	s.add("AssistantMessage", nil, text("ok"))
	turn := strings.Join(s.lines, "\n") + "\n"
	threadtest.WriteFile(t, strings.Repeat(turn, int(size)/len(turn)+1), home, ".kiro/sessions/cli", doneID+".jsonl")
	return doneID
}

// TestRealThreads reads the published sessions.
func TestRealThreads(t *testing.T) {
	threads := 0
	threadtest.EachReal(t, kiro.Driver(), ".kiro", func(t *testing.T, r threadtest.Real) {
		f := threadtest.Figures[struct{ Lines, Bad int }](t, r.Figures)
		for id := range r.Sessions {
			if th := threadtest.Load(t, r.Provider, id); th.Source == r.Source {
				threads++
				if th.Lines != f.Lines || th.BadLines != f.Bad || th.State.Status == thread.PendingInit {
					t.Errorf("got %+v, want %+v", th.Facts, f)
				}
			}
		}
	})
	if threads != 11 {
		t.Errorf("got %d threads, want 11", threads)
	}
}

func TestRealTruncated(t *testing.T) { threadtest.CheckAllTruncated(t, kiro.Driver(), ".kiro") }

// TestRealStatuses compares the recorded phases. A request for permission is not in
// the transcript; additional phases are turns without an assertion.
func TestRealStatuses(t *testing.T) {
	invisible := map[string]int{"2-19_tool-gate-permission-prompt": 3}
	want := map[string]int{"1-1_session-start": 2, "1-6_checkpoint-rewind": 2, "2-10_mid-turn-message-queued": 2,
		"2-19_tool-gate-permission-prompt": 1}
	if got := threadtest.CheckPhases(t, kiro.Driver(), invisible); !maps.Equal(got, want) {
		t.Errorf("got additional phases %v, want %v", got, want)
	}
}

// FuzzSession reads any bytes as a session, and as the file beside it.
func FuzzSession(f *testing.F) {
	dir := f.TempDir()
	home(f, dir)
	threadtest.AddSeeds(f, dir, "*.json*")
	alone := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		threadtest.WriteFile(t, string(b), alone, ".kiro/sessions/cli", doneID+".jsonl")
		threadtest.WriteFile(t, string(b), alone, ".kiro/sessions/cli", doneID+".json")
		threadtest.CheckThread(t, provider(t, alone), doneID)
	})
}
