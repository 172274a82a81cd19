package threadindex_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/agent-handoff/handoff/internal/threadindex"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
)

// A tree is a home directory with invented transcripts, which a test changes at
// random.
type tree struct {
	t     testing.TB
	r     *rand.Rand
	home  string
	count int

	collisions int // found so far
}

func newTree(t testing.TB, seed uint64) *tree {
	return &tree{t: t, r: rand.New(rand.NewPCG(seed, 1)), home: t.TempDir()}
}

func (tr *tree) set() *thread.Set {
	return thread.NewSet(all.Drivers(), func(string) string { return "" }, tr.home)
}

var vocabulary = strings.Fields("retry cart session größe 会话 parser timeout Retry refactor the-cart internal/cart.go go test")

func (tr *tree) words() string {
	list := make([]string, 1+tr.r.IntN(8))
	for i := range list {
		list[i] = vocabulary[tr.r.IntN(len(vocabulary))]
	}
	return strings.Join(list, " ")
}

func (tr *tree) id() string {
	tr.count++
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", tr.r.Uint32(), tr.count)
}

type object = map[string]any

func line(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b) + "\n"
}

// claudeLine returns a record of a session or of a subagent.
func (tr *tree) claudeLine(session, agent string) string {
	tr.count++
	at := time.Date(2026, 2, 3, 4, 0, tr.count/64, 0, time.UTC).Format(time.RFC3339)
	rec := object{"uuid": tr.id(), "sessionId": session, "timestamp": at, "version": "2.1.100", "cwd": "/work/" + fmt.Sprint(tr.r.IntN(3)), "gitBranch": "main"}
	if agent != "" {
		rec["agentId"], rec["isSidechain"] = agent, true
	}
	switch tr.r.IntN(8) {
	case 0, 1:
		rec["type"], rec["message"] = "user", object{"role": "user", "content": tr.words()}
	case 2:
		rec["type"], rec["aiTitle"] = "ai-title", tr.words()
	default:
		content := []object{{"type": "text", "text": tr.words()}}
		if tr.r.IntN(4) > 0 {
			name := []string{"Edit", "Edit", "Read", "Bash"}[tr.r.IntN(4)]
			input := object{"file_path": fmt.Sprintf("/work/%d/cart.go", tr.r.IntN(3))}
			if name == "Bash" {
				input = object{"command": "go test ./" + tr.words()}
			}
			content = append(content, object{"type": "tool_use", "id": tr.id(), "name": name, "input": input})
		}
		rec["type"], rec["message"] = "assistant", object{"id": tr.id(), "role": "assistant", "model": "claude-opus", "content": content, "usage": object{"input_tokens": 1 + tr.r.IntN(9), "output_tokens": 2}}
	}
	return line(rec)
}

func (tr *tree) codexLine() string {
	tr.count++
	at := time.Date(2026, 2, 3, 4, 0, tr.count/64, 0, time.UTC).Format(time.RFC3339)
	payload := object{"type": "message", "role": []string{"user", "assistant"}[tr.r.IntN(2)], "content": []object{{"type": "input_text", "text": tr.words()}}}
	kind := "response_item"
	switch tr.r.IntN(4) {
	case 0:
		payload = object{"type": "custom_tool_call", "name": "apply_patch", "call_id": tr.id(), "input": "*** Begin Patch\n*** Update File: cart.go\n+" + tr.words() + "\n*** End Patch"}
	case 1:
		kind = "event_msg"
		used := object{"input_tokens": tr.count, "output_tokens": 1, "total_tokens": tr.count + 1}
		payload = object{"type": "token_count", "info": object{"total_token_usage": used, "last_token_usage": used}}
	}
	return line(object{"timestamp": at, "type": kind, "payload": payload})
}

func (tr *tree) write(path, text string) {
	must(tr.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(tr.t, os.WriteFile(path, []byte(text), 0o644))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// files returns the transcripts.
func (tr *tree) files() (paths []string) {
	must(tr.t, filepath.WalkDir(tr.home, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			paths = append(paths, path)
		}
		return err
	}))
	return paths
}

