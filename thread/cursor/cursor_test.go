package cursor_test

import (
	"crypto/sha256"
	"encoding/hex"
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
	"github.com/agent-handoff/handoff/thread/cursor"
)

var suite = threadtest.Suite{Driver: cursor.Driver(), Write: home, Lines: true, Big: big}

func TestSuite(t *testing.T) { threadtest.Run(t, suite) }

// TestStatuses truncates transcripts; TestDamaged damages the database of the editor.
func TestStatuses(t *testing.T) {
	threadtest.CheckStatuses(t, threadtest.Suite{Driver: cursor.Driver(), Write: lines})
}

func TestDamaged(t *testing.T) {
	threadtest.CheckDamagedDatabase(t, threadtest.Suite{Driver: cursor.Driver(), Write: editor})
	threadtest.CheckDamagedDatabase(t, threadtest.Suite{Driver: cursor.Driver(), Write: chats})
}

// TestTime has a database whose newest state is in its write-ahead log.
func TestTime(t *testing.T) {
	home := t.TempDir()
	chats(t, home)
	var main string
	for st := range thread.StoredIn(t.Context(), "", provider(t, home)) {
		main = st.Source
	}
	old, now := time.Unix(1700000000, 0), time.Unix(1755599700, 0)
	if err := errors.Join(os.Chtimes(main, old, old), os.Chtimes(main+"-wal", now, now)); err != nil {
		t.Fatal(err)
	}
	threadtest.CheckTimes(t, provider(t, home))
	if th := threadtest.Load(t, provider(t, home), storeID); !th.Modified.Equal(now) {
		t.Errorf("got %v, want that of the write-ahead log", th.Modified)
	}
}

// TestOrder has messages out of order, one that is listed twice, and one whose ID is
// part of one that is listed.
func TestOrder(t *testing.T) {
	home := t.TempDir()
	threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
		exec(schema)
		b := book{exec}
		b.conversation(editID, "none",
			obj{"fullConversationHeadersOnly": []obj{{"bubbleId": "abc"}, {"bubbleId": "gone"}, {"bubbleId": "d"},
				{"bubbleId": "abc"}}})
		for _, id := range []string{"d", "b", "abc", "ab"} {
			b.put("bubbleId:"+editID+":"+id, obj{"type": 1, "bubbleId": id, "text": "message " + id})
		}
	}, home, state)
	if said := threadtest.CheckThread(t, provider(t, home), editID); !slices.Equal(said,
		[]string{"user: message abc", "user: message d"}) {
		t.Errorf("got %q", said)
	}
}

func provider(t testing.TB, home string) thread.Provider {
	t.Helper()
	return threadtest.Open(t, cursor.Driver(), home)
}

// The IDs of the threads that home writes.
const (
	doneID   = "019f0000-0000-7000-8000-000000000001"
	childID  = "019f0000-0000-7000-8000-000000000002"
	flatID   = "019f0000-0000-7000-8000-000000000003"
	storeID  = "019f0000-0000-7000-8000-000000000004" // in a store.db
	editID   = "019f0000-0000-7000-8000-000000000005" // of the editor
	taskID   = "019f0000-0000-7000-8000-000000000006" // its subagent
	inlineID = "019f0000-0000-7000-8000-000000000007"
	abortID  = "019f0000-0000-7000-8000-000000000008"
	state    = ".config/Cursor/User/globalStorage/state.vscdb"
)

type obj = map[string]any

func encode(v any) string {
	b, err := handoff.EncodeJSON(v)
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(b))
}

func text(s string) obj   { return obj{"type": "text", "text": s} }
func use(tool string) obj { return obj{"type": "tool_use", "name": tool, "input": obj{"a": 1}} }

func line(role string, content ...obj) string {
	return encode(obj{"role": role, "message": obj{"content": content}}) + "\n"
}

