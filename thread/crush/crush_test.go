package crush_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/crush"
)

var suite = threadtest.Suite{Driver: crush.Driver(), Write: home, Big: big}

func TestSuite(t *testing.T)    { threadtest.Run(t, suite) }
func TestStatuses(t *testing.T) { threadtest.CheckRowStatuses(t, suite, "messages", "session_id", "") }
func TestDamaged(t *testing.T)  { threadtest.CheckDamagedDatabase(t, suite) }

func provider(t testing.TB, home string) thread.Provider {
	t.Helper()
	return threadtest.Open(t, crush.Driver(), home)
}

// The IDs of the threads that home writes.
const (
	doneID  = "019f0000-0000-7000-8000-000000000001"
	childID = "019f0000-0000-7000-8000-00000000000b$$call1"
	openID  = "019f0000-0000-7000-8000-000000000003"
	failID  = "019f0000-0000-7000-8000-000000000004"
)

const schema = `
CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL, message_count INTEGER, prompt_tokens INTEGER, completion_tokens INTEGER, cost REAL NOT NULL DEFAULT 0, updated_at INTEGER NOT NULL, created_at INTEGER NOT NULL);
CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL, parts TEXT NOT NULL, model TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, finished_at INTEGER, provider TEXT, is_summary_message INTEGER NOT NULL DEFAULT 0);`

type obj = map[string]any

func part(kind string, data obj) obj { return obj{"type": kind, "data": data} }
func text(s string) obj              { return part("text", obj{"text": s}) }
func call(id, tool string) obj {
	return part("tool_call", obj{"id": id, "name": tool, "input": `{"a":1}`, "finished": true})
}
func finish(reason string) obj {
	return part("finish", obj{"reason": reason, "time": 0, "message": "no quota"})
}
func result(id, s string, failed bool) obj {
	return part("tool_result", obj{"tool_call_id": id, "content": s, "is_error": failed})
}

// A book writes sessions to a database, with one message per second.
type book struct {
	exec func(string, ...any)
	id   string
	n    int
}

func (b *book) session(id string, parent any, cost float64) {
	b.id = id
	b.n++
	b.exec("INSERT INTO sessions (id, parent_session_id, title, cost, updated_at, created_at) VALUES (?, ?, 'A title', "+
		"?, ?, ?)", id, parent, cost, 1755599700+b.n, 1755599682+b.n)
}

func (b *book) message(role string, summary int, parts ...obj) {
	list, err := handoff.EncodeJSON(parts)
	if err != nil {
		panic(err)
	}
	b.n++
	b.exec("INSERT INTO messages (id, session_id, role, parts, model, created_at, updated_at, provider, "+
		"is_summary_message) VALUES (?, ?, ?, ?, 'm', ?, 0, 'p', ?)",
		fmt.Sprintf("msg%03d", b.n), b.id, role, string(list), 1755599682+b.n, summary)
}

// home writes a home directory with a project.
func home(t testing.TB, dir string) []threadtest.Thread {
	threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
		exec(schema)
		b := &book{exec: exec}
		b.session(doneID, nil, 0.5)
		b.message("user", 0, text("design it"), part("shell_command", obj{"command": "ls", "output": "a", "exit_code": 1}),
			finish("stop"))
		b.message("assistant", 0, part("reasoning", obj{"thinking": "Hm."}), text("I ask."), call("call1", "agent"),
			call("c", "view"), finish("tool_use"))
		b.message("tool", 0, result("call1", "Fine.", false), result("c", "no such file", true), finish("stop"))
		b.message("assistant", 1, text("They designed it."), finish("end_turn"))
		b.message("assistant", 0, text("All done?"), finish("end_turn"))
		b.session(childID, doneID, 0.25)
		b.message("user", 0, text("review it"))
		b.message("assistant", 0, text("Fine."), finish("end_turn"))
		b.session("title-"+doneID, doneID, 0)
		b.session(openID, nil, 0)
		b.message("user", 0, text("go"))
		b.message("assistant", 0, text("I begin"))
		b.session(failID, nil, 0)
		b.message("user", 0, text("one"))
		b.message("assistant", 0, finish("canceled"))
		b.message("user", 0, text("two"))
		b.message("assistant", 0, finish("error"))
	}, dir, "project/.crush/crush.db")
	register(t, dir, filepath.Join(dir, "project"), filepath.Join(dir, "removed"))

	usage := func(calls int, cost float64) thread.Tokens { return thread.Tokens{Calls: calls, Cost: cost} }
	return []threadtest.Thread{
		{
			ID: doneID, Status: thread.Completed, Source: thread.Child, Usage: usage(2, 0.5), Complete: thread.LowerBound,
			Messages: []string{"user: design it", "assistant: I ask.", "compaction: They designed it.", "assistant: All done?"},
			Calls:    []string{"shell: a", "agent: Fine.", "view: no such file"},
			Agents:   []threadtest.Agent{{ID: childID, Status: thread.Completed, Source: thread.Child, Last: "Fine."}},
		},
		{ID: childID, Parent: doneID, Status: thread.Completed, Source: thread.Child, Usage: usage(1, 0.25),
			Complete: thread.LowerBound, Messages: []string{"user: review it", "assistant: Fine."}},
		{ID: openID, Status: thread.Running, Source: thread.Child, Usage: usage(1, 0), Complete: thread.LowerBound,
			Messages: []string{"user: go", "assistant: I begin"}},
		{ID: failID, Status: thread.Errored, Source: thread.Child, Usage: usage(2, 0), Complete: thread.LowerBound,
			Messages: []string{"user: one", "user: two", "note: The request failed. no quota"}},
	}
}

