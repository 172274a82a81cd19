package kiro_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
)

// The IDs of the threads that stored writes.
const (
	storedID = "0b5a7c34-1111-4a21-9d0e-000000000001"
	asksID   = "0b5a7c34-1111-4a21-9d0e-000000000002"
	worksID  = "0b5a7c34-1111-4a21-9d0e-000000000003"
)

// turn is one request with its answer, which ended a second later.
func turn(second int, given obj, answer obj) obj {
	const start = 1780462800000
	user := obj{"content": given, "additional_context": "", "timestamp": nil}
	if given["Prompt"] != nil {
		user["timestamp"] = "2026-06-03T05:00:00.5Z"
	}
	t := obj{"user": user, "request_metadata": obj{"model_id": "m-1", "stream_end_timestamp_ms": start + 1000*second}}
	if answer != nil {
		t["assistant"] = answer
	}
	return t
}

func asked(text string) obj { return obj{"Prompt": obj{"prompt": text}} }

func results(kind string, list ...obj) obj { return obj{kind: obj{"tool_use_results": list}} }

func replied(text string) obj { return obj{"Response": obj{"message_id": "r", "content": text}} }

func called(text, id string) obj {
	return obj{"ToolUse": obj{"message_id": "u", "content": text,
		"tool_uses": []obj{{"id": id, "name": "execute_bash", "args": obj{"command": "ls"}}}}}
}

// stored writes a home directory with a database.
func stored(t testing.TB, dir string) []threadtest.Thread {
	threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
		exec("CREATE TABLE conversations_v2 (key TEXT NOT NULL, conversation_id TEXT NOT NULL, value TEXT NOT NULL, " +
			"created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, PRIMARY KEY (key, conversation_id))")
		add := func(id string, history ...obj) {
			b, err := json.Marshal(obj{"conversation_id": id, "history": history, "model_info": obj{"model_id": "m-0"}})
			if err != nil {
				t.Fatal(err)
			}
			exec("INSERT INTO conversations_v2 VALUES ('/home/u/project', ?, ?, 1780462800000, 1780462809000)", id, string(b))
		}
		add(storedID, turn(1, asked("list them"), called("I list.", "c1")),
			turn(2, results("ToolUseResults", obj{"tool_use_id": "c1", "status": "Success",
				"content": []obj{{"Json": obj{"exit_status": "2", "stdout": "no"}}}}), called("", "c2")),
			turn(3, results("ToolUseResults", obj{"tool_use_id": "c2", "status": "Success",
				"content": []obj{{"Text": "a"}, {"Text": "b"}}}), replied("Done. More?")))
		add(asksID, turn(1, asked("one"), called("", "c1")),
			turn(2, obj{"CancelledToolUses": obj{"prompt": "two", "tool_use_results": []obj{
				{"tool_use_id": "c1", "status": "Error", "content": []obj{{"Text": "cancelled"}}}}}}, replied("Fine.")))
		add(worksID, turn(1, asked("one"), called("I run it.", "c1")))
	}, dir, ".local/share/kiro-cli/data.sqlite3")
	return []threadtest.Thread{
		{ID: storedID, Status: thread.Completed, Source: thread.Inferred, Complete: thread.NoUsage,
			Messages: []string{"user: list them", "assistant: I list.", "assistant: Done. More?"},
			Calls:    []string{`execute_bash: {"exit_status":"2","stdout":"no"}`, "execute_bash: a\nb"}},
		{ID: asksID, Status: thread.Completed, Source: thread.Inferred, Complete: thread.NoUsage,
			Messages: []string{"user: one", "user: two", "assistant: Fine."}, Calls: []string{"execute_bash: cancelled"}},
		{ID: worksID, Status: thread.Running, Source: thread.Child, Complete: thread.NoUsage,
			Messages: []string{"user: one", "assistant: I run it."}, Calls: []string{"execute_bash: "}},
	}
}

// TestStored reads the threads of a database.
func TestStored(t *testing.T) {
	dir := t.TempDir()
	p := provider(t, dir)
	for _, want := range stored(t, dir) {
		threadtest.CheckThread(t, p, want.ID)
		th := threadtest.Load(t, p, want.ID)
		said, calls := threadtest.Messages(t, th)
		if !slices.Equal(said, want.Messages) || !slices.Equal(calls, want.Calls) || th.State.Status != want.Status ||
			th.State.Source != want.Source || th.Usage.Completeness != want.Complete {
			t.Errorf("%s: got %q, %q, %+v, %s, want %+v", want.ID, said, calls, th.State, th.Usage.Completeness, want)
		}
		if th.Cwd != "/home/u/project" || th.Started.IsZero() || th.Modified.IsZero() ||
			len(th.Warnings) > 0 {
			t.Errorf("%s: directory %q, started %s, modified %s, warnings %v", want.ID, th.Cwd, th.Started, th.Modified,
				th.Warnings)
		}
	}
}

// TestUnknownRecords reads a file that another version wrote.
func TestUnknownRecords(t *testing.T) {
	dir := t.TempDir()
	threadtest.WriteFile(t, `{"conversation_id":"x","history":[]}`+"\n", dir, ".kiro/sessions/cli", storedID+".jsonl")
	th := threadtest.Load(t, provider(t, dir), storedID)
	if th.State.Status != thread.PendingInit || len(th.Warnings) != 1 {
		t.Errorf("got %s, warnings %v, want pendingInit with one", th.State.Status, th.Warnings)
	}
}
