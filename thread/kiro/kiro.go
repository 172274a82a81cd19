// Package kiro reads the sessions of Kiro CLI.
//
// A session is sessions/cli/ID.jsonl in the home directory of the tool, ~/.kiro or
// $KIRO_HOME, with one record per prompt, answer, and list of results. Only prompts
// have a time. One of the tool's engines keeps threads in the SQLite database data.sqlite3 in
// kiro-cli of the user's data directory instead, one JSON value for each.
//
// The tool is closed; docs/threads.md lists the facts this package relies on, which
// were found in published sessions.
package kiro

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// Driver returns the driver of Kiro CLI.
func Driver() thread.Driver {
	const name, env = "kiro", "KIRO_HOME"
	return thread.Driver{
		Name: name, Env: env, ID: thread.UUIDs, Database: databaseName, Beside: []string{"*.json"},
		Roots: func(getenv func(string) string, home string) []string {
			return append(thread.Home(env, ".kiro")(getenv, home), thread.DataHome(getenv, home, "kiro-cli"),
				filepath.Join(home, "Library", "Application Support", "kiro-cli"))
		},
		Open: engine.Open(engine.Program{Name: name, Env: env, Find: find,
			Stores: []engine.Store{{Pattern: "sessions/cli/{id}.jsonl", Open: open}}}),
	}
}

// find finds the threads in databases.
func find(ctx context.Context, w *thread.Walk, roots []string) (list []*engine.Found, err error) {
	for _, root := range roots {
		if path := filepath.Join(root, databaseName); w.Stat(path) != nil {
			found, failed := database(ctx, path)
			list, err = append(list, found...), errors.Join(err, failed)
		}
	}
	return list, err
}

const (
	headLen = 64 << 10
	sideLen = 256 << 10
)

// open sets the metadata from the first record, and from the file beside it.
func open(w *thread.Walk, t *thread.Thread) {
	line, _, _ := bytes.Cut(w.Head(t.Source, headLen), []byte("\n"))
	t.Started = jsonl.Value(line).Get("data", "meta", "timestamp").Timestamp()
	if path := strings.TrimSuffix(t.Source, "l"); w.Stat(path) != nil {
		side := jsonl.Value(w.Head(path, sideLen))
		t.Title, t.Cwd = side.Get("title").Text(), side.Get("cwd").Text()
	}
	t.Reader = &engine.Reader{Source: engine.Lines(t.Source), New: func(s *engine.Scan) engine.Decoder {
		return &decode{Scan: s}
	}}
}

// A decode decodes the records of a session.
type decode struct{ *engine.Scan }

// Record implements engine.Decoder.
func (d *decode) Record(n int, v jsonl.Value) {
	stated := v.Get("data", "meta", "timestamp").Timestamp()
	d.At(stated)
	at := stated
	if at.IsZero() {
		at = d.Facts.Last
	}
	data := v.Get("data")
	content := data.Get("content")
	switch string(v.Get("kind").Raw()) {
	case "Prompt":
		d.Prompt(n, thread.Message{ID: data.Get("message_id").Text(), Text: text(content), Time: stated})
	case "AssistantMessage":
		d.Answered(n, thread.Message{ID: data.Get("message_id").Text(), Text: text(content)})
		d.Facts.State.At = at
		for c := content.Elements(); c.Next(); {
			if use := c.Value().Get("data"); c.Value().Get("kind").Is("toolUse") {
				d.Called(n, thread.Call{ID: use.Get("toolUseId").Text(), Name: use.Get("name").Text()},
					use.Get("input"), nil)
			}
		}
	case "ToolResults":
		d.results(n, content, at)
	}
}

// results decodes the results of calls.
func (d *decode) results(n int, content jsonl.Value, at time.Time) {
	for c := content.Elements(); c.Next(); {
		result := c.Value().Get("data")
		d.Result(n, result.Get("toolUseId").Text(), at, func(c *thread.Call) {
			c.Output = thread.Clip(output(result.Get("content")))
			c.Failed = !result.Get("status").Is("success")
			for part := result.Get("content").Elements(); part.Next(); {
				if status := part.Value().Get("data", "exit_status").Text(); status != "" && status != "exit status: 0" {
					c.Failed = true
				}
			}
		})
	}
}

// text returns the text of a content.
func text(content jsonl.Value) string {
	var parts []string
	for c := content.Elements(); c.Next(); {
		switch string(c.Value().Get("kind").Raw()) {
		case "text":
			if t := strings.TrimSpace(c.Value().Get("data").Text()); t != "" {
				parts = append(parts, t)
			}
		case "image":
			parts = append(parts, "[image]")
		}
	}
	return strings.Join(parts, "\n\n")
}

// output returns the content of a result: text, or JSON.
func output(content jsonl.Value) string {
	var parts []string
	for c := content.Elements(); c.Next(); {
		parts = append(parts, c.Value().Get("data").Plain())
	}
	return strings.Join(parts, "\n")
}
