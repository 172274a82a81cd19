package goose_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/goose"
)

var suite = threadtest.Suite{Driver: goose.Driver(), Write: home, Big: big}

func TestSuite(t *testing.T) { threadtest.Run(t, suite) }
func TestStatuses(t *testing.T) {
	rows := suite
	rows.Write = func(t testing.TB, dir string) []threadtest.Thread {
		list := home(t, dir)
		return list[:len(list)-1] // without the file
	}
	threadtest.CheckRowStatuses(t, rows, "messages", "session_id", "")
	threadtest.CheckDamagedDatabase(t, rows)
}

func provider(t testing.TB, home string) thread.Provider {
	t.Helper()
	return threadtest.Open(t, goose.Driver(), home)
}

// The IDs of the threads that home writes.
const (
	doneID  = "20251202_1"
	childID = "20251202_2"
	openID  = "20251202_3"
	lostID  = "20251202_4" // a subagent without a parent
	fileID  = "20250102_150405"
	db      = ".local/share/goose/sessions/sessions.db"
)

const schema = `
CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '', session_type TEXT NOT NULL DEFAULT 'user', working_dir TEXT NOT NULL,
	created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, accumulated_input_tokens INTEGER, accumulated_output_tokens INTEGER,
	accumulated_cache_read_tokens INTEGER, accumulated_cache_write_tokens INTEGER, accumulated_cost REAL, provider_name TEXT, model_config_json TEXT, archived_at TIMESTAMP, parent_session_id TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL, content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL, metadata_json TEXT, message_id TEXT);`

type obj = map[string]any

func text(s string) obj { return obj{"type": "text", "text": s} }

func call(id, tool string) obj {
	return obj{"type": "toolRequest", "id": id,
		"toolCall": obj{"status": "success", "value": obj{"name": tool, "arguments": obj{"a": 1}}}}
}

func result(id, s string, failed bool) obj {
	return obj{"type": "toolResponse", "id": id,
		"toolResult": obj{"status": "success", "value": obj{"content": []obj{text(s)}, "isError": failed}}}
}

func encode(v any) string {
	b, err := handoff.EncodeJSON(v)
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(b))
}

// A book writes sessions to a database, with one message per second.
type book struct {
	exec func(string, ...any)
	id   string
	n    int
}

func (b *book) session(id, kind string, parent any, tokens any) {
	b.id = id
	b.exec(
		`INSERT INTO sessions (id, name, session_type, working_dir, created_at, updated_at, accumulated_input_tokens, accumulated_output_tokens, accumulated_cache_read_tokens, provider_name, model_config_json, parent_session_id)
		VALUES (?, 'A title', ?, '/home/u/project', '2025-12-02 16:58:55', '2025-12-02 17:00:00', ?, ?, 10, 'p', '{"model_name":"m"}', ?)`, id, kind, tokens, tokens, parent)
}

func (b *book) message(role, metadata string, parts ...obj) {
	b.n++
	b.exec("INSERT INTO messages (session_id, role, content_json, created_timestamp, metadata_json, message_id) VALUES "+
		"(?, ?, ?, ?, ?, ?)", b.id, role, encode(parts), 1764694735+b.n, metadata, fmt.Sprintf("m%d", b.n))
}