// lines writes transcripts of agents.
func lines(t testing.TB, dir string) []threadtest.Thread {
	project := ".cursor/projects/home-u-project/agent-transcripts"
	ended := func(status string) string { return encode(obj{"type": "turn_ended", "status": status}) + "\n" }
	threadtest.WriteFile(t, line("user", text("<user_query>\nlist them\n</user_query>"))+
		line("assistant", text("I look.\n\n[REDACTED]"), use("Shell"), use("Read"))+
		line("user", obj{"type": "tool_result", "content": []obj{text("a.txt")}},
			obj{"type": "tool_result", "content": "denied", "is_error": true})+
		line("assistant", obj{"type": "thinking", "thinking": "Hm."}, text("Done."))+ended("success"), dir, project, doneID,
		doneID+".jsonl")
	threadtest.WriteFile(t, line("user", text("review it"))+line("assistant", text("Fine.")), dir, project, doneID,
		"subagents", childID+".jsonl")
	threadtest.WriteFile(t, line("user", text("one"))+line("assistant", text("[REDACTED]"), use("Shell"))+ended("aborted"),
		dir, project, flatID+".jsonl")
	return []threadtest.Thread{
		{
			ID: doneID, Status: thread.Completed, Source: thread.Child, Complete: thread.NoUsage,
			Messages: []string{"user: list them", "assistant: I look.", "assistant: Done."}, Calls: []string{
				"Shell: a.txt", "Read: denied"},
			Agents: []threadtest.Agent{{ID: childID, Status: thread.Completed, Source: thread.Inferred, Last: "Fine."}},
		},
		{ID: childID, Parent: doneID, Status: thread.Completed, Source: thread.Inferred, Complete: thread.NoUsage,
			Messages: []string{"user: review it", "assistant: Fine."}},
		{ID: flatID, Status: thread.Errored, Source: thread.Child, Complete: thread.NoUsage, Messages: []string{"user: one"},
			Calls: []string{"Shell: "}},
	}
}

// A book writes threads to the database of the editor.
type book struct{ exec func(string, ...any) }

const schema = "CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)"

func (b book) put(key string, v any) {
	b.exec("INSERT INTO cursorDiskKV VALUES (?, ?)", key, []byte(encode(v)))
}

// thread writes a thread whose messages are stored in another order.
func (b book) conversation(id, status string, more obj, messages ...obj) {
	headers := []obj{}
	for i := range messages {
		headers = append(headers, obj{"bubbleId": fmt.Sprintf("b%03d", 999-i), "type": messages[i]["type"]})
	}
	data := obj{"composerId": id, "name": "A title", "status": status, "createdAt": 1710000000000,
		"lastUpdatedAt": 1710000009000, "modelConfig": obj{"modelName": "m"},
		"workspaceIdentifier": obj{"uri": obj{"fsPath": "/home/u/project"}}, "fullConversationHeadersOnly": headers}
	for k, v := range more {
		data[k] = v
	}
	b.put("composerData:"+id, data)
	for i, m := range messages {
		m["bubbleId"], m["createdAt"] = headers[i]["bubbleId"], fmt.Sprintf("2026-05-06T05:00:%02d.000Z", i)
		b.put(fmt.Sprintf("bubbleId:%s:b%03d", id, 999-i), m)
	}
	b.put("bubbleId:"+id+":removed", obj{"type": 1, "text": "not in the order"})
}

func tool(id, name, status, result string) obj {
	return obj{"type": 2, "text": "", "toolFormerData": obj{"toolCallId": id, "name": name, "status": status,
		"rawArgs": `{"a":1}`, "result": result}}
}

// editor writes the database of the editor.
func editor(t testing.TB, dir string) []threadtest.Thread {
	threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
		exec(schema)
		b := book{exec}
		b.conversation(editID, "completed", nil,
			obj{"type": 1, "text": "design it"},
			obj{"type": 2, "text": "", "thinking": obj{"text": "Hm."}},
			obj{"type": 2, "text": "I ask.", "tokenCount": obj{"inputTokens": 100, "outputTokens": 20}},
			tool("t1", "task_v2", "completed", "Fine."), tool("t2", "read_file_v2", "error", "no such file"),
			obj{"type": 2, "text": "All done?", "modelInfo": obj{"modelName": "n"},
				"tokenCount": obj{"inputTokens": 10, "outputTokens": 2}})
		b.conversation(taskID, "none", obj{"subagentInfo": obj{"parentComposerId": editID, "toolCallId": "t1"}},
			obj{"type": 1, "text": "review it"}, obj{"type": 2, "text": "Fine."})
		b.put("composerData:"+inlineID, obj{"name": "Old",
			"conversation": []obj{{"type": 1, "text": "hello"}, {"type": 2, "text": "world"}}})
		b.conversation(abortID, "aborted", nil, obj{"type": 1, "text": "go"}, tool("t3", "run_terminal_cmd", "pending", ""))
		b.put("composerData:empty", obj{"fullConversationHeadersOnly": []obj{}})
		exec("INSERT INTO cursorDiskKV VALUES ('composerData:none', NULL)")
	}, dir, state)
	return []threadtest.Thread{
		{
			ID: editID, Status: thread.Completed, Source: thread.Child, Usage: thread.Tokens{Input: 110, Output: 22, Calls: 2},
			Complete: thread.LowerBound,
			Messages: []string{"user: design it", "assistant: I ask.", "assistant: All done?"}, Calls: []string{
				"task_v2: Fine.", "read_file_v2: no such file"},
			Agents: []threadtest.Agent{{ID: taskID, Status: thread.Completed, Source: thread.Inferred, Last: "Fine."}},
		},
		{ID: taskID, Parent: editID, Status: thread.Completed, Source: thread.Inferred, Complete: thread.NoUsage,
			Messages: []string{"user: review it", "assistant: Fine."}},
		{ID: inlineID, Status: thread.Completed, Source: thread.Inferred, Complete: thread.NoUsage,
			Messages: []string{"user: hello", "assistant: world"}},
		{ID: abortID, Status: thread.Errored, Source: thread.Child, Complete: thread.NoUsage, Messages: []string{"user: go"},
			Calls: []string{"run_terminal_cmd: "}},
	}
}

