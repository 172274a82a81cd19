package opencode_test

import (
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/threadtest"
)

// TestDefects holds what other readers of this format get wrong: each database
// with what must be read of it. Nothing is copied into the temporary directory.
func TestDefects(t *testing.T) {
	long := strings.Repeat("wörter ", 300_000)
	open := obj{"role": "assistant", "modelID": "model-1", "time": obj{"created": begun + 2000}}
	for name, tt := range map[string]struct {
		book     *book
		then     string // SQL
		said     []string
		status   thread.Status
		warnings int
	}{
		"what is being answered is completed": {
			book: session(parentID, "", 0).user("one").add(open, obj{"type": "step-start"}, said("tw")),
			said: []string{"user: one", "assistant: tw"}, status: thread.Running,
		},
		"what failed once stays failed": {
			book: session(parentID, "", 0).user("one").add(obj{"role": "assistant", "error": obj{"name": "APIError"}}).step("stop", one, said("two")),
			said: []string{"user: one", "assistant: two"}, status: thread.Completed,
		},
		"what the tool puts into a message is the user's": {
			book: session(parentID, "", 0).user("one", obj{"type": "text", "text": "Called the Read tool", "synthetic": true}),
			said: []string{"user: one"}, status: thread.Running,
		},
		"a version without parents and directories fails the read": {
			book: session(parentID, "", 0).user("one"), then: "DROP INDEX session_parent_idx; ALTER TABLE session DROP COLUMN parent_id; ALTER TABLE session DROP COLUMN directory",
			said: []string{"user: one"}, status: thread.Running,
		},
		"a row that is no JSON fails the read": {
			book: session(parentID, "", 0).user("one").user("two").user("three"), then: "UPDATE message SET data = '{' WHERE id LIKE '%_001'",
			said: []string{"user: one", "user: three"}, status: thread.Running, warnings: 1,
		},
		"a bad byte fails the read": {
			book: session(parentID, "", 0).user("on@e"), then: "UPDATE part SET data = CAST(replace(data, '@', x'ff') AS TEXT)",
			said: []string{"user: on\uFFFDe"}, status: thread.Running,
		},
		"a long row fails the read": {
			book: session(parentID, "", 0).user(long), said: []string{"user: " + strings.TrimSpace(long)}, status: thread.Running,
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, scratch := t.TempDir(), t.TempDir()
			path := filepath.Join(dir, "opencode.db")
			write(t, path, false, tt.book)
			alter(t, path, tt.then)
			t.Setenv("TMPDIR", scratch)
			threadtest.CheckUnchanged(t, scratch)
			threadtest.CheckUnchanged(t, dir)
			p := provider(t, dir)
			said, th := threadtest.CheckThread(t, p, parentID), threadtest.Load(t, p, parentID)
			if !slices.Equal(said, tt.said) || th.State.Status != tt.status || len(th.Warnings) != tt.warnings {
				t.Errorf("got %.200q, %+v, %q, want %.200q, %s, %d warnings", said, th.State, th.Warnings, tt.said, tt.status, tt.warnings)
			}
		})
	}
}

// alter changes a database and leaves nothing beside it.
func alter(t *testing.T, path, query string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err == nil {
		_, err = db.Exec(query + "; PRAGMA journal_mode = DELETE")
	}
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}
