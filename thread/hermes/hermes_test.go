package hermes_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/hermes"
)

var suite = threadtest.Suite{Driver: hermes.Driver(), Write: home, Big: big}

func TestSuite(t *testing.T)    { threadtest.Run(t, suite) }
func TestStatuses(t *testing.T) { threadtest.CheckRowStatuses(t, suite, "messages", "session_id", "") }
func TestDamaged(t *testing.T)  { threadtest.CheckDamagedDatabase(t, suite) }

func provider(t testing.TB, home string) thread.Provider {
	t.Helper()
	return threadtest.Open(t, hermes.Driver(), home)
}

// The IDs of the threads that home writes.
const (
	doneID  = "20260802_210900_00000a"
	childID = "20260802_210901_00000b"
	openID  = "20260802_210902_00000c"
	shrunk  = "20260802_210903_00000d" // ended by a compression
	nextID  = "20260802_210904_00000e" // its continuation
	quitID  = "20260802_210905_00000f" // in a profile
)

const schema = `
CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, model TEXT, model_config TEXT, parent_session_id TEXT, started_at REAL NOT NULL, ended_at REAL, end_reason TEXT,
	input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0, cache_read_tokens INTEGER DEFAULT 0, cache_write_tokens INTEGER DEFAULT 0, reasoning_tokens INTEGER DEFAULT 0,
	estimated_cost_usd REAL, actual_cost_usd REAL, title TEXT, api_call_count INTEGER DEFAULT 0, cwd TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT,
	timestamp REAL NOT NULL, finish_reason TEXT, reasoning TEXT, _compressed_summary INTEGER NOT NULL DEFAULT 0, display_kind TEXT);`

// A book writes sessions to a database, with one message per second.
type book struct {
	exec func(string, ...any)
	id   string
	at   float64
}

func (b *book) session(id string, parent any, end any, config string, tokens int) {
	b.id, b.at = id, b.at+10
	b.exec(
		`INSERT INTO sessions (id, source, model, model_config, parent_session_id, started_at, ended_at, end_reason, input_tokens, output_tokens, cache_read_tokens, reasoning_tokens, estimated_cost_usd, title, api_call_count, cwd)
		VALUES (?, 'cli', 'm', ?, ?, ?, ?, ?, ?, ?, ?, 1, 0.5, 'A title', 2, '/home/u/project')`, id, config, parent, b.at, map[bool]any{true: b.at + 9, false: nil}[end != nil], end, tokens, tokens, tokens)
}

func (b *book) message(role, content, finish string, more ...string) {
	b.at++
	more = append(more, "", "", "")
	b.exec("INSERT INTO messages (session_id, role, content, finish_reason, timestamp, tool_calls, tool_call_id, "+
		"display_kind, reasoning) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'Hm.')", b.id, role, content, finish, b.at, more[0],
		more[1], more[2])
}

