package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace/sessions"
)

// manyWorks publishes files of many agents, each in work of its own, and removes the files.
func manyWorks(t *testing.T, w *Workspace, dir string) {
	t.Helper()
	for n := range 24 {
		name := fmt.Sprint(n, ".md")
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644))
		by := w.As(CallerFrom(dir, func(string) string { return "" }, handoff.Producer{Harness: "codex",
			Agent: fmt.Sprint("agent-", n%8), Session: fmt.Sprint("session-", n), WorkID: fmt.Sprint("turn-", n)}))
		_, err := by.Publish(t.Context(), handoff.Draft{Path: name, Channel: "design"})
		must(t, err)
		must(t, os.Remove(filepath.Join(dir, name)))
	}
}

// TestQueriesOfList lists few and many artifacts whose files are missing, each of work of its own.
// Both take as many queries of the index.
func TestQueriesOfList(t *testing.T) {
	dir := testWorkspace(t)
	w := openDir(t, dir)
	manyWorks(t, w, dir)
	queries := func(limit int) int64 {
		before := sqlite.Queries.Load()
		page, err := w.List(t.Context(), ListOptions{Limit: limit})
		if err != nil || len(page.Artifacts) != limit || page.Artifacts[0].Target != handoff.Missing {
			t.Fatalf("got %d artifacts and %v, want %d", len(page.Artifacts), err, limit)
		}
		return sqlite.Queries.Load() - before
	}
	if few, many := queries(4), queries(20); few != many {
		t.Errorf("got %d queries for 20 artifacts, %d for 4", many, few)
	}
}

// TestRowsOfAgent lists the artifacts of an agent: where transcripts could show another agent, and no
// record names one, the index reads few more rows.
func TestRowsOfAgent(t *testing.T) {
	dir := testWorkspace(t)
	w := openDir(t, dir)
	manyWorks(t, w, dir)
	o := optionsFor(dir)
	o.Threads = thread.NewSet(all.Drivers(), o.Getenv, dir)
	attributed, err := Open(dir, o)
	must(t, err)
	defer attributed.Close()
	rows := func(w *Workspace) int64 {
		before := sqlite.Rows.Load()
		page, err := w.List(t.Context(),
			ListOptions{Filter: Filter{Producer: map[string]string{"agent": "agent-3"}}, Limit: 2})
		if err != nil || len(page.Artifacts) != 2 {
			t.Fatalf("got %d artifacts and %v, want 2", len(page.Artifacts), err)
		}
		return sqlite.Rows.Load() - before
	}
	rows(attributed) // opens the index
	if without, with := rows(w), rows(attributed); with > without+10 {
		t.Errorf("got %d rows, want about %d", with, without)
	}
}

// TestQueriesOfSilentSessions lists few and many sessions that show no activity. Both take as many
// queries of the index.
func TestQueriesOfSilentSessions(t *testing.T) {
	dir := testWorkspace(t)
	o := optionsFor(dir)
	w := openDir(t, dir)
	for n := range 12 {
		_, _, err := w.Hub().Record(t.Context(), &handoff.SessionOpened{SessionID: fmt.Sprint("session-", n),
			Folder: fmt.Sprint("docs/agent-outputs/", n), Workflow: handoff.SessionWorkflow{Name: "intake"}})
		must(t, err)
	}
	manyWorks(t, w, dir) // something is published in some of them
	o.Now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	later, err := Open(dir, o)
	must(t, err)
	defer later.Close()
	queries := func(limit int) int64 {
		before := sqlite.Queries.Load()
		page, err := later.Sessions().Find(t.Context(), sessions.Filter{Limit: limit})
		if err != nil || len(page.Sessions) != limit || page.Sessions[0].Status != sessions.Stalled {
			t.Fatalf("got %d sessions and %v, want %d", len(page.Sessions), err, limit)
		}
		return sqlite.Queries.Load() - before
	}
	queries(1)
	if few, many := queries(3), queries(12); few != many {
		t.Errorf("got %d queries for 12 sessions, %d for 3", many, few)
	}
	searches := func(limit int) int64 {
		before := sqlite.Queries.Load()
		found, err := later.Search(t.Context(), SearchOptions{Text: "intake", In: []string{InSessions}, Limit: limit})
		if err != nil || len(found.Sessions) != limit || found.Sessions[0].Session.Status != sessions.Stalled {
			t.Fatalf("found %d sessions and %v, want %d", len(found.Sessions), err, limit)
		}
		return sqlite.Queries.Load() - before
	}
	searches(1)                                             // stores the texts
	if few, many := searches(3), searches(12); few < many { // 12 are all of them: none is looked for after them
		t.Errorf("got %d queries to find 12 sessions, %d for 3", many, few)
	}
}

// TestRowsOfReceipt adds what transcripts show to an artifact whose thread is not here. The index
// does not read the other artifacts of the thread for it.
func TestRowsOfReceipt(t *testing.T) {
	dir := testWorkspace(t)
	w := openDir(t, dir)
	set := thread.NewSet(all.Drivers(), optionsFor(dir).Getenv, dir)
	rows := func(session string, artifacts int) int64 {
		var last handoff.Artifact
		for n := range artifacts {
			by := w.As(CallerFrom(dir, func(string) string { return "" }, handoff.Producer{Harness: "codex",
				Thread: "agents://codex/" + session}))
			a, err := by.Publish(t.Context(), handoff.Draft{Body: strings.NewReader(fmt.Sprint(session, n)), Channel: "design"})
			must(t, err)
			last = a.Artifact
		}
		shown := Shown{Artifact: &last}
		before := sqlite.Rows.Load()
		must(t, w.AddTranscripts(t.Context(), set, &shown))
		if shown.Receipt != nil || last.Producer.Thread == "" {
			t.Fatalf("got the receipt %v of an artifact of thread %q, want none", shown.Receipt, last.Producer.Thread)
		}
		return sqlite.Rows.Load() - before
	}
	one := rows("0199a7d2-0000-7000-8000-000000000001", 1)
	if many := rows("0199a7d2-0000-7000-8000-000000000002", 30); many > one+10 {
		t.Errorf("got %d rows for an artifact beside 29 others, %d for one alone", many, one)
	}
}
