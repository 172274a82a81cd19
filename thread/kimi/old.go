package kimi

import (
	"path/filepath"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// openOld sets the metadata of a session of Kimi CLI.
func openOld(w *thread.Walk, t *thread.Thread) {
	state := jsonl.Value(w.Head(filepath.Join(filepath.Dir(t.Source), "state.json"), stateLen))
	t.Title, t.Archived = state.Get("custom_title").Text(), state.Get("archived").True()
	t.Reader = &engine.Reader{Source: engine.Lines(t.Source), New: func(s *engine.Scan) engine.Decoder {
		return &decodeOld{s}
	}}
}

// A decodeOld decodes the context of a session, which has no times.
type decodeOld struct{ *engine.Scan }

// Record implements engine.Decoder.
func (d *decodeOld) Record(n int, v jsonl.Value) {
	content := v.Get("content")
	switch string(v.Get("role").Raw()) {
	case "user":
		d.Prompt(n, thread.Message{Text: engine.Text(content)})
	case "assistant":
		for c := content.Elements(); c.Next(); {
			d.Timeline.AddThinking(c.Value().Get("think").Text())
		}
		text := engine.Text(content)
		d.Timeline.Add(thread.Message{Role: thread.Assistant, Text: text})
		d.Infer(thread.Completed, d.Facts.Last, "an answer without calls, line %d", n)
		d.Facts.State.Waiting = thread.WaitingFor(text)
		for c := v.Get("tool_calls").Elements(); c.Next(); {
			f := c.Value().Get("function")
			d.Called(n, thread.Call{ID: c.Value().Get("id").Text(), Name: f.Get("name").Text()},
				f.Get("arguments"), nil)
		}
	case "tool":
		d.Result(n, v.Get("tool_call_id").Text(), d.Facts.Last,
			func(c *thread.Call) { c.Output = thread.Clip(engine.Output(content)) })
	}
}
