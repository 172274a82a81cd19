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

	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// Driver returns the driver of Cursor. The thread of the editor is preferred, then the transcript.
func Driver() thread.Driver {
	const name, env, agents = "cursor", "CURSOR_DATA_DIR", "projects/*/agent-transcripts/"
	return thread.Driver{
		Name: name, Env: env, ID: thread.UUIDs,
		Roots: func(getenv func(string) string, home string) []string {
			editor := filepath.Join("Cursor", "User", "globalStorage")
			return []string{
				cmp.Or(getenv(env), getenv("CURSOR_CONFIG_DIR"), filepath.Join(home, ".cursor")),
				filepath.Join(home, ".config", editor), filepath.Join(home, "Library", "Application Support", editor),
				filepath.Join(home, "AppData", "Roaming", editor),
			}
		},
		Open: engine.Open(engine.Program{Name: name, Env: env, Find: find, Open: openTranscript, Stores: []engine.Store{
			{Pattern: agents + "{id}.jsonl", Rank: 1},
			{Pattern: agents + "{id}/{id}.jsonl", Rank: 1},
			{Pattern: agents + "{parent}/subagents/{id}.jsonl", Rank: 1,
				Proof: "the transcript is in the directory of its parent"},
			{Pattern: "chats/*/{id}/store.db", Rank: 2, Open: openStore},
		}}),
	}
}

// find finds the threads of the editor.
func find(ctx context.Context, w *thread.Walk, roots []string) (list []*engine.Found, err error) {
	for _, root := range roots {
		if path := filepath.Join(root, "state.vscdb"); w.Stat(path) != nil {
			found, failed := composers(ctx, path)
			list, err = append(list, found...), errors.Join(err, failed)
		}
	}
	return list, err
}

func openTranscript(_ *thread.Walk, _ *engine.Found, t *thread.Thread) {
	t.Reader = &engine.Reader{Source: engine.Lines(t.Source), New: func(s *engine.Scan) engine.Decoder {
		return &decode{Scan: s}
	}}
}
