// Package cursor reads the threads of Cursor: those of its editor and those of
// its command line agent.
//
// The editor keeps threads as JSON values in the table cursorDiskKV of the SQLite
// database state.vscdb: composerData:ID has the order of the messages, and
// bubbleId:ID:MESSAGE each of them. Both the editor and the command line agent write
// transcripts of agents to projects/PROJECT/agent-transcripts in ~/.cursor, a file of
// lines without times, models and usage. The command line agent also writes
// chats/PROJECT/ID/store.db, with a blob for each message.
//
// The tool is closed; docs/threads.md lists the facts this package relies on, which
// were found in published transcripts and in public programs that read the database.
package cursor

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

const (
	name = "cursor"
	env  = "CURSOR_DATA_DIR"
	ext  = ".jsonl"
)

// Driver returns the driver of Cursor.
func Driver() thread.Driver {
	return thread.Driver{
		Name: name, Env: env, ID: thread.UUIDs, Roots: roots,
		Open: engine.Open(engine.Program{Name: name, Env: env, Find: find}),
	}
}

// roots returns the directory of the command line agent, and those of the editor.
func roots(getenv func(string) string, home string) []string {
	return []string{
		cmp.Or(getenv(env), getenv("CURSOR_CONFIG_DIR"), filepath.Join(home, ".cursor")),
		filepath.Join(home, ".config", "Cursor", "User", "globalStorage"),
		filepath.Join(home, "Library", "Application Support", "Cursor", "User", "globalStorage"),
		filepath.Join(home, "AppData", "Roaming", "Cursor", "User", "globalStorage"),
	}
}

// find finds the threads of the editor, then the transcripts, then the databases
// of the command line agent.
func find(ctx context.Context, w *thread.Walk, roots []string) (list []*engine.Found, err error) {
	for _, root := range roots {
		if path := filepath.Join(root, "state.vscdb"); w.Stat(path) != nil {
			found, failed := composers(ctx, path)
			list, err = append(list, found...), errors.Join(err, failed)
		}
	}
	for _, root := range roots {
		list = append(list, transcripts(w, filepath.Join(root, "projects"))...)
	}
	for _, root := range roots {
		list = append(list, stores(w, filepath.Join(root, "chats"))...)
	}
	return list, err
}

// transcripts finds the transcripts of agents and subagents.
func transcripts(w *thread.Walk, projects string) (list []*engine.Found) {
	for _, e := range w.ReadDir(projects) {
		dir := filepath.Join(projects, e.Name(), "agent-transcripts")
		for _, e := range w.ReadDir(dir) {
			stem, flat := strings.CutSuffix(e.Name(), ext)
			switch path := filepath.Join(dir, e.Name()); {
			case flat && thread.IsRegular(dir, e):
				list = append(list, transcript(stem, path, ""))
			case !flat && !e.Type().IsRegular():
				if main := filepath.Join(path, e.Name()+ext); w.Stat(main) != nil {
					list = append(list, transcript(e.Name(), main, ""))
				}
				subagents := filepath.Join(path, "subagents")
				for _, s := range w.ReadDir(subagents) {
					if id, ok := strings.CutSuffix(s.Name(), ext); ok && thread.IsRegular(subagents, s) {
						list = append(list, transcript(id, filepath.Join(subagents, s.Name()), e.Name()))
					}
				}
			}
		}
	}
	return list
}

func transcript(id, path, parent string) *engine.Found {
	f := &engine.Found{ID: thread.LowerUUID(id), Path: path, Parent: thread.LowerUUID(parent),
		Open: func(_ *thread.Walk, t *thread.Thread) {
			t.Reader = &engine.Reader{Source: engine.Lines(path), New: func(s *engine.Scan) engine.Decoder {
				return &decode{Scan: s}
			}}
		}}
	if parent != "" {
		f.Proof = []string{"the transcript is in the directory of its parent"}
	}
	return f
}
