package cursor

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

const (
	composer = "composerData:"
	bubble   = "bubbleId:"
)

var composerTable = engine.Table{
	Name: "cursorDiskKV", Need: []string{"key", "value"},
	Where: "key >= 'composerData:' AND key < 'composerData;' AND value IS NOT NULL", Order: "rowid DESC",
}

// bubbles are the messages of a thread. The argument is a JSON array of their keys
// in order.
var bubbles = engine.Table{
	Name: "cursorDiskKV", Need: []string{"key", "value"},
	IDs: "SELECT m.rowid FROM json_each(?) o JOIN cursorDiskKV m ON m.key = o.value GROUP BY m.rowid ORDER BY min(o.id)",
}

// A thread is the metadata of a thread of the editor.
type conversation struct {
	title, cwd, model, status string
	created                   time.Time
	order                     []string // IDs of the messages
	inline                    []string // messages of old versions
}

// composers finds the threads in the database of the editor.
func composers(ctx context.Context, path string) (list []*engine.Found, err error) {
	err = engine.Database(path).Each(ctx, composerTable, nil, func(row jsonl.Value) {
		id := strings.TrimPrefix(row.Get("key").Text(), composer)
		v := jsonl.Value(row.Get("value").Text())
		if id == "" || v.Kind() != jsonl.Object {
			return
		}
		c := read(v)
		if c.order == nil && c.inline == nil && c.title == "" {
			return // an empty tab
		}
		f := &engine.Found{ID: thread.LowerUUID(id), Path: path,
			Parent:   thread.LowerUUID(v.Get("subagentInfo", "parentComposerId").Text()),
			Modified: v.Get("lastUpdatedAt").Timestamp()}
		if f.Parent == f.ID {
			f.Parent = ""
		}
		if f.Parent != "" {
			f.Proof = []string{"composerData has the ID of the parent"}
			f.Alias = v.Get("subagentInfo", "toolCallId").Text()
		}
		f.Open = func(_ *thread.Walk, t *thread.Thread) { c.open(t, id) }
		list = append(list, f)
	})
	return list, err
}

// read reads the metadata of a thread.
func read(v jsonl.Value) conversation {
	c := conversation{
		title: v.Get("name").Text(), model: v.Get("modelConfig", "modelName").Text(), status: v.Get("status").Text(),
		created: v.Get("createdAt").Timestamp(),
	}
	uri := v.Get("workspaceIdentifier", "uri")
	c.cwd = cmp.Or(uri.Get("fsPath").Text(), uri.Get("path").Text())
	for h := v.Get("fullConversationHeadersOnly").Elements(); h.Next(); {
		c.order = append(c.order, h.Value().Get("bubbleId").Text())
	}
	for m := v.Get("conversation").Elements(); m.Next() && c.order == nil; {
		c.inline = append(c.inline, string(m.Value()))
	}
	return c
}

func (c conversation) open(t *thread.Thread, id string) {
	t.Title, t.Cwd, t.Started = c.title, c.cwd, c.created
	first := bubble + id + ":"
	db, end := engine.Database(t.Source), first[:len(first)-1]+";"
	part := &engine.Part{Database: db, Rows: []engine.Rows{
		{Table: bubbles.Name, Key: "key", Where: "key = ?1 OR key >= ?2 AND key < ?3",
			Args: []any{composer + id, first, end}},
	}}
	source := engine.Source(c.messages)
	if c.order != nil {
		keys := make([]string, len(c.order))
		for i, message := range c.order {
			keys[i] = first + message
		}
		list, _ := json.Marshal(keys) // strings have no error
		source = db.Rows(bubbles, string(list))
	}
	t.Reader = &engine.Reader{Unit: "message", Source: source, Part: part, New: func(s *engine.Scan) engine.Decoder {
		return &decodeBubbles{Scan: s, conversation: c}
	}}
}

// messages is the source of the messages of old versions.
func (c conversation) messages(_ context.Context, _ *engine.Scan, use func(int, jsonl.Value) bool) error {
	for i, m := range c.inline {
		if !use(i+1, jsonl.Value(m)) {
			break
		}
	}
	return nil
}

// A decodeBubbles decodes the messages of a thread of the editor.
type decodeBubbles struct {
	*engine.Scan
	conversation conversation
}

// Record implements engine.Decoder.
func (d *decodeBubbles) Record(n int, v jsonl.Value) {
	if value := v.Get("value").Text(); value != "" {
		v = jsonl.Value(value)
	}
	at := v.Get("createdAt").Timestamp()
	d.At(at)
	text := strings.TrimSpace(v.Get("text").Text())
	switch v.Get("type").Int() {
	case 1:
		d.Prompt(n, thread.Message{ID: v.Get("bubbleId").Text(), Text: text, Time: at})
	case 2:
		d.answer(n, v, text, at)
	}
}

// answer decodes a message of the model: text, thinking, or one call with its result.
func (d *decodeBubbles) answer(n int, v jsonl.Value, text string, at time.Time) {
	d.Timeline.AddThinking(v.Get("thinking", "text").Text())
	model := cmp.Or(v.Get("modelInfo", "modelName").Text(), d.conversation.model)
	said(d.Scan, n, thread.Message{ID: v.Get("bubbleId").Text(), Text: text, Model: model, Time: at})
	if tool := v.Get("toolFormerData"); tool.Get("name").Text() != "" {
		d.call(n, tool, at)
	}
	var count [2]int64
	v.Get("tokenCount").Counts([]string{"inputTokens", "outputTokens"}, count[:])
	if t := (thread.Tokens{Input: count[0], Output: count[1], Calls: 1}); t.Total() > 0 {
		d.Meter.CheckCounts(v.Get("tokenCount"))
		d.Meter.Add("", model, t, false)
		d.Timeline.AddUsage(t)
	}
}

// call decodes a call with its result.
func (d *decodeBubbles) call(n int, tool jsonl.Value, at time.Time) {
	input := tool.Get("rawArgs")
	if input.Text() == "" {
		input = tool.Get("params")
	}
	c := thread.Call{ID: tool.Get("toolCallId").Text(), Name: tool.Get("name").Text(), Time: at,
		Input: thread.Clip(input.Plain())}
	status := tool.Get("status").Text()
	waiting := ""
	if status == "pending" || strings.Contains(c.Name, "ask_question") && status != "completed" {
		waiting = "a decision about a call of " + c.Name
	}
	d.Call(n, c, waiting)
	switch status {
	case "completed", "error", "cancelled", "rejected":
		d.Result(n, c.ID, at, func(c *thread.Call) {
			c.Output, c.Failed = thread.Clip(tool.Get("result").Plain()), status != "completed"
		})
	}
}

// Finish implements engine.Decoder.
func (d *decodeBubbles) Finish() {
	switch d.conversation.status {
	case "aborted":
		d.State(thread.Errored, d.Facts.Last, "interrupted: composerData has status aborted")
	case "generating":
		d.State(thread.Running, d.Facts.Last, "composerData has status generating")
	case "completed":
		if d.Facts.State.Source == thread.Inferred {
			waiting := d.Facts.State.Waiting
			d.State(thread.Completed, d.Facts.State.At, "composerData has status completed")
			d.Facts.State.Waiting = waiting
		}
	}
	d.Gaps = []thread.Gap{{N: 1, Reason: "cached tokens are not recorded, and newer versions record no tokens"}}
}