// create writes a new transcript: a session with or without a subagent, a copy of
// one, or a rollout, which may be a fork or a subagent of another.
func (tr *tree) create() {
	files := tr.files()
	project := filepath.Join(tr.home, ".claude", "projects", fmt.Sprintf("-work-%d", tr.r.IntN(2)))
	id := tr.id()
	switch tr.r.IntN(5) {
	case 0, 1:
		text := ""
		for range 1 + tr.r.IntN(6) {
			text += tr.claudeLine(id, "")
		}
		tr.write(filepath.Join(project, id+".jsonl"), text)
		if tr.r.IntN(2) == 0 {
			tr.write(filepath.Join(project, id, "subagents", "agent-a"+id[:6]+".jsonl"), tr.claudeLine(id, "a"+id[:6])+tr.claudeLine(id, "a"+id[:6]))
			tr.write(filepath.Join(project, id, "subagents", "agent-a"+id[:6]+".meta.json"), `{"agentType":"reviewer"}`)
		}
	case 2: // a fork repeats the records of another session
		for _, path := range files {
			if filepath.Dir(path) == project && strings.HasSuffix(path, ".jsonl") {
				b, err := os.ReadFile(path)
				must(tr.t, err)
				tr.write(filepath.Join(project, id+".jsonl"), string(b)+tr.claudeLine(id, ""))
				break
			}
		}
	default:
		meta := object{"id": id, "cwd": "/work/1", "cli_version": "0.130.0", "source": "cli", "git": object{"branch": "main"}}
		for _, path := range files {
			if other := strings.TrimSuffix(path, ".jsonl"); strings.Contains(other, "rollout-") && other != path {
				switch tr.r.IntN(4) {
				case 0:
					meta["forked_from_id"] = other[len(other)-36:]
				case 1:
					meta["source"] = object{"subagent": object{"thread_spawn": object{"parent_thread_id": other[len(other)-36:], "agent_role": "reviewer"}}}
				}
				break
			}
		}
		text := line(object{"timestamp": "2026-02-03T04:00:00Z", "type": "session_meta", "payload": meta})
		for range 1 + tr.r.IntN(6) {
			text += tr.codexLine()
		}
		tr.write(filepath.Join(tr.home, ".codex", "sessions", "2026", "02", "03", "rollout-2026-02-03T04-00-00-"+id+".jsonl"), text)
	}
}

// change changes one transcript.
func (tr *tree) change() {
	files := slices.DeleteFunc(tr.files(), func(path string) bool { return strings.HasSuffix(path, ".json") })
	if len(files) == 0 {
		return
	}
	path := files[tr.r.IntN(len(files))]
	info, err := os.Stat(path)
	must(tr.t, err)
	b, err := os.ReadFile(path)
	must(tr.t, err)
	plain := strings.HasSuffix(path, ".jsonl")
	codex := strings.Contains(path, "rollout-")
	more := tr.claudeLine(strings.TrimSuffix(filepath.Base(path), ".jsonl"), "")
	if codex {
		more = tr.codexLine()
	}
	switch op := tr.r.IntN(9); {
	case op == 0:
		must(tr.t, os.Remove(path))
	case op == 1: // set the clock back
		old := info.ModTime().Add(-time.Duration(tr.r.IntN(1000)) * time.Hour)
		must(tr.t, os.Chtimes(path, old, old))
	case op == 2 && codex: // archive
		to := filepath.Join(tr.home, ".codex", "archived_sessions", filepath.Base(path))
		must(tr.t, os.MkdirAll(filepath.Dir(to), 0o755))
		must(tr.t, os.Rename(path, to))
	case op == 2: // move to another project
		to := filepath.Join(tr.home, ".claude", "projects", "-moved", filepath.Base(path))
		must(tr.t, os.MkdirAll(filepath.Dir(to), 0o755))
		must(tr.t, os.Rename(path, to))
	case op == 3 && codex && plain: // compress
		enc, err := zstd.NewWriter(nil)
		must(tr.t, err)
		tr.write(path+".zst", string(enc.EncodeAll(b, nil)))
		must(tr.t, os.Remove(path))
	case op == 4 && plain: // truncate
		must(tr.t, os.Truncate(path, int64(tr.r.IntN(len(b)+1))))
	case op == 5 && plain: // rewrite with the same size and times
		text := strings.NewReplacer("retry", "yrter", "cart", "trac").Replace(string(b))
		tr.write(path, text)
		must(tr.t, os.Chtimes(path, info.ModTime(), info.ModTime()))
	case op == 6 && plain: // half a line
		tr.write(path, string(b)+more[:len(more)/2])
	case plain:
		tr.write(path, string(b)+more)
	}
}

