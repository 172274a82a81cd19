package antigravity_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/antigravity"
)

var suite = threadtest.Suite{Driver: antigravity.Driver(), Write: home, Lines: true, Big: big}

func TestSuite(t *testing.T)    { threadtest.Run(t, suite) }
func TestStatuses(t *testing.T) { threadtest.CheckStatuses(t, suite) }

func provider(t testing.TB, home string) thread.Provider {
	t.Helper()
	return threadtest.Open(t, antigravity.Driver(), home)
}

// The IDs of the threads that home writes.
const (
	doneID  = "019f0000-0000-7000-8000-000000000001"
	childID = "019f0000-0000-7000-8000-000000000002"
	lostID  = "019f0000-0000-7000-8000-000000000003" // has no transcript
	failID  = "019f0000-0000-7000-8000-000000000004"
)

// A script writes a thread, with one step per second.
type script struct {
	lines []string
	at    time.Time
}

func begin() *script { return &script{at: time.Date(2026, 6, 20, 16, 0, 0, 0, time.UTC)} }

func (s *script) add(source, kind string, more map[string]any) {
	s.at = s.at.Add(time.Second)
	step := map[string]any{"step_index": len(s.lines), "source": source, "type": kind, "status": "DONE",
		"created_at": s.at}
	for k, v := range more {
		step[k] = v
	}
	b, err := handoff.EncodeJSON(step)
	if err != nil {
		panic(err)
	}
	s.lines = append(s.lines, strings.TrimSpace(string(b)))
}

func (s *script) user(text string) {
	s.add("USER_EXPLICIT", "USER_INPUT", map[string]any{
		"content": "<USER_REQUEST>\n" + text + "\n</USER_REQUEST>\n<USER_SETTINGS_CHANGE>\nThe user changed setting `Model " +
			"Selection` from None to Model 1 (High). No need to comment.\n</USER_SETTINGS_CHANGE>"})
	s.add("SYSTEM", "EPHEMERAL_MESSAGE", map[string]any{"content": "reminders"})
}

func (s *script) answer(text string, calls ...string) {
	var list []map[string]any
	for _, c := range calls {
		list = append(list, map[string]any{"name": c, "args": map[string]any{"a": 1}})
	}
	s.add("MODEL", "PLANNER_RESPONSE", map[string]any{"content": text, "thinking": "Hm.", "tool_calls": list})
}

func (s *script) write(t testing.TB, home, id string) {
	t.Helper()
	threadtest.WriteFile(t, strings.Join(s.lines, "\n")+"\n", home, ".gemini/antigravity-cli/brain", id,
		".system_generated/logs/transcript.jsonl")
}

// home writes a home directory with threads of every kind.
func home(t testing.TB, dir string) []threadtest.Thread {
	s := begin()
	s.user("design it")
	s.answer("", "invoke_subagent", "view_file")
	s.add("MODEL", "INVOKE_SUBAGENT", map[string]any{
		"content": fmt.Sprintf("Created the following subagents:\n{\n  \"conversationId\":  %q,\n  \"logAbsoluteUri\":  "+
			"\"file:///etc/passwd\"\n}\n{\n  \"conversationId\":  %q\n}\n", childID, lostID)})
	s.add("MODEL", "VIEW_FILE", map[string]any{"content": "no such file", "status": "ERROR"})
	s.add("SYSTEM", "CHECKPOINT", map[string]any{"content": "a summary"})
	s.answer("Dispatched.")
	s.add("SYSTEM", "SYSTEM_MESSAGE", map[string]any{"content": "<SYSTEM_MESSAGE>\n[Message] timestamp=x sender=" +
		childID + " priority=HIGH content=Fine.\n</SYSTEM_MESSAGE>"})
	s.answer("All done?")
	s.write(t, dir, doneID)

	s = begin()
	s.user("review it")
	s.answer("Fine.")
	s.write(t, dir, childID)

	s = begin()
	s.user("one")
	s.answer("")
	s.add("SYSTEM", "ERROR_MESSAGE", map[string]any{"content": "model output error"})
	s.write(t, dir, failID)

	return []threadtest.Thread{
		{
			ID: doneID, Status: thread.Completed, Source: thread.Inferred, Complete: thread.NoUsage,
			Messages: []string{"user: design it", "assistant: Dispatched.",
				"note: [Message] timestamp=x sender=" + childID + " priority=HIGH content=Fine.", "assistant: All done?"},
			Calls: []string{fmt.Sprintf("invoke_subagent: Created the following subagents:\n{\n  \"conversationId\":  %q,\n  "+
				"\"logAbsoluteUri\":  \"file:///etc/passwd\"\n}\n{\n  \"conversationId\":  %q\n}", childID, lostID),
				"view_file: no such file"},
			Agents: []threadtest.Agent{
				{ID: childID, Status: thread.Completed, Source: thread.Inferred, Last: "Fine."},
				{ID: lostID, Status: thread.Running, Source: thread.Parent},
			},
		},
		{ID: childID, Parent: doneID, Status: thread.Completed, Source: thread.Inferred, Complete: thread.NoUsage,
			Messages: []string{"user: review it", "assistant: Fine."}},
		{ID: failID, Status: thread.Errored, Source: thread.Child, Complete: thread.NoUsage,
			Messages: []string{"user: one", "note: model output error"}},
	}
}