func home(t testing.TB, dir string) []threadtest.Thread {
	return slices.Concat(lines(t, dir), editor(t, dir), chats(t, dir))
}

// chats writes the database of a thread of the command line agent. Its last state
// refers to messages, and to a blob that refers to messages.
func chats(t testing.TB, dir string) []threadtest.Thread {
	threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
		exec("CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB)")
		exec("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)")
		put := func(data string) string {
			hash := sha256.Sum256([]byte(data))
			exec("INSERT OR IGNORE INTO blobs VALUES (?, ?)", hex.EncodeToString(hash[:]), []byte(data))
			return string(hash[:])
		}
		field := func(s string) string { return "\x0a" + string(rune(len(s))) + s }
		message := func(v obj) string { return field(put(encode(v))) }
		earlier := put(message(obj{"role": "system", "content": "You are."}) +
			message(obj{"role": "user", "content": []obj{text("<user_query>\nlist them\n</user_query>")}}) + "\x10\x05")
		root := put(field(earlier) + message(obj{"id": "a1", "role": "assistant", "content": []obj{
			{"type": "reasoning", "text": "Hm.", "providerOptions": obj{"cursor": obj{"modelName": "m"}}}, text("I look."),
			{"type": "tool-call", "toolCallId": "c1", "toolName": "Shell", "args": obj{"command": "ls"}}}}) +
			message(obj{"role": "tool", "content": []obj{
				{"type": "tool-result", "toolCallId": "c1", "toolName": "Shell", "result": "a.txt"}}}) +
			message(obj{"role": "assistant", "content": "Done?"}) + field(earlier) + field("file:///home/u/project"))
		meta := encode(obj{"agentId": storeID, "name": "A title", "createdAt": 1774260332872, "lastUsedModel": "default",
			"latestRootBlobId": hex.EncodeToString([]byte(root))})
		exec("INSERT INTO meta VALUES ('0', ?)", hex.EncodeToString([]byte(meta)))
	}, dir, ".cursor/chats/0123", storeID, "store.db")
	return []threadtest.Thread{{
		ID: storeID, Status: thread.Completed, Source: thread.Inferred, Complete: thread.NoUsage,
		Messages: []string{"user: list them", "assistant: I look.", "assistant: Done?"}, Calls: []string{"Shell: a.txt"},
	}}
}

// big writes a transcript of at least size bytes.
func big(t testing.TB, home string, size int64) string {
	turn := line("user", text(strings.Repeat("word ", 4<<10))) + line("assistant", text("ok"))
	threadtest.WriteFile(t, strings.Repeat(turn, int(size)/len(turn)+1), home, ".cursor/projects/p/agent-transcripts",
		flatID+".jsonl")
	return flatID
}

// TestCopies checks that the database of the editor is preferred to a transcript.
func TestCopies(t *testing.T) {
	dir := t.TempDir()
	home(t, dir)
	threadtest.WriteFile(t, line("user", text("copy")), dir, ".cursor/projects/p/agent-transcripts", editID+".jsonl")
	if th := threadtest.Load(t, provider(t, dir), editID); filepath.Base(th.Source) != "state.vscdb" ||
		len(th.Warnings) != 1 {
		t.Errorf("got %s, %q", th.Source, th.Warnings)
	}
}