func call(id, tool string) string {
	b, err := handoff.EncodeJSON([]any{map[string]any{
		"id": id, "type": "function", "function": map[string]any{"name": tool, "arguments": `{"a":1}`}}})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// home writes a home directory with a profile.
func home(t testing.TB, dir string) []threadtest.Thread {
	threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
		exec(schema)
		b := &book{exec: exec, at: 1785704940.5}
		b.session(doneID, nil, nil, "{}", 100)
		b.message("user", "delegate it", "")
		b.message("assistant", "", "tool_calls", call("c1", "delegate_task"))
		b.message("tool", `{"status": "dispatched"}`, "", "", "c1")
		b.message("assistant", "Dispatched.", "stop")
		b.message("user", "[ASYNC DELEGATION BATCH COMPLETE — deleg_1]\nFine.", "")
		b.message("user", `[{"type":"text","text":"and now?"}]`, "")
		b.message("assistant", "All done?", "stop")
		b.session(childID, doneID, "done", `{"_delegate_from":"x"}`, 10)
		b.message("user", "review it", "")
		b.message("assistant", "Fine.", "stop")
		b.session(openID, nil, nil, "", 0)
		b.message("user", "ask me", "")
		b.message("assistant", "", "tool_calls", call("q", "clarify"))
		b.session(shrunk, nil, "compression", "", 20)
		b.message("user", "one", "")
		b.message("assistant", "two", "stop")
		b.session(nextID, shrunk, nil, "", 30)
		b.message("assistant", "They did it.", "stop")
		exec("UPDATE messages SET _compressed_summary = 1 WHERE session_id = ?", nextID)
		b.message("user", "process 1 ended", "", "", "", "process_complete")
		b.message("assistant", "", "content_filter")
	}, dir, ".hermes/state.db")
	threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
		exec(schema)
		b := &book{exec: exec, at: 1785704940.5}
		b.session(quitID, nil, "user_exit", "", 0)
		b.message("user", "one", "")
	}, dir, ".hermes/profiles/coder/state.db")

	usage := func(n int64) thread.Tokens {
		return thread.Tokens{Input: n, Output: n, CacheRead: n, Reasoning: 1, Calls: 2, Cost: 0.5}
	}
	return []threadtest.Thread{
		{
			ID: doneID, Status: thread.Completed, Source: thread.Child, Usage: usage(100), Complete: thread.LowerBound,
			Messages: []string{"user: delegate it", "assistant: Dispatched.",
				"note: [ASYNC DELEGATION BATCH COMPLETE — deleg_1]\nFine.", "user: and now?", "assistant: All done?"},
			Calls:  []string{`delegate_task: {"status": "dispatched"}`},
			Agents: []threadtest.Agent{{ID: childID, Status: thread.Completed, Source: thread.Child, Last: "Fine."}},
		},
		{ID: childID, Parent: doneID, Status: thread.Completed, Source: thread.Child, Usage: usage(10),
			Complete: thread.LowerBound, Messages: []string{"user: review it", "assistant: Fine."}},
		{ID: openID, Status: thread.Running, Source: thread.Child, Complete: thread.NoUsage,
			Messages: []string{"user: ask me"}, Calls: []string{"clarify: "}},
		{ID: shrunk, Status: thread.Completed, Source: thread.Child, Usage: usage(20), Complete: thread.LowerBound,
			Messages: []string{"user: one", "assistant: two"}},
		{ID: nextID, Status: thread.Errored, Source: thread.Child, Usage: usage(30), Complete: thread.LowerBound,
			Messages: []string{"compaction: They did it.", "note: process 1 ended"}},
		{ID: quitID, Status: thread.Errored, Source: thread.Child, Complete: thread.NoUsage, Messages: []string{"user: one"}},
	}
}

// big writes a session of at least size bytes.
func big(t testing.TB, home string, size int64) string {
	threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
		exec(schema)
		exec("PRAGMA journal_mode=off")
		b := &book{exec: exec, at: 1785704940}
		b.session(doneID, nil, nil, "", 0)
		b.message("user", fmt.Sprintf("%20000d", 1), "")
		exec("WITH RECURSIVE n(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v < ?) INSERT INTO messages "+
			"(session_id, role, content, timestamp) SELECT session_id, role, printf('%20000d', v), timestamp FROM messages, n",
			size/(19<<10)+1)
	}, home, ".hermes/state.db")
	return doneID
}

func TestID(t *testing.T) {
	for in, want := range map[string]bool{doneID: true, "20260802_210900_": false, "20260832_210900_a": false,
		"20260802_210900_A/": false, "x": false, "": false} {
		if _, ok := hermes.Driver().ID(in); ok != want {
			t.Errorf("ID(%q) = %v, want %v", in, ok, want)
		}
	}
}

// TestFork checks that the continuation after a compression is not a subagent.
func TestFork(t *testing.T) {
	dir := t.TempDir()
	home(t, dir)
	if th := threadtest.Load(t, provider(t, dir), nextID); th.ForkedFrom != shrunk || th.Parent != "" {
		t.Errorf("got fork of %q, subagent of %q, want fork of %s", th.ForkedFrom, th.Parent, shrunk)
	}
}