// big writes a thread of at least size bytes.
func big(t testing.TB, home string, size int64) string {
	s := begin()
	s.user(strings.Repeat("word ", 4<<10))
	s.answer("ok")
	turn := strings.Join(s.lines, "\n") + "\n"
	threadtest.WriteFile(t, strings.Repeat(turn, int(size)/len(turn)+1), home, ".gemini/antigravity-cli/brain", doneID,
		".system_generated/logs/transcript.jsonl")
	return doneID
}

// TestClosed has threads without a transcript. They are not listed, and the
// error names the format.
func TestClosed(t *testing.T) {
	home := t.TempDir()
	threadtest.WriteFile(t, "\x01\x02", home, ".gemini/antigravity/conversations", doneID+".pb")
	threadtest.WriteFile(t, "SQLite format 3\x00", home, ".gemini/antigravity/conversations", childID+".db")
	p := provider(t, home)
	for id, want := range map[string]string{doneID: "encrypted", childID: "without a known format"} {
		if th, err := p.Thread(t.Context(), id); !errors.Is(err, handoff.Unsupported) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, %v, want %q", id, th, err, want)
		}
	}
	for th, err := range p.Threads(t.Context()) {
		t.Errorf("got %v, %v", th, err)
	}
}

// TestOverlap has threads on several days. Those that were not written when another
// one started have no subagents, and only their beginnings are read.
func TestOverlap(t *testing.T) {
	home := t.TempDir()
	at := begin().at
	write := func(n int, started, written time.Time, content string) string {
		id := fmt.Sprintf("019f0000-0000-7000-8000-%012d", n)
		s := &script{at: started}
		s.user("go")
		s.add("MODEL", "INVOKE_SUBAGENT", map[string]any{"content": content})
		s.answer(strings.Repeat("word ", 60<<10))
		s.write(t, home, id)
		path := filepath.Join(home, ".gemini/antigravity-cli/brain", id, ".system_generated/logs/transcript.jsonl")
		if err := os.Chtimes(path, written, written); err != nil {
			t.Fatal(err)
		}
		return id
	}
	const days = 40
	for n := range days {
		day := at.AddDate(0, 0, n)
		write(n, day, day.Add(time.Hour), "no ID")
	}
	p := provider(t, home)
	var ids []string
	list := func() (n int) {
		ids = nil
		for st, err := range thread.StoredIn(t.Context(), "antigravity", p) {
			if err != nil {
				t.Fatal(err)
			}
			n++
			ids = append(ids, st.Key)
		}
		return n
	}
	if read := bytesRead(t, func() { list() }); read > 2<<20 || len(ids) != days {
		t.Errorf("read %d bytes of %d threads, want only the beginnings of %d", read, len(ids), days)
	}
	// A subagent that started a second after the last write to its parent.
	child := fmt.Sprintf("019f0000-0000-7000-8000-%012d", 100)
	late := at.AddDate(0, 0, days)
	parent := write(99, late, late.Add(time.Minute), fmt.Sprintf("{\n  \"conversationId\":  %q\n}\n", child))
	write(100, late.Add(time.Minute), late.Add(time.Hour), "no ID")
	list()
	if !slices.ContainsFunc(ids, func(key string) bool { return strings.HasSuffix(key, "#"+parent+"/"+child) }) {
		t.Errorf("%s is not a subagent of %s: %q", child, parent, ids)
	}
}

// bytesRead returns how many bytes the process reads while do runs. The test is skipped
// where that is not known.
func bytesRead(t testing.TB, do func()) int {
	t.Helper()
	count := func() (n int) {
		b, err := os.ReadFile("/proc/self/io")
		if err != nil {
			t.Skip("the system does not count what is read")
		}
		if _, err := fmt.Sscanf(string(b), "rchar: %d", &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := count()
	do()
	return count() - before
}

// FuzzTranscript reads any bytes as a thread.
func FuzzTranscript(f *testing.F) {
	dir := f.TempDir()
	home(f, dir)
	threadtest.AddSeeds(f, dir, "*.jsonl")
	alone := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		threadtest.WriteFile(t, string(b), alone, ".gemini/antigravity-cli/brain", doneID,
			".system_generated/logs/transcript.jsonl")
		threadtest.CheckThread(t, provider(t, alone), doneID)
	})
}
