package cline_test

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/cline"
)

var suite = threadtest.Suite{Driver: cline.Driver(), Write: home, Big: big}

func TestSuite(t *testing.T) { threadtest.Run(t, suite) }

func provider(t testing.TB, home string) thread.Provider {
	t.Helper()
	return threadtest.Open(t, cline.Driver(), home)
}

// The IDs of the threads that home writes.
const (
	doneID  = "1755599682123"
	openID  = "1755599682124"
	failID  = "1755599682125"
	nextID  = "019f0000-0000-7000-8000-000000000001"
	storage = ".config/Code/User/globalStorage/saoudrizwan.claude-dev"
)

type obj = map[string]any

// A script writes a task, with one message per second.
type script struct{ list []obj }

func (s *script) say(kind, text string) {
	s.list = append(s.list, obj{"ts": 1755599682000 + 1000*len(s.list), "type": "say", "say": kind, "text": text})
}

func (s *script) ask(kind, text string) {
	s.list = append(s.list, obj{"ts": 1755599682000 + 1000*len(s.list), "type": "ask", "ask": kind, "text": text})
}

func encode(v any) string {
	b, err := handoff.EncodeJSON(v)
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(b))
}

func (s *script) request(n int, more obj) {
	info := obj{"request": "x", "tokensIn": n, "tokensOut": 2 * n, "cacheReads": 3 * n, "cacheWrites": 4 * n, "cost": 0.25}
	for k, v := range more {
		info[k] = v
	}
	s.say("api_req_started", encode(info))
}

func (s *script) write(t testing.TB, home, id string) {
	t.Helper()
	threadtest.WriteFile(t, encode(s.list), home, storage, "tasks", id, "ui_messages.json")
}

// home writes a home directory with tasks of every kind.
func home(t testing.TB, dir string) []threadtest.Thread {
	s := &script{}
	s.say("text", "list them")
	s.request(10, nil)
	s.say("reasoning", "Hm.")
	s.say("text", "I look.")
	s.say("tool", encode(obj{"tool": "readFile", "path": "a", "content": "x"}))
	s.ask("command", "ls")
	s.say("command_output", "a.txt")
	s.request(5, nil)
	s.say("condense_context", "")
	s.say("user_feedback", "and b?")
	s.say("completion_result", "All done.")
	s.ask("completion_result", "")
	s.write(t, dir, doneID)
	threadtest.WriteFile(t,
		encode([]obj{{"id": doneID, "task": "A title\nmore", "cwdOnTaskInitialization": "/home/u/project"}}), dir, storage,
		"state/taskHistory.json")

	s = &script{}
	s.say("task", "ask me")
	s.ask("followup", encode(obj{"question": "Which?", "options": []string{"a"}}))
	s.write(t, dir, openID)

	s = &script{}
	s.say("task", "one")
	s.request(0, obj{"cancelReason": "user_cancelled"})
	s.ask("resume_task", "")
	s.say("user_feedback", "two")
	s.ask("api_req_failed", "no quota")
	s.write(t, dir, failID)

	s = &script{}
	s.say("text", "review it")
	s.ask("tool", encode(obj{"tool": "editedExistingFile", "path": "b"}))
	s.write(t, dir, nextID)
	threadtest.WriteFile(t,
		encode(obj{"id": nextID, "task": "review it", "workspace": "/home/u/project"}), dir, storage, "tasks", nextID,
		"history_item.json")

	return append(sessions(t, dir), []threadtest.Thread{
		{
			ID: doneID, Status: thread.Completed, Source: thread.Child, Complete: thread.Exact,
			Usage: thread.Tokens{Input: 15, Output: 30, CacheRead: 45, CacheWrite: 60, Calls: 2, Cost: 0.5},
			Messages: []string{"user: list them", "assistant: I look.", "compaction: " + thread.DefaultCompactionText,
				"user: and b?", "assistant: All done."},
			Calls: []string{"readFile: x", "command: a.txt"},
		},
		{ID: openID, Status: thread.Running, Source: thread.Child, Complete: thread.NoUsage,
			Messages: []string{"user: ask me", "assistant: Which?"}},
		{ID: failID, Status: thread.Errored, Source: thread.Child, Complete: thread.NoUsage,
			Messages: []string{"user: one", "user: two", "note: The request failed. no quota"}},
		{ID: nextID, Status: thread.Running, Source: thread.Child, Complete: thread.NoUsage,
			Messages: []string{"user: review it"}, Calls: []string{"editedExistingFile: "}},
	}...)
}

// big writes a task of at least size bytes.
func big(t testing.TB, home string, size int64) string {
	turn := encode(obj{"ts": 1, "type": "say", "say": "user_feedback", "text": strings.Repeat("word ", 4<<10)})
	threadtest.WriteFile(t, "["+turn+strings.Repeat(","+turn, int(size)/len(turn)+1)+"]", home, storage, "tasks", doneID,
		"ui_messages.json")
	return doneID
}