// home writes a home directory with a database and a file of an old version.
func home(t testing.TB, dir string) []threadtest.Thread {
	threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
		exec(schema)
		b := &book{exec: exec}
		b.session(doneID, "user", nil, 100)
		b.message("user", `{"userVisible":true}`, text("design it"))
		b.message("assistant", "", obj{"type": "thinking", "thinking": "Hm."}, text("I look."), call("a", "shell"),
			call("b", "view"))
		b.message("user", "", result("a", "no such file", true),
			obj{"type": "toolResponse", "id": "b", "toolResult": obj{"status": "error", "error": "denied"}})
		b.message("user", `{"userVisible":false}`, text("a summary"))
		b.message("assistant", "", text("All done?"))
		b.session(childID, "sub_agent", doneID, 30)
		b.message("user", "", text("review it"))
		b.message("assistant", "", text("Fine."))
		b.session(openID, "user", nil, nil)
		b.message("user", "", text("go"))
		b.message("assistant", "", call("c", "shell"))
		b.session(lostID, "sub_agent", nil, nil)
		b.message("user", "", text("alone"))
	}, dir, db)
	lines := []string{
		encode(obj{"description": "Old", "working_dir": "/home/u/project", "message_count": 2, "accumulated_input_tokens": 7,
			"accumulated_output_tokens": 8}),
		encode(obj{"role": "user", "created": 1735830245, "content": []obj{text("hello")}}),
		encode(obj{"role": "assistant", "created": 1735830246, "content": []obj{text("world")}}),
	}
	threadtest.WriteFile(t, strings.Join(lines, "\n")+"\n", dir, ".local/share/goose/sessions", fileID+".jsonl")

	usage := func(n int64, calls int) thread.Tokens {
		return thread.Tokens{Input: n - 10, Output: n, CacheRead: 10, Calls: calls}
	}
	return []threadtest.Thread{
		{
			ID: doneID, Status: thread.Completed, Source: thread.Inferred, Usage: usage(100, 2), Complete: thread.LowerBound,
			Messages: []string{"user: design it", "assistant: I look.", "assistant: All done?"}, Calls: []string{
				"shell: no such file", "view: denied"},
			Agents: []threadtest.Agent{{ID: childID, Status: thread.Completed, Source: thread.Inferred, Last: "Fine."}},
		},
		{ID: childID, Parent: doneID, Status: thread.Completed, Source: thread.Inferred, Usage: usage(30, 1),
			Complete: thread.LowerBound, Messages: []string{"user: review it", "assistant: Fine."}},
		{ID: openID, Status: thread.Running, Source: thread.Child, Complete: thread.LowerBound,
			Usage: thread.Tokens{CacheRead: 10, Calls: 1}, Messages: []string{"user: go"}, Calls: []string{"shell: "}},
		{ID: fileID, Status: thread.Completed, Source: thread.Inferred, Complete: thread.LowerBound,
			Usage: thread.Tokens{Input: 7, Output: 8, Calls: 1}, Messages: []string{"user: hello", "assistant: world"}},
	}
}

// TestHidden checks that a subagent without a parent is found and not listed.
func TestHidden(t *testing.T) {
	dir := t.TempDir()
	home(t, dir)
	p := provider(t, dir)
	threadtest.Load(t, p, lostID)
	for th, err := range p.Threads(t.Context()) {
		if err != nil || th.ID == lostID {
			t.Errorf("got %v, %v", th, err)
		}
	}
}

// big writes a session of at least size bytes.
func big(t testing.TB, home string, size int64) string {
	threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
		exec(schema)
		exec("PRAGMA journal_mode=off")
		b := &book{exec: exec}
		b.session(doneID, "user", nil, nil)
		b.message("user", "", text(strings.Repeat("word ", 4<<10)))
		exec("WITH RECURSIVE n(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v < ?) INSERT INTO messages "+
			"(session_id, role, content_json, created_timestamp) SELECT session_id, role, content_json, v FROM messages, n",
			size/(20<<10)+1)
	}, home, db)
	return doneID
}

// TestRealThreads reads the published database, which has a session without messages.
func TestRealThreads(t *testing.T) {
	home := threadtest.Transcripts(t, "goose", "jwp23+dotfiles")
	threadtest.CheckUnchanged(t, home)
	p := provider(t, home)
	threadtest.CheckThread(t, p, doneID)
	if th := threadtest.Load(t, p, doneID); th.State.Status != thread.PendingInit || th.Cwd == "" ||
		th.Title != "CLI Session" || th.Started.IsZero() {
		t.Errorf("got %+v", th)
	}
}

// FuzzContent reads any bytes as the content of a message, and as a line of a file.
func FuzzContent(f *testing.F) {
	f.Add([]byte(encode([]obj{text("x"), call("a", "shell")})), []byte("assistant"))
	f.Add([]byte(encode([]obj{result("a", "x", true)})), []byte("user"))
	f.Add([]byte(`{"role":"user","content":[{"type":"text"`), []byte("user"))
	f.Fuzz(func(t *testing.T, content, role []byte) {
		home := t.TempDir()
		threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
			exec(schema)
			exec("INSERT INTO sessions (id, working_dir, accumulated_input_tokens, model_config_json) VALUES (?, ?, ?, ?)",
				doneID, content, content, content)
			for range 2 {
				exec("INSERT INTO messages (session_id, role, content_json, created_timestamp, metadata_json) VALUES (?, ?, "+
					"?, ?, ?)", doneID, role, content, content, content)
			}
		}, home, db)
		threadtest.WriteFile(t, string(content), home, ".local/share/goose/sessions", fileID+".jsonl")
		threadtest.CheckThread(t, provider(t, home), doneID)
		threadtest.CheckThread(t, provider(t, home), fileID)
	})
}
