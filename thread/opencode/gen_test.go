package opencode_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
)

// The IDs of the threads that home writes.
const (
	parentID = "ses_1a00000000ffeParent00000001"
	doneID   = "ses_1a00000001ffeDone0000000002"
	askingID = "ses_1a00000002ffeAsking00000003"
	nestedID = "ses_1a00000003ffeNested00000004"
	silentID = "ses_1a00000004ffeSilent00000005"
	goneID   = "ses_1a00000005ffeGone0000000006"
	forkID   = "ses_1a00000006ffeFork0000000007"
	cutID    = "ses_1a00000007ffeCut00000000008"
	otherID  = "ses_1a00000008ffeOther000000009"
	oldID    = "ses_1a00000009ffeOld0000000000a"
	oldKidID = "ses_1a0000000affeOldKid000000ab"
	oldestID = "ses_1a0000000bffeOldest000000ac"
	undoneID = "ses_1a0000000cffeUndone000000ad"
)

const schema = `
CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, slug TEXT, directory TEXT, title TEXT, version TEXT, agent TEXT,
	revert TEXT, time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, time_compacting INTEGER, time_archived INTEGER);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, data TEXT NOT NULL);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT NOT NULL, session_id TEXT NOT NULL, time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, data TEXT NOT NULL);
CREATE INDEX message_session_idx ON message (session_id);
CREATE INDEX part_session_idx ON part (session_id);
CREATE INDEX session_parent_idx ON session (parent_id);`

type obj = map[string]any

// started is the start of the first session.
const started = 1780000000000

// A book is the content of one session.
type book struct {
	id, parent, agent, revert, title string
	at                               int64 // started
	now                              int64
	pages                            []page
}

type page struct {
	id    string
	at    int64
	data  obj
	parts []obj
}

func session(id, parent string, at int64) *book {
	return &book{id: id, parent: parent, agent: "build", title: "A title", at: started + at, now: started + at}
}

// untitled is the title of a session until a model was asked for one.
const untitled = "New session - 2026-05-28T20:26:40.000Z"

func (b *book) called(title string) *book {
	b.title = title
	return b
}

func (b *book) add(data obj, parts ...obj) *book {
	b.now += 1000
	if data["time"] == nil {
		data["time"] = obj{"created": b.now, "completed": b.now + 500}
	}
	b.pages = append(b.pages, page{fmt.Sprintf("msg_%s_%03d", b.id[4:], len(b.pages)), b.now, data, parts})
	return b
}

func (b *book) last() page { return b.pages[len(b.pages)-1] }

func (b *book) user(text string, more ...obj) *book {
	return b.add(obj{"role": "user", "time": obj{"created": b.now + 1000}}, append([]obj{said(text)}, more...)...)
}

// step writes an answer with one request.
func (b *book) step(finish string, tokens [5]int64, parts ...obj) *book {
	t := counts(tokens)
	all := append([]obj{{"type": "step-start"}}, parts...)
	all = append(all, obj{"type": "step-finish", "reason": finish, "tokens": t, "cost": 0.25})
	return b.add(obj{"role": "assistant", "modelID": "model-1", "providerID": "maker", "finish": finish, "tokens": t,
		"cost": 0.25}, all...)
}

func counts(t [5]int64) obj {
	return obj{"input": t[0], "output": t[1], "reasoning": t[2], "cache": obj{"read": t[3], "write": t[4]}}
}

func said(text string) obj { return obj{"type": "text", "text": text} }

func used(tool, status, output string, metadata obj) obj {
	return obj{"type": "tool", "callID": "call_" + tool, "tool": tool, "state": obj{
		"status": status, "input": obj{"description": "do " + tool, "subagent_type": "general"}, "output": output,
		"metadata": metadata,
		"time":     obj{"start": started + 2000, "end": started + 9000},
	}}
}

func (b *book) insert(t testing.TB, db *sql.DB) {
	t.Helper()
	exec := func(query string, args ...any) {
		if _, err := db.Exec(query, args...); err != nil {
			t.Fatal(err)
		}
	}
	null := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	exec("INSERT INTO session VALUES (?,'p',?,'slug','/home/u/project',?,'1.17.3',?,?,?,?,NULL,NULL)", b.id,
		null(b.parent), b.title, b.agent, null(b.revert), b.at, b.now)
	for _, p := range b.pages {
		exec("INSERT INTO message VALUES (?,?,?,?,?)", p.id, b.id, p.at, p.at, text(p.data))
		for i, part := range p.parts {
			exec("INSERT INTO part VALUES (?,?,?,?,?,?)", fmt.Sprintf("prt_%s_%03d", p.id[4:], i), p.id, b.id, p.at, p.at,
				text(part))
		}
	}
}