// register lists projects as the tool does.
func register(t testing.TB, home string, dirs ...string) {
	t.Helper()
	var list []obj
	for _, dir := range dirs {
		list = append(list, obj{"path": dir, "data_dir": filepath.Join(dir, ".crush")})
	}
	b, err := handoff.EncodeJSON(obj{"projects": list})
	if err != nil {
		t.Fatal(err)
	}
	threadtest.WriteFile(t, string(b), home, ".local/share/crush/projects.json")
}

// big writes a session of at least size bytes.
func big(t testing.TB, home string, size int64) string {
	threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
		exec(schema)
		exec("PRAGMA journal_mode=off")
		b := &book{exec: exec}
		b.session(doneID, nil, 0)
		b.message("user", 0, text(strings.Repeat("word ", 4<<10)))
		exec("WITH RECURSIVE n(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v < ?) INSERT INTO messages (id, "+
			"session_id, role, parts, created_at, updated_at) SELECT 'm' || v, session_id, role, parts, created_at, 0 FROM "+
			"messages, n", size/(20<<10)+1)
	}, home, "project/.crush/crush.db")
	register(t, home, filepath.Join(home, "project"))
	return doneID
}

// TestTime has one session in a database whose files were written at other times.
func TestTime(t *testing.T) {
	home := t.TempDir()
	threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
		exec(schema)
		(&book{exec: exec}).session(doneID, nil, 0)
	}, home, "project/.crush/crush.db")
	register(t, home, filepath.Join(home, "project"))
	p := provider(t, home)
	threadtest.CheckTimes(t, p)
	if th := threadtest.Load(t, p, doneID); th.Modified.Unix() != 1755599701 {
		t.Errorf("got %v, want the time that the tool recorded", th.Modified)
	}
}

// TestMilliseconds reads times as the comments of the schema have them.
func TestMilliseconds(t *testing.T) {
	home := t.TempDir()
	threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
		exec(schema)
		exec("INSERT INTO sessions (id, title, updated_at, created_at) VALUES (?, 'x', 0, 1755599682000)", doneID)
	}, home, "project/.crush/crush.db")
	register(t, home, filepath.Join(home, "project"))
	if th := threadtest.Load(t, provider(t, home), doneID); th.Started.Unix() != 1755599682 {
		t.Errorf("got %v", th.Started)
	}
}

// TestRealThreads reads the published database, which is in its write-ahead log only.
func TestRealThreads(t *testing.T) {
	real := threadtest.Transcripts(t, "crush", "Exa-Networks+exabgp")
	threadtest.CheckUnchanged(t, real)
	home := t.TempDir()
	register(t, home, real)
	p := provider(t, home)
	said := threadtest.CheckThread(t, p, "4f04805a-caf7-4a47-b98f-b50e16556fa2")
	th := threadtest.Load(t, p, "4f04805a-caf7-4a47-b98f-b50e16556fa2")
	if th.Lines != 34 || len(said) != 6 || th.ToolCalls != 14 || th.State.Status != thread.Completed ||
		th.Usage.Calls != 17 || th.Usage.Cost != 0.4040267 {
		t.Errorf("got %d messages, %+v", len(said), th.Facts)
	}
}

// FuzzParts reads any bytes as the parts of a message.
func FuzzParts(f *testing.F) {
	f.Add([]byte(`[{"type":"text","data":{"text":"x"}},{"type":"finish","data":{"reason":"end_turn","time":1}}]`),
		[]byte("assistant"))
	f.Add([]byte(`[{"type":"tool_call","data":{"id":"a"`), []byte("tool"))
	f.Fuzz(func(t *testing.T, parts, role []byte) {
		home := t.TempDir()
		threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
			exec(schema)
			exec("INSERT INTO sessions (id, title, updated_at, created_at) VALUES (?, ?, 0, 0)", doneID, parts)
			for i := range 2 {
				exec("INSERT INTO messages (id, session_id, role, parts, created_at, updated_at) VALUES (?, ?, ?, ?, ?, 0)", i,
					doneID, role, parts, parts)
			}
		}, home, "project/.crush/crush.db")
		register(t, home, filepath.Join(home, "project"))
		threadtest.CheckThread(t, provider(t, home), doneID)
	})
}