// TestStartedBefore has sessions that started before their parent ended by a
// compression, which are subagents, and one that started at that moment.
func TestStartedBefore(t *testing.T) {
	dir := t.TempDir()
	threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
		exec(schema)
		add := func(id string, parent any, started, ended float64, reason any, config string) {
			exec("INSERT INTO sessions (id, source, model_config, parent_session_id, started_at, ended_at, end_reason) "+
				"VALUES (?, 'cli', ?, ?, ?, ?, ?)", id, config, parent, started, ended, reason)
		}
		add(doneID, nil, 1000, 1100, "compression", "{}")
		add(childID, doneID, 1020, 1050, "done", "{}")
		add(openID, doneID, 1100, 1200, "done", `{"_delegate_from":"`+doneID+`"}`)
		add(nextID, doneID, 1100, 1200, "done", "{}")
	}, dir, ".hermes/state.db")
	p := provider(t, dir)
	for id, forked := range map[string]bool{childID: false, openID: false, nextID: true} {
		if th := threadtest.Load(t, p, id); (th.ForkedFrom == doneID) != forked || (th.Parent == doneID) == forked {
			t.Errorf("%s: fork of %q, subagent of %q, want a fork: %t", id, th.ForkedFrom, th.Parent, forked)
		}
	}
}

// TestRealThreads writes the rows of published sessions, which were exported from
// databases, to a database again.
func TestRealThreads(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(threadtest.Transcripts(t, "hermes"), "*", "extracted", "*",
		"transcript.jsonl"))
	if err != nil || len(files) != 10 {
		t.Fatalf("got %q, %v, want 10 files", files, err)
	}
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		home, rows, calls := t.TempDir(), 0, 0
		threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
			exec(schema)
			exec("INSERT INTO sessions (id, source, started_at) VALUES (?, 'cli', 1)", doneID)
			for line := range bytes.Lines(b) {
				var r struct {
					Role, Content string
					ToolCalls     string  `json:"tool_calls"`
					CallID        string  `json:"tool_call_id"`
					Finish        string  `json:"finish_reason"`
					At            float64 `json:"_ts"`
				}
				if err := json.Unmarshal(line, &r); err != nil {
					t.Fatal(err)
				}
				rows++
				calls += bytes.Count([]byte(r.ToolCalls), []byte(`"function": {`))
				exec("INSERT INTO messages (session_id, role, content, tool_calls, tool_call_id, finish_reason, timestamp) "+
					"VALUES (?, ?, ?, ?, ?, ?, ?)", doneID, r.Role, r.Content, r.ToolCalls, r.CallID, r.Finish, r.At)
			}
		}, home, ".hermes/state.db")
		p := provider(t, home)
		threadtest.CheckThread(t, p, doneID)
		if th := threadtest.Load(t, p, doneID); th.Lines != rows || th.ToolCalls != calls ||
			th.State.Status != thread.Completed {
			t.Errorf("%s: got %+v, want %d rows, %d calls", path, th.Facts, rows, calls)
		}
	}
}

// FuzzMessage reads any bytes as a message.
func FuzzMessage(f *testing.F) {
	f.Add([]byte("hello"), []byte("user"), []byte(`[{"id":"a","function":{"name":"x"`))
	f.Add([]byte(`[{"type":"text","text":"x"}]`), []byte("assistant"), []byte(call("a", "x")))
	f.Fuzz(func(t *testing.T, content, role, calls []byte) {
		home := t.TempDir()
		threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
			exec(schema)
			exec("INSERT INTO sessions (id, source, started_at, model_config, input_tokens) VALUES (?, 'cli', ?, ?, ?)", doneID,
				content, calls, content)
			for range 2 {
				exec("INSERT INTO messages (session_id, role, content, tool_calls, tool_call_id, finish_reason, timestamp) "+
					"VALUES (?, ?, ?, ?, ?, ?, ?)", doneID, role, content, calls, content, calls, role)
			}
		}, home, ".hermes/state.db")
		threadtest.CheckThread(t, provider(t, home), doneID)
	})
}