// files writes b in the format before 1.2.
func (b *book) files(t testing.TB, dir string, part func(message string, i int) string) {
	t.Helper()
	put(t, filepath.Join(dir, "session", "p", b.id+".json"), obj{
		"id": b.id, "parentID": b.parent, "directory": "/home/u/old", "title": "Old", "version": "0.9", "time": obj{
			"created": b.at, "updated": b.now},
	})
	for _, p := range b.pages {
		data := obj{"id": p.id, "sessionID": b.id}
		for k, v := range p.data {
			data[k] = v
		}
		put(t, filepath.Join(dir, "message", b.id, p.id+".json"), data)
		for i, pt := range p.parts {
			pt["messageID"] = p.id
			put(t, filepath.Join(dir, "part", part(p.id, i)), pt)
		}
	}
}

func put(t testing.TB, path string, v any) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text(v)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// write creates a database of books at path. If it is live, all rows are in the
// write-ahead log, as with a running tool.
func write(t testing.TB, path string, live bool, books ...*book) {
	t.Helper()
	made := filepath.Join(t.TempDir(), "made.db")
	db, err := sql.Open("sqlite", "file:"+made+
		"?_pragma=journal_mode(wal)&_pragma=wal_autocheckpoint(0)&_pragma=synchronous(0)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(schema); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("BEGIN"); err != nil {
		t.Fatal(err)
	}
	for _, b := range books {
		b.insert(t, db)
	}
	if _, err := db.Exec("COMMIT"); err != nil {
		t.Fatal(err)
	}
	if !live {
		if _, err := db.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(made + suffix)
		if err == nil && (live || suffix == "") {
			err = os.WriteFile(path+suffix, b, 0o600)
		}
		if err != nil && (live || suffix == "") {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

const dataDir = ".local/share/opencode"

func tokens(n int, t [5]int64) thread.Tokens {
	k := int64(n)
	return thread.Tokens{Input: k * t[0], Output: k * (t[1] + t[2]), Reasoning: k * t[2], CacheRead: k * t[3],
		CacheWrite: k * t[4], Calls: n, Cost: 0.25 * float64(n)}
}

var one = [5]int64{100, 20, 5, 300, 40}

// home writes a home directory with threads of every kind.
func home(t testing.TB, dir string) []threadtest.Thread {
	books, want := family()
	more, wantMore := lone()
	write(t, filepath.Join(dir, dataDir, "opencode.db"), true, append(books, more...)...)
	write(t, filepath.Join(dir, dataDir, "opencode-dev.db"), false,
		session(otherID, "", 60000).user("another channel").step("stop", one, said("yes")))
	want = append(append(want, wantMore...), threadtest.Thread{
		ID: otherID, Status: thread.Completed, Source: thread.Child, Messages: []string{
			"user: another channel", "assistant: yes"}, Usage: tokens(1, one), Complete: thread.LowerBound,
	})
	want = append(want, second(t, dir, dataDir, "opencode-next.db")...)
	return append(want, old(t, filepath.Join(dir, dataDir, "storage"))...)
}

// family returns a thread with subagents, one of which has one itself.
func family() ([]*book, []threadtest.Thread) {
	parent := session(parentID, "", 0).
		user("look into it", obj{"type": "text", "text": "Called the Read tool", "synthetic": true},
			obj{"type": "file", "filename": "log.txt", "mime": "text/plain"}).
		step("tool-calls", one, obj{"type": "reasoning", "text": "Hm."}, said("I will ask others."),
			used("task", "completed", "found it\n\ntask_id: "+doneID, nil)).
		step("tool-calls", one, used("task", "running", "", obj{"sessionId": askingID}),
			used("task", "error", "", obj{"sessionId": goneID}), used("bash", "completed", "no such file", obj{"exit": 2})).
		step("stop", one, said("One of them found it."))
	done := session(doneID, parentID, 2000).user("explore").step("stop", one, said("found it"))
	asking := session(askingID, parentID, 3000).user("work").
		add(obj{"role": "assistant", "modelID": "model-1", "providerID": "maker", "time": obj{"created": started + 5000}},
			obj{"type": "step-start"}, used("question", "running", "", nil))
	nested := session(nestedID, askingID, 4000).user("deeper").
		add(obj{"role": "assistant", "modelID": "model-1",
			"error": obj{"name": "MessageAbortedError", "data": obj{"message": "The operation was aborted."}}}, said("I was"))
	silent := session(silentID, parentID, 5000)

	agents := []threadtest.Agent{
		{ID: doneID, Status: thread.Completed, Source: thread.Parent, Last: "found it"},
		{ID: goneID, Status: thread.Errored, Source: thread.Parent},
		{ID: askingID, Status: thread.Running, Source: thread.Child, Last: "work"},
		{ID: nestedID, Status: thread.Errored, Source: thread.Child, Last: "I was"},
		{ID: silentID, Status: thread.PendingInit, Source: thread.Inferred},
	}
	return []*book{parent, done, asking, nested, silent}, []threadtest.Thread{
		{
			ID: parentID, Status: thread.Completed, Source: thread.Child, Agents: agents,
			Messages: []string{"user: look into it\n\n[log.txt]", "assistant: Hm.\n\nI will ask others.",
				"assistant: One of them found it."},
			Calls: []string{"task: found it\n\ntask_id: " + doneID, "task: ", "task: ", "bash: no such file"}, Usage: tokens(3,
				one), Complete: thread.LowerBound,
		},
		{ID: doneID, Parent: parentID, Status: thread.Completed, Source: thread.Child,
			Messages: []string{"user: explore", "assistant: found it"}, Usage: tokens(1, one), Complete: thread.Exact},
		{
			ID: askingID, Parent: parentID, Status: thread.Running, Source: thread.Child, Messages: []string{
				"user: work"}, Calls: []string{"question: "}, Complete: thread.NoUsage,
			Agents: agents[3:4],
		},
		{ID: nestedID, Parent: askingID, Status: thread.Errored, Source: thread.Child,
			Messages: []string{"user: deeper", "assistant: I was"}, Complete: thread.NoUsage},
		{ID: silentID, Parent: parentID, Status: thread.PendingInit, Source: thread.Inferred, Complete: thread.NoUsage},
	}
}

// lone returns threads without subagents: a fork, one that was compacted and
// interrupted, and one whose end was undone.
func lone() ([]*book, []threadtest.Thread) {
	fork := session(forkID, "", 0).called("A title (fork #1)").user("before").step("stop", one, said("copied"))
	fork.at = fork.now + 5000
	fork.now = fork.at
	fork.user("after").step("stop", one, said("own"))

	cut := session(cutID, "", 20000).user("long ago").step("stop", one, said("yes")).
		add(obj{"role": "user"}, obj{"type": "compaction", "auto": true})
	cut.add(obj{"role": "assistant", "summary": true, "parentID": cut.last().id, "finish": "stop", "modelID": "model-1",
		"providerID": "maker", "tokens": counts(one), "cost": 0.25}, said("it was long")).
		user("go on")
	// Of several requests in one message, the message keeps the last.
	cut.add(obj{"role": "assistant", "modelID": "model-1", "providerID": "maker", "tokens": counts(one), "cost": 0.5,
		"finish": "length"},
		obj{"type": "step-start"}, obj{"type": "step-finish", "tokens": counts(one), "cost": 0.25}, said("and"),
		obj{"type": "step-start"}, obj{"type": "step-finish", "tokens": counts(one), "cost": 0.25}, obj{"type": "step-start"})

	undone := session(undoneID, "", 30000).called(untitled).user("first").step("stop", one, said("one")).user("second")
	undone.revert = text(obj{"messageID": undone.last().id})
	return []*book{fork, cut, undone}, []threadtest.Thread{
		{
			ID: forkID, Status: thread.Completed, Source: thread.Child, Messages: []string{
				"user: before", "assistant: copied", "user: after", "assistant: own"},
			Usage: tokens(1, one), Complete: thread.Exact,
		},
		{
			ID: cutID, Status: thread.Errored, Source: thread.Child, Messages: []string{
				"user: long ago", "assistant: yes", "compaction: it was long", "user: go on", "assistant: and"},
			Usage: tokens(4, one), Complete: thread.LowerBound,
		},
		{
			ID: undoneID, Status: thread.Running, Source: thread.Child, Messages: []string{
				"user: first", "assistant: one", "note: The following messages were undone.", "user: second"},
			Usage: tokens(1, one), Complete: thread.Exact,
		},
	}
}

// old writes threads in the format without a database, one of which was migrated.
func old(t testing.TB, dir string) []threadtest.Thread {
	perMessage := func(m string, i int) string { return fmt.Sprintf("%s/prt_%d.json", m, i) }
	session(oldID, "", 40000).user("old question").step("stop", one, said("old answer")).files(t, dir, perMessage)
	kid := session(oldKidID, oldID, 41000).user("old task").step("stop", one, said("old result"))
	kid.files(t, dir, func(m string, i int) string { return kid.id + "/" + perMessage(m, i) })
	oldest := session(oldestID, "", 42000).user("oldest question")
	oldest.files(t, dir, func(m string, i int) string { return m + fmt.Sprintf("_%d.json", i) })
	session(otherID, "", 60000).user("as it was before it was moved").files(t, dir, perMessage)
	return []threadtest.Thread{
		{
			ID: oldID, Status: thread.Completed, Source: thread.Child, Messages: []string{
				"user: old question", "assistant: old answer"}, Usage: tokens(1, one), Complete: thread.LowerBound,
			Agents: []threadtest.Agent{{ID: oldKidID, Status: thread.Completed, Source: thread.Child, Last: "old result"}},
		},
		{ID: oldKidID, Parent: oldID, Status: thread.Completed, Source: thread.Child,
			Messages: []string{"user: old task", "assistant: old result"}, Usage: tokens(1, one), Complete: thread.Exact},
		{ID: oldestID, Status: thread.Running, Source: thread.Child, Messages: []string{"user: oldest question"},
			Complete: thread.NoUsage},
	}
}

// big writes a database of one long thread.
func big(t testing.TB, dir string, size int64) string {
	b := session(parentID, "", 0)
	words := strings.Repeat("all work and no play makes a long transcript\n", 2000)
	for n := int64(0); n < size; n += 3 * int64(len(words)) {
		b.user(words).step("stop", one, said(words), used("bash", "completed", words, nil))
	}
	write(t, filepath.Join(dir, dataDir, "opencode.db"), false, b)
	return parentID
}