// queries compares the answers of the index with those of the files.
func (tr *tree) compare(file string, now func() time.Time) {
	tr.t.Helper()
	ctx := tr.t.Context()
	before := tr.digest()
	files := threadindex.NewFiles(tr.set())
	index := threadindex.NewIndex(threadindex.NewFiles(tr.set()), file, now, nil)
	middle := time.Now().Add(-500 * time.Hour)
	for i, q := range []threadindex.Query{
		{}, {Limit: 2}, {Providers: []string{"codex"}}, {Status: thread.Running}, {Model: "Opus"}, {Role: "Reviewer"},
		{In: threadindex.In("/work/1")}, {Since: middle}, {Until: middle}, {Until: middle, Limit: 1},
	} {
		want, err := files.List(ctx, q)
		must(tr.t, err)
		got, err := index.List(ctx, q)
		must(tr.t, err)
		tr.same(fmt.Sprintf("list %d", i), got, want)
		for want.Cursor != "" { // the other pages
			q.Cursor = want.Cursor
			want, err = files.List(ctx, q)
			must(tr.t, err)
			got, err = index.List(ctx, q)
			must(tr.t, err)
			tr.same(fmt.Sprintf("list %d after %s", i, q.Cursor), got, want)
		}
	}
	for _, s := range []threadindex.Search{
		{Text: "retry"}, {Text: "cart session"}, {Text: `"cart session"`}, {Text: "sess*", Newest: true}, {Text: "größe 会"}, {Text: "absent"},
		{Text: "cart", From: "user"}, {Text: "go test", From: "tool"}, {Text: "cart", Tool: "edit"}, {Path: "cart.go"}, {Path: "/work/1/"},
		{Text: "timeout", Query: threadindex.Query{Limit: 2}}, {Text: "retry", Query: threadindex.Query{Role: "reviewer"}},
		{Text: "parser", Query: threadindex.Query{Providers: []string{"claude"}, In: threadindex.In("/work/0", "/work/2"), Until: middle}},
		{Text: "yrter trac"},
	} {
		want, err := files.Search(ctx, s)
		must(tr.t, err)
		got, err := index.Search(ctx, s)
		must(tr.t, err)
		tr.same(fmt.Sprintf("search %+v", s), got, want)
	}
	for _, q := range []threadindex.Query{{}, {In: threadindex.In("/work/1")}, {Providers: []string{"claude"}}} {
		want, err := files.Collisions(ctx, q)
		must(tr.t, err)
		got, err := index.Collisions(ctx, q)
		must(tr.t, err)
		tr.same("collisions", got, want)
		tr.collisions += len(want.Collisions)
	}
	if after := tr.digest(); after != before {
		tr.t.Fatalf("the files of the tools were changed:\n%s\nwere\n%s", after, before)
	}
}

// digest returns the names, times and digests of all files.
func (tr *tree) digest() string {
	var b strings.Builder
	must(tr.t, filepath.WalkDir(tr.home, func(path string, e os.DirEntry, err error) error {
		must(tr.t, err)
		info, err := e.Info()
		must(tr.t, err)
		var content []byte
		if e.Type().IsRegular() {
			content, err = os.ReadFile(path)
		}
		fmt.Fprintf(&b, "%s %s %x\n", path, info.ModTime(), sha256.Sum256(content))
		return err
	}))
	return b.String()
}

// TestForeignFile checks that a database of another program stays as it is.
func TestForeignFile(t *testing.T) {
	tr := newTree(t, 1)
	tr.create()
	file := filepath.Join(t.TempDir(), "threads.db")
	db, err := sql.Open("sqlite", file)
	must(t, err)
	_, err = db.Exec("CREATE TABLE theirs (x)")
	must(t, errors.Join(err, db.Close()))
	before, err := os.ReadFile(file)
	must(t, err)
	x := threadindex.NewIndex(threadindex.NewFiles(tr.set()), file, time.Now, nil)
	r, err := x.Search(t.Context(), threadindex.Search{Text: "absent"})
	must(t, err)
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "not an index of conversations") {
		t.Errorf("got warnings %q, want one about the file", r.Warnings)
	}
	if after, err := os.ReadFile(file); err != nil || !slices.Equal(before, after) {
		t.Errorf("the file was changed (%v)", err)
	}
}

