package keep_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/internal/transcript/keep"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/cursor"
	"github.com/agent-handoff/handoff/thread/goose"
	"github.com/agent-handoff/handoff/transcript"
)

var token = "ghp_" + strings.Repeat("a1B2", 9)

// writeGoose writes a database with a session, its subagent, and another session with a
// given text.
func writeGoose(t *testing.T, home, other string) string {
	t.Helper()
	path := filepath.Join(home, ".local", "share", "goose", "sessions", "sessions.db")
	os.Remove(path + "-wal")
	threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
		exec("CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, working_dir TEXT, created_at TIMESTAMP, updated_at " +
			"TIMESTAMP, session_type TEXT, parent_session_id TEXT, archived BOOLEAN)")
		exec("CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, role TEXT, content_json TEXT)")
		add := func(id, parent, text string) {
			exec("INSERT INTO sessions VALUES (?, 'a name', '/home/u/shop', '2026-01-01 12:00:00', '2026-01-01 12:00:01', "+
				"'user', ?, 1)", id, parent)
			exec("INSERT INTO messages (session_id, role, content_json) VALUES (?, 'user', ?)", id,
				`[{"type": "text", "text": "`+text+`"}]`)
		}
		add("20260101_2", "", other)
		add("20260101_1", "", "find the cart \\u0067"+token[1:]+" now")
		add("20260101_3", "20260101_1", "the api_key=hunter2hunter2")
	}, path)
	return path
}

func openGoose(t *testing.T, set *thread.Set) *thread.View {
	t.Helper()
	v, err := set.Open(t.Context(), thread.URI{Provider: "goose", Thread: "20260101_1"})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestRows keeps a thread of a database: nothing of the others is in the copy, its
// bytes do not depend on them, and secrets are found in values, where they are redacted.
func TestRows(t *testing.T) {
	scratch := t.TempDir()
	t.Setenv("TMPDIR", scratch)
	var bodies [][]byte
	for _, other := range []string{"a private matter", strings.Repeat("another private matter ", 5000)} {
		home := t.TempDir()
		path := writeGoose(t, home, other)
		threadtest.CheckUnchanged(t, home)
		set := thread.NewSet([]thread.Driver{goose.Driver()}, func(string) string { return "" }, home)
		p, err := keep.New(t.Context(), set, openGoose(t, set), true)
		if err != nil {
			t.Fatal(err)
		}
		want := []transcript.Secret{
			{Kind: "GitHub token", Thread: "agents://goose/20260101_1", Message: 1, Count: 1},
			{Kind: "password", Thread: "agents://goose/20260101_1/20260101_3", Message: 1, Count: 1},
		}
		if p.Secrets != 2 || len(p.Findings) != 2 || p.Findings[0] != want[0] || p.Findings[1] != want[1] {
			t.Errorf("got %d secrets, %+v, want %+v", p.Secrets, p.Findings, want)
		}
		if p.Files() != 1 || p.Size <= 0 || p.Size > 1<<16 {
			t.Errorf("got %d files with %d bytes, want one small file", p.Files(), p.Size)
		}
		var body bytes.Buffer
		if err := errors.Join(p.Write(t.Context(), &body), p.Close()); err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, bytes.Clone(body.Bytes()))
		if entries, err := os.ReadDir(scratch); err != nil || len(entries) != 0 {
			t.Errorf("got %v, %v in the directory of temporary files, want none", entries, err)
		}
		checkRows(t, set, p, &body, path)
	}
	if !bytes.Equal(bodies[0], bodies[1]) {
		t.Errorf("copies of equal threads have %d and %d bytes", len(bodies[0]), len(bodies[1]))
	}
}

func checkRows(t *testing.T, set *thread.Set, p *keep.Plan, body *bytes.Buffer, path string) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := keep.Extract(t.Context(), body, handoff.ThreadKept{Files: p.Files(), TranscriptBytes: p.Size},
		root); err != nil {
		t.Fatal(err)
	}
	content := threadtest.ReadFile(t, filepath.Join(dir, "sessions", filepath.Base(path)))
	for _, text := range []string{"private matter", "20260101_2", token[1:], "hunter2"} {
		if strings.Contains(content, text) {
			t.Errorf("the copy contains %q", text)
		}
	}
	v := openGoose(t, keep.At(set, "goose", dir))
	got, _ := threadtest.Messages(t, v.Thread)
	if len(got) != 1 || got[0] != "user: find the cart [redacted GitHub token] now" || v.Thread.Title != "a name" ||
		v.Thread.Started.IsZero() {
		t.Errorf("got %q, %q, started at %v", got, v.Thread.Title, v.Thread.Started)
	}
	if err := v.LoadAgents(t.Context()); err != nil || len(v.Agents) != 1 {
		t.Errorf("got subagents %v, %v, want one", v.Agents, err)
	}
}

// TestChangedDatabase modifies a database while its rows are copied.
func TestChangedDatabase(t *testing.T) {
	home := t.TempDir()
	path := writeGoose(t, home, "other")
	set := thread.NewSet([]thread.Driver{goose.Driver()}, func(string) string { return "" }, home)
	r, ok := openGoose(t, set).Thread.Reader.(thread.Extractor)
	if !ok {
		t.Fatal("the reader is not an Extractor")
	}
	err := r.Extract(t.Context(), filepath.Join(t.TempDir(), "copy"), func(_ int, v any) any {
		if err := os.Chtimes(path, time.Time{}, time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		return v
	})
	if !errors.Is(err, handoff.Conflict) {
		t.Errorf("got %v, want a conflict", err)
	}
}

// TestBinaryValues redacts a value that is not text. It keeps its length, because it may
// contain lengths.
func TestBinaryValues(t *testing.T) {
	const id = "019f0000-0000-7000-8000-000000000004"
	home := t.TempDir()
	state := "\x0a\x28" + token + "\xff\xfe"
	threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
		exec("CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB)")
		exec("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)")
		exec("INSERT INTO meta VALUES ('0', '{\"name\":\"A title\",\"latestRootBlobId\":\"r\"}')")
		exec("INSERT INTO blobs VALUES ('r', ?)", []byte(state))
	}, home, ".cursor", "chats", "p", id, "store.db")
	set := thread.NewSet([]thread.Driver{cursor.Driver()}, func(string) string { return "" }, home)
	v, err := set.Open(t.Context(), thread.URI{Provider: "cursor", Thread: id})
	if err != nil {
		t.Fatal(err)
	}
	p, err := keep.New(t.Context(), set, v, true)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var body bytes.Buffer
	if err := p.Write(t.Context(), &body); err != nil {
		t.Fatal(err)
	}
	if err := keep.Extract(t.Context(), &body, handoff.ThreadKept{Files: p.Files(), TranscriptBytes: p.Size},
		root); err != nil {
		t.Fatal(err)
	}
	content := threadtest.ReadFile(t, filepath.Join(dir, "chats", "p", id, "store.db"))
	if p.Secrets != 1 || strings.Contains(content, token) ||
		!strings.Contains(content, "\x0a\x28"+strings.Repeat("*", len(token))+"\xff\xfe") {
		t.Errorf("got %d secrets; the copy does not have the value with asterisks", p.Secrets)
	}
}
