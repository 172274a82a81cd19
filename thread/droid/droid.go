// Package droid reads the sessions of Factory Droid.
//
// A session is sessions/PROJECT/ID.jsonl in ~/.factory, with one record per line. Its
// ID.settings.json has the tokens of the session. A subagent is a session whose first
// record names the session and the call that started it.
//
// The messages have the form of Anthropic's API. The members of the first record are
// described by the public Factory-AI/droid-sdk-typescript; docs/threads.md lists the
// facts this package relies on.
package droid

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

const (
	name = "droid"
	env  = "HOME" // the tool has no variable of its own
	ext  = ".jsonl"
)

// Driver returns the driver of Factory Droid.
func Driver() thread.Driver {
	return thread.Driver{
		Name: name, Env: env, ID: thread.UUIDs,
		Roots:  func(_ func(string) string, home string) []string { return []string{filepath.Join(home, ".factory")} },
		Beside: []string{"*.settings.json"},
		Open:   engine.Open(engine.Program{Name: name, Env: env, Find: find}),
	}
}

// find finds the sessions in sessions and in its subdirectories.
func find(_ context.Context, w *thread.Walk, roots []string) (list []*engine.Found, err error) {
	for _, root := range roots {
		sessions := filepath.Join(root, "sessions")
		dirs := []string{sessions}
		for _, e := range w.ReadDir(sessions) {
			if !e.Type().IsRegular() {
				dirs = append(dirs, filepath.Join(sessions, e.Name()))
			}
		}
		for _, dir := range dirs {
			for _, e := range w.ReadDir(dir) {
				if stem, ok := strings.CutSuffix(e.Name(), ext); ok && thread.IsRegular(dir, e) {
					list = append(list, found(w, thread.LowerUUID(stem), filepath.Join(dir, e.Name())))
				}
			}
		}
	}
	return list, nil
}

const (
	headLen     = 16 << 10
	settingsLen = 256 << 10
)

// found reads the first record of a session, which shows whether it is a subagent.
func found(w *thread.Walk, id, path string) *engine.Found {
	line, _, _ := bytes.Cut(w.Head(path, headLen), []byte("\n"))
	start := jsonl.Value(bytes.Clone(line))
	if !start.Get("type").Is("session_start") {
		start = nil
	}
	f := &engine.Found{ID: id, Path: path, Parent: thread.LowerUUID(start.Get("callingSessionId").Text())}
	if f.Parent == id {
		f.Parent = ""
	}
	if f.Parent != "" {
		f.Alias = start.Get("callingToolUseId").Text()
		f.Proof = []string{"session_start has the ID of the session that started it"}
	}
	f.Open = func(w *thread.Walk, t *thread.Thread) {
		t.Title, t.Cwd = start.Get("title").Text(), start.Get("cwd").Text()
		if recorded := thread.LowerUUID(start.Get("id").Text()); recorded != id && recorded != "" {
			t.WarnID(id, recorded)
		}
		settings := strings.TrimSuffix(path, ext) + ".settings.json"
		t.Reader = &engine.Reader{Source: engine.Lines(path), New: func(s *engine.Scan) engine.Decoder {
			return &decode{Scan: s, settings: readSettings(settings)}
		}}
	}
	return f
}

// readSettings reads the settings of a session, nil if they can't be read.
func readSettings(path string) jsonl.Value {
	f, err := thread.OpenFile(path)
	if err != nil {
		return nil // the session has no usage
	}
	defer f.Close()
	b := make([]byte, min(f.Size(), settingsLen))
	n, _ := f.ReadAt(b, 0)
	return b[:n]
}