func (tr *tree) same(what string, got, want any) {
	tr.t.Helper()
	g, err := json.MarshalIndent(got, "", " ")
	must(tr.t, err)
	w, err := json.MarshalIndent(want, "", " ")
	must(tr.t, err)
	if string(g) != string(w) {
		tr.t.Fatalf("%s: the index answers\n%s\nthe files\n%s", what, g, w)
	}
}

// TestIndexEqualsFiles changes transcripts at random between queries.
func TestIndexEqualsFiles(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			tr := newTree(t, seed)
			file := filepath.Join(t.TempDir(), "cache", "threads.db")
			for range 15 {
				tr.create()
			}
			later := 0
			now := func() time.Time { return time.Now().Add(time.Duration(later) * time.Minute) }
			for range 6 {
				for range 1 + tr.r.IntN(4) {
					if tr.r.IntN(2) == 0 {
						tr.create()
					} else {
						tr.change()
					}
				}
				later = tr.r.IntN(2) // changed just now, or a minute ago
				tr.compare(file, now)
			}
			if tr.collisions == 0 {
				t.Error("no collision was found, so that nothing was compared")
			}
		})
	}
}

// TestDependentTranscripts removes transcripts whose records others have copies of:
// the facts of the others change.
func TestDependentTranscripts(t *testing.T) {
	tr := newTree(t, 1)
	file := filepath.Join(t.TempDir(), "threads.db")
	later := func() time.Time { return time.Now().Add(time.Hour) }
	project := filepath.Join(tr.home, ".claude", "projects", "-work")
	original, fork := tr.id(), tr.id()
	text := ""
	for range 20 {
		text += tr.claudeLine(original, "")
	}
	tr.write(filepath.Join(project, original+".jsonl"), text)
	tr.write(filepath.Join(project, fork+".jsonl"), text+tr.claudeLine(fork, ""))
	sessions := filepath.Join(tr.home, ".codex", "sessions", "2026", "02", "03")
	rollouts := []string{tr.id(), tr.id(), tr.id()}
	records := line(object{"timestamp": "2026-02-03T04:00:01Z", "type": "event_msg", "payload": object{"type": "task_started", "turn_id": "t1"}})
	for range 20 {
		records += tr.codexLine()
	}
	for i, id := range rollouts { // each is a fork of the one before
		meta := object{"id": id, "cwd": "/work/1"}
		if i > 0 {
			meta["forked_from_id"] = rollouts[i-1]
		}
		tr.write(filepath.Join(sessions, "rollout-2026-02-03T04-00-00-"+id+".jsonl"), line(object{"timestamp": "2026-02-03T04:00:00Z", "type": "session_meta", "payload": meta})+records)
	}
	tr.compare(file, later)
	must(t, os.Remove(filepath.Join(project, original+".jsonl")))
	tr.compare(file, later)
	must(t, os.Remove(filepath.Join(sessions, "rollout-2026-02-03T04-00-00-"+rollouts[0]+".jsonl")))
	tr.compare(file, later)
}

// TestInterruptedBuild stops builds at every batch and at random. The next one
// continues.
func TestInterruptedBuild(t *testing.T) {
	tr := newTree(t, 1)
	for range 150 {
		tr.create()
	}
	file := filepath.Join(t.TempDir(), "threads.db")
	later := func() time.Time { return time.Now().Add(time.Hour) }
	most := 0
	for i := range 4 {
		ctx, cancel := context.WithCancel(t.Context())
		x := threadindex.NewIndex(threadindex.NewFiles(tr.set()), file, later, func(done, total int) {
			most = max(most, total)
			if i < 3 {
				cancel()
			}
		})
		_, err := x.Search(ctx, threadindex.Search{Text: "retry"})
		if i < 2 && !errors.Is(err, context.Canceled) {
			t.Errorf("build %d: got error %v, want that it was interrupted", i, err)
		}
		cancel()
	}
	again := 0
	x := threadindex.NewIndex(threadindex.NewFiles(tr.set()), file, later, func(_, total int) { again = total })
	if _, err := x.Search(t.Context(), threadindex.Search{Text: "retry"}); err != nil || again != 0 {
		t.Errorf("after the build, %d transcripts are read again (%v)", again, err)
	}
	tr.compare(file, later)
}
