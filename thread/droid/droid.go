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
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// Driver returns the driver of Factory Droid.
func Driver() thread.Driver {
	const name, env = "droid", "HOME" // the tool has no variable of its own
	return thread.Driver{
		Name: name, Env: env, ID: thread.UUIDs,
		Roots:  func(_ func(string) string, home string) []string { return []string{filepath.Join(home, ".factory")} },
		Beside: []string{"*.settings.json"},
		Open: engine.Open(engine.Program{Name: name, Env: env, Head: head, HeadLen: headLen, Open: open,
			Stores: []engine.Store{{Pattern: "sessions/{id}.jsonl"}, {Pattern: "sessions/*/{id}.jsonl"}}}),
	}
}

const (
	headLen     = 16 << 10
	settingsLen = 256 << 10
)

// head reads the first record of a session, which shows whether it is a subagent.
func head(_ *thread.Walk, f *engine.Found, start jsonl.Value) {
	line, _, _ := bytes.Cut(start, []byte("\n"))
	start = bytes.Clone(line)
	if !start.Get("type").Is("session_start") {
		start = nil
	}
	f.Head = start
	if parent := thread.LowerUUID(start.Get("callingSessionId").Text()); parent != "" && parent != f.ID {
		f.Parent, f.Alias = parent, start.Get("callingToolUseId").Text()
		f.Proof = []string{"session_start has the ID of the session that started it"}
	}
}

func open(_ *thread.Walk, f *engine.Found, t *thread.Thread) {
	start := f.Head.(jsonl.Value)
	t.Title, t.Cwd = start.Get("title").Text(), start.Get("cwd").Text()
	if recorded := thread.LowerUUID(start.Get("id").Text()); recorded != f.ID && recorded != "" {
		t.WarnID(f.ID, recorded)
	}
	settings := strings.TrimSuffix(f.Path, filepath.Ext(f.Path)) + ".settings.json"
	t.Reader = &engine.Reader{Source: engine.Lines(f.Path), New: func(s *engine.Scan) engine.Decoder {
		return &decode{Scan: s, settings: readSettings(settings)}
	}}
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
