// Package cline reads the sessions of Cline since version 3, and the tasks of its editor
// extension before.
//
// A session is sessions/ID in the data directory of the tool: ID.json with its metadata
// and status, and ID.messages.json, one JSON document that is rewritten with every change.
// The messages of a subagent are in a file of their own beside them.
//
// A task is tasks/ID in the storage of the extension. Its ui_messages.json is one JSON
// array of what was shown to the user, which is rewritten with every change; it has the
// usage of each request.
//
// The messages of a task are described by the public cline/cline
// (apps/vscode/src/shared/ExtensionMessage.ts); docs/threads.md lists the facts this
// package relies on.
package cline

import (
	"context"
	"path/filepath"
	"strings"
	"sync"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// Driver returns the driver of Cline.
func Driver() thread.Driver {
	const name, env = "cline", "HOME" // it has no variable of its own
	return thread.Driver{
		Name: name, Env: env, ID: id,
		Roots:  func(_ func(string) string, home string) []string { return roots(home) },
		Beside: []string{"history_item.json"},
		Open: engine.Open(engine.Program{Name: name, Env: env, Find: find, Open: openSession, Stores: []engine.Store{
			{Pattern: "sessions/{parent}/{id}.messages.json", Proof: "the messages are in the directory of the session",
				Set: setSession},
		}}),
	}
}

// id reports whether s is a UUID or a number of milliseconds, in newer versions with
// random characters, and before it agent_ for a subagent.
func id(s string) (string, bool) {
	const digits = len("1755599682123")
	number, random, isSession := strings.Cut(strings.TrimPrefix(s, agentPrefix), "_")
	known := len(number) == digits && strings.Trim(number, "0123456789") == "" && (random != "" || !isSession)
	return thread.LowerUUID(s), thread.IsUUID(s) || known
}

// roots returns the directory of Cline and its storage in each editor that can run it.
func roots(home string) []string {
	const extension = "saoudrizwan.claude-dev"
	dirs := []string{filepath.Join(home, ".cline", "data")}
	for _, config := range []string{".config", "Library/Application Support", "AppData/Roaming"} {
		for _, editor := range []string{"Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"} {
			dirs = append(dirs, filepath.Join(home, filepath.FromSlash(config), editor, "User", "globalStorage", extension))
		}
	}
	return append(dirs, filepath.Join(home, ".vscode-server", "data", "User", "globalStorage", extension))
}

const (
	messages = "ui_messages.json"
	itemLen  = 256 << 10 // bytes of a history_item.json that are read
	listLen  = 8 << 20   // bytes of a taskHistory.json that are read
)

func find(_ context.Context, w *thread.Walk, roots []string) (list []*engine.Found, err error) {
	for _, root := range roots {
		known := sync.OnceValue(func() map[string]task { return history(filepath.Join(root, "state", "taskHistory.json")) })
		tasks := filepath.Join(root, "tasks")
		for _, e := range w.ReadDir(tasks) {
			dir := filepath.Join(tasks, e.Name())
			if e.Type().IsRegular() || w.Stat(filepath.Join(dir, messages)) == nil {
				continue
			}
			list = append(list, &engine.Found{ID: thread.LowerUUID(e.Name()), Path: filepath.Join(dir, messages),
				Open: func(w *thread.Walk, t *thread.Thread) { open(w, t, known) }})
		}
	}
	return list, nil
}

// open sets the metadata of a task from the file of the task, or from the list of all
// tasks.
func open(w *thread.Walk, t *thread.Thread, known func() map[string]task) {
	if path := filepath.Join(filepath.Dir(t.Source), "history_item.json"); w.Stat(path) != nil {
		item := jsonl.Value(w.Head(path, itemLen))
		t.Title, t.Cwd = firstLine(item.Get("task").Text()), item.Get("workspace").Text()
	} else {
		t.Title, t.Cwd = known()[t.ID].title, known()[t.ID].cwd
	}
	t.Reader = &engine.Reader{Unit: "message", Source: engine.Array(t.Source),
		New: func(s *engine.Scan) engine.Decoder { return &decode{Scan: s} }}
}

// A task is what the list of all tasks has of one.
type task struct{ title, cwd string }

// history reads the list of all tasks, which may be missing.
func history(path string) map[string]task {
	list := map[string]task{}
	for c := jsonl.Value(thread.NewWalk(context.Background()).Head(path, listLen)).Elements(); c.Next(); {
		v := c.Value()
		list[thread.LowerUUID(v.Get("id").Text())] = task{
			firstLine(v.Get("task").Text()), v.Get("cwdOnTaskInitialization").Text()}
	}
	return list
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