// TestXurl compares the published database of the command line agent.
func TestXurl(t *testing.T) {
	threadtest.Xurl(t, cursor.Driver(), "CURSOR_DATA_DIR", map[string]string{
		"thread_source":            "it is the database, not a copy in the temporary directory",
		"mode":                     "a thread has its subagents in its head, as for every provider",
		"new-cursor-read messages": "the text that the user typed, without the mark of the tool",
	})
}

// FuzzStore reads any bytes as the metadata and as the last state of a database.
func FuzzStore(f *testing.F) {
	f.Add([]byte(`{"latestRootBlobId":"aa","name":"x"}`), []byte("\x0a\x20"+strings.Repeat("a", 32)))
	f.Add([]byte(`{"latestRootBlobId":"aa"}`), []byte(`{"role":"assistant","content":[{"type":"tool-call"`))
	f.Fuzz(func(t *testing.T, meta, blob []byte) {
		dir := t.TempDir()
		threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
			exec("CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB)")
			exec("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)")
			exec("INSERT INTO meta VALUES ('0', ?)", hex.EncodeToString(meta))
			exec("INSERT INTO blobs VALUES ('aa', ?)", blob)
			exec("INSERT INTO blobs VALUES (?, ?)", strings.Repeat("61", 32), blob)
		}, dir, ".cursor/chats/0123", storeID, "store.db")
		threadtest.CheckThread(t, provider(t, dir), storeID)
	})
}

// TestRealThreads reads published transcripts.
func TestRealThreads(t *testing.T) {
	want := map[string][2]int{ // messages and calls
		"git-ai-project+git-ai/.cursor/projects/p/agent-transcripts/cursor-session-simple.jsonl": {4, 10},
		"jazzyalex+agent-sessions/large.jsonl":                                                   {7, 2},
		"jazzyalex+agent-sessions/small.jsonl":                                                   {4, 1},
		"jazzyalex+agent-sessions/test-session.jsonl":                                            {5, 2},
		"jazzyalex+agent-sessions/schema_drift.jsonl":                                            {2, 1},
	}
	for path, n := range want {
		dir := t.TempDir()
		threadtest.WriteFile(t, threadtest.ReadFile(t, threadtest.Transcripts(t, "cursor", filepath.FromSlash(path))), dir,
			".cursor/projects/p/agent-transcripts", flatID+".jsonl")
		p := provider(t, dir)
		said := threadtest.CheckThread(t, p, flatID)
		if th := threadtest.Load(t, p, flatID); len(said) != n[0] || th.ToolCalls != n[1] {
			t.Errorf("%s: got %d messages, %d calls, %s, want %v", path, len(said), th.ToolCalls, th.State.Status, n)
		}
		threadtest.CheckTruncated(t, cursor.Driver(), dir, threadtest.Load(t, p, flatID))
	}
}

// FuzzTranscript reads any bytes as a transcript.
func FuzzTranscript(f *testing.F) {
	dir := f.TempDir()
	lines(f, dir)
	threadtest.AddSeeds(f, dir, "*.jsonl")
	alone := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		threadtest.WriteFile(t, string(b), alone, ".cursor/projects/p/agent-transcripts", flatID+".jsonl")
		threadtest.CheckThread(t, provider(t, alone), flatID)
	})
}

// FuzzBubble reads any bytes as a thread and as a message of the editor.
func FuzzBubble(f *testing.F) {
	f.Add([]byte(`{"fullConversationHeadersOnly":[{"bubbleId":"b1","type":1}],"name":"x"}`),
		[]byte(encode(tool("a", "x", "completed", "y"))))
	f.Add([]byte(`{"conversation":[{"type":2,"text":"x"},7,[]],"status":"generating"}`), []byte(`{"type":1`))
	f.Fuzz(func(t *testing.T, data, message []byte) {
		dir := t.TempDir()
		threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
			exec(schema)
			exec("INSERT INTO cursorDiskKV VALUES (?, ?)", "composerData:"+editID, data)
			exec("INSERT INTO cursorDiskKV VALUES (?, ?)", "bubbleId:"+editID+":b1", message)
			book{exec}.conversation(abortID, "", nil, obj{"type": 1, "text": string(message)})
			exec("UPDATE cursorDiskKV SET value = ? WHERE key GLOB ?", message, "bubbleId:"+abortID+":*")
		}, dir, state)
		p := provider(t, dir)
		for th, err := range p.Threads(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			threadtest.CheckThread(t, p, th.ID)
		}
	})
}