// TestTruncated truncates tasks at every fifth byte. They must be readable, with a warning,
// and must not be completed.
func TestTruncated(t *testing.T) {
	dir := t.TempDir()
	for _, w := range home(t, dir) {
		p := provider(t, dir)
		th, err := p.Thread(t.Context(), w.ID)
		if err != nil {
			t.Fatal(err)
		}
		complete := threadtest.ReadFile(t, th.Source)
		for n := 0; n < len(complete); n += 5 {
			if err := os.WriteFile(th.Source, []byte(complete[:n]), 0o600); err != nil {
				t.Fatal(err)
			}
			if th := threadtest.Load(t, p, w.ID); !th.Partial || len(th.Warnings) == 0 || th.State.Status == thread.Completed ||
				th.State.Status == thread.PendingInit && th.Messages > 0 {
				t.Fatalf("%s: %d bytes: got %+v", w.ID, n, th.Facts)
			}
		}
	}
}

// TestStatuses reads a task after each message.
func TestStatuses(t *testing.T) {
	s := &script{}
	for i, step := range []struct {
		add     func()
		want    thread.Status
		waiting string
	}{
		{func() { s.say("text", "go") }, thread.Running, ""},
		{func() { s.request(1, nil) }, thread.Running, ""},
		{func() { s.ask("tool", `{"tool":"readFile"}`) }, thread.Running, "approval of tool"},
		{func() { s.request(1, nil) }, thread.Running, ""},
		{func() { s.ask("mistake_limit_reached", "") }, thread.Running, "a decision whether to continue"},
		{func() { s.say("completion_result", "Done.") }, thread.Completed, ""},
		{func() { s.say("user_feedback", "more") }, thread.Running, ""},
		{func() { s.request(1, obj{"cancelReason": "streaming_failed"}) }, thread.Errored, ""},
		{func() { s.ask("resume_task", "") }, thread.Errored, ""},
		{func() { s.request(1, nil) }, thread.Running, ""},
		{func() { s.ask("plan_mode_respond", `{"response":"A plan"}`) }, thread.Running, "an answer to its question"},
	} {
		home := t.TempDir()
		step.add()
		s.write(t, home, doneID)
		if th := threadtest.Load(t, provider(t, home), doneID); th.State.Status != step.want ||
			th.State.Waiting != step.waiting {
			t.Errorf("after message %d: got %+v, want %s, waits for %q", i+1, th.State, step.want, step.waiting)
		}
	}
}

// TestManyTasks opens tasks whose titles are in the list of all tasks, which is read once:
// each reading of it would take 8 MiB.
func TestManyTasks(t *testing.T) {
	home := t.TempDir()
	const n = 100
	var list []obj
	for i := range n {
		id := fmt.Sprint(1755599682123 + i)
		threadtest.WriteFile(t, `[{"ts":1,"type":"say","say":"text","text":"hello"}]`, home, storage, "tasks", id,
			"ui_messages.json")
		list = append(list, obj{"id": id, "task": "Task " + id, "cwdOnTaskInitialization": "/home/u/project"})
	}
	threadtest.WriteFile(t, encode(list), home, storage, "state/taskHistory.json")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	opened := 0
	for st, err := range thread.StoredIn(t.Context(), "cline", provider(t, home)) {
		if err != nil {
			t.Fatal(err)
		}
		threads, err := st.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, th := range threads {
			if opened++; th.Title != "Task "+th.ID || th.Cwd != "/home/u/project" {
				t.Errorf("got %q in %q, want the title of %s", th.Title, th.Cwd, th.ID)
			}
		}
	}
	runtime.ReadMemStats(&after)
	if used := (after.TotalAlloc - before.TotalAlloc) >> 20; opened != n || used > 50 {
		t.Errorf("opened %d tasks with %d MiB, want %d with less than 50", opened, used, n)
	}
}

// FuzzMessages reads any bytes as a task and as its metadata.
func FuzzMessages(f *testing.F) {
	dir := f.TempDir()
	home(f, dir)
	threadtest.AddSeeds(f, dir, "ui_messages.json")
	f.Add([]byte(`[{"type":"say","say":"api_req_started","text":"{\"tokensIn\":-5,\"cost\":1e300}"},[],7`))
	alone := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		threadtest.WriteFile(t, string(b), alone, storage, "tasks", doneID, "ui_messages.json")
		threadtest.WriteFile(t, string(b), alone, storage, "tasks", doneID, "history_item.json")
		threadtest.CheckThread(t, provider(t, alone), doneID)
	})
}

// TestUsagePlace has requests whose answers follow them. One without an answer belongs to
// what is before it.
func TestUsagePlace(t *testing.T) {
	home := t.TempDir()
	s := &script{}
	s.say("task", "one")
	s.request(1, nil)
	s.say("reasoning", "Hm.")
	s.say("text", "two")
	s.say("completion_result", "three")
	s.say("user_feedback", "four")
	s.request(10, nil)
	s.say("tool", `{"tool":"readFile"}`)
	s.request(100, nil)
	s.say("text", "five")
	s.request(1000, nil)
	s.write(t, home, doneID)
	checkUsageAt(t, provider(t, home), doneID, map[int]int64{2: 10, 4: 100, 5: 1000 + 10000})
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
