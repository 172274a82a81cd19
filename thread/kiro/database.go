package kiro

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// databaseName is the database of the engine that keeps each thread as one JSON value.
const databaseName = "data.sqlite3"

var conversations = engine.Table{
	Name: "conversations_v2", Need: []string{"key", "conversation_id"}, Order: "updated_at DESC, rowid DESC",
	Want: []string{"created_at", "updated_at"},
}

// database finds the threads of a database. One that has another table is of a version
// without threads.
func database(ctx context.Context, path string) (list []*engine.Found, err error) {
	err = engine.Database(path).Each(ctx, conversations, nil, func(row jsonl.Value) {
		id, dir, started := row.Get("conversation_id").Text(), row.Get("key").Text(), row.Get("created_at").Int()
		list = append(list, &engine.Found{ID: thread.LowerUUID(id), Path: path,
			Modified: jsonl.Milliseconds(row.Get("updated_at").Int()), Open: func(_ *thread.Walk, t *thread.Thread) {
				t.Cwd, t.Started = dir, jsonl.Milliseconds(started)
				t.Reader = stored(path, id)
			}})
	})
	return list, err
}

// stored returns the reader of a thread in a database.
func stored(path, id string) *engine.Reader {
	const where = "conversation_id = ?"
	value := engine.Table{Name: conversations.Name, Need: []string{"value"}, Where: where}
	return &engine.Reader{Unit: "row", Source: engine.Database(path).Rows(value, id),
		Part: &engine.Part{Database: engine.Database(path), Rows: []engine.Rows{
			{Table: conversations.Name, Where: where, Args: []any{id}}}},
		New: func(s *engine.Scan) engine.Decoder { return &decodeStored{decode{s}} }}
}

// A decodeStored decodes the JSON value of a thread. Its history has turns: what the
// model got, which is a prompt or results of calls, and its answer.
type decodeStored struct{ decode }

// Record implements engine.Decoder.
func (d *decodeStored) Record(_ int, row jsonl.Value) {
	value := jsonl.Value(row.Get("value").Text())
	n := 0
	for c := value.Get("history").Elements(); c.Next(); {
		n++
		user, answer, request := c.Value().Get("user"), c.Value().Get("assistant"), c.Value().Get("request_metadata")
		d.given(n, user.Get("content"), user.Get("timestamp").Timestamp())
		at := jsonl.Milliseconds(request.Get("stream_end_timestamp_ms").Int())
		model := cmp.Or(request.Get("model_id").Text(), value.Get("model_info", "model_id").Text())
		d.answered(n, answer, model, at)
	}
}

// given decodes what the model got.
func (d *decodeStored) given(n int, content jsonl.Value, at time.Time) {
	d.At(at)
	for _, kind := range []string{"ToolUseResults", "CancelledToolUses"} {
		for c := content.Get(kind, "tool_use_results").Elements(); c.Next(); {
			result := c.Value()
			d.Result(n, result.Get("tool_use_id").Text(), at, func(c *thread.Call) {
				c.Output = thread.Clip(storedOutput(result.Get("content")))
				c.Failed = !result.Get("status").Is("Success") || failed(result.Get("content"))
			})
		}
	}
	for _, kind := range []string{"Prompt", "CancelledToolUses"} {
		if prompt := strings.TrimSpace(content.Get(kind, "prompt").Text()); prompt != "" {
			d.Prompt(n, thread.Message{Text: prompt, Time: at})
		}
	}
}

// answered decodes an answer of the model, nothing if the request has none yet.
func (d *decodeStored) answered(n int, answer jsonl.Value, model string, at time.Time) {
	for _, kind := range []string{"Response", "ToolUse"} {
		v := answer.Get(kind)
		if v.Kind() != jsonl.Object {
			continue
		}
		d.At(at)
		words := strings.TrimSpace(v.Get("content").Text())
		d.Answer(thread.Message{ID: v.Get("message_id").Text(), Text: words, Model: model, Time: at})
		d.Infer(thread.Completed, at, "an answer without calls so far, turn %d", n)
		d.Facts.State.Waiting = thread.WaitingFor(words)
		for c := v.Get("tool_uses").Elements(); c.Next(); {
			use := c.Value()
			d.Called(n, thread.Call{ID: use.Get("id").Text(), Name: use.Get("name").Text(), Time: at},
				use.Get("args"), nil)
		}
	}
}

// storedOutput returns the content of a result: texts and JSON.
func storedOutput(content jsonl.Value) string {
	var parts []string
	for c := content.Elements(); c.Next(); {
		if text := c.Value().Get("Text"); text.Kind() == jsonl.String {
			parts = append(parts, text.Text())
			continue
		}
		parts = append(parts, c.Value().Get("Json").Plain())
	}
	return strings.Join(parts, "\n")
}

// failed reports whether a command in the content of a result failed.
func failed(content jsonl.Value) bool {
	for c := content.Elements(); c.Next(); {
		if status := c.Value().Get("Json", "exit_status").Text(); status != "" && status != "0" {
			return true
		}
	}
	return false
}
