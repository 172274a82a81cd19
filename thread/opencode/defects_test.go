package opencode_test

import (
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
)

// TestDefects has a database for each known mistake of other readers. Nothing may be
// copied to the temporary directory.
func TestDefects(t *testing.T) {
	long := strings.Repeat("wörter ", 300_000)
	open := obj{"role": "assistant", "modelID": "model-1", "time": obj{"created": started + 2000}}
	for name, tt := range map[string]struct {
		book     *book
		then     string // SQL
		said     []string
		status   thread.Status
		warnings int
	}{
		"an open answer is not the end": {
			book: session(parentID, "", 0).user("one").add(open, obj{"type": "step-start"}, said("tw")),
			said: []string{"user: one", "assistant: tw"}, status: thread.Running,
		},
		"an earlier error is not the end": {
			book: session(parentID, "", 0).user("one").add(obj{"role": "assistant", "error": obj{"name": "APIError"}}).
				step("stop", one, said("two")),
			said: []string{"user: one", "assistant: two"}, status: thread.Completed,
		},
		"text of the tool": {
			book: session(parentID, "", 0).user("one", obj{"type": "text", "text": "Called the Read tool", "synthetic": true}),
			said: []string{"user: one"}, status: thread.Running,
		},
		"missing columns": {
			book: session(parentID, "", 0).user("one"), then: "DROP INDEX session_parent_idx; ALTER TABLE session DROP COLUMN " +
				"parent_id; ALTER TABLE session DROP COLUMN directory",
			said: []string{"user: one"}, status: thread.Running,
		},
		"malformed row": {
			book: session(parentID, "", 0).user("one").user("two").user("three"),
			then: "UPDATE message SET data = '{' WHERE id LIKE '%_001'",
			said: []string{"user: one", "user: three"}, status: thread.Running, warnings: 1,
		},
		"invalid byte": {
			book: session(parentID, "", 0).user("on@e"), then: "UPDATE part SET data = CAST(replace(data, '@', x'ff') AS TEXT)",
			said: []string{"user: on\uFFFDe"}, status: thread.Running,
		},
		"long row": {
			book: session(parentID, "", 0).user(long), said: []string{"user: " + strings.TrimSpace(long)},
			status: thread.Running,
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
				t.Errorf("got %.200q, %+v, %q, want %.200q, %s, %d warnings", said, th.State, th.Warnings, tt.said, tt.status,
					tt.warnings)
			}
		})
	}
}

// alter modifies a database and leaves no file beside it.
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

// TestAgentName checks that a subagent has the title of its session as its name.
func TestAgentName(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "opencode.db")
	write(t, path, false, session(parentID, "", 0).user("one"), session(doneID, parentID, 1000).user("two"))
	alter(t, path, "UPDATE session SET title = 'Review design (@general subagent)' WHERE parent_id IS NOT NULL")
	p := provider(t, dir)
	agents, err := p.Agents(t.Context(), threadtest.Load(t, p, parentID))
	if err != nil || len(agents) != 1 || agents[0].Name != "Review design (@general subagent)" {
		t.Errorf("got %+v, %v", agents, err)
	}
}
