package threadindex_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/transcript"
)

// compare compares the answers of the index with those of the files: the first of each kind,
// which have no condition, and others each time; with HANDOFF_LONG all, and of a large tree
// every fourth.
func (tr *tree) compare(file string, now func() time.Time) {
	tr.t.Helper()
	defer func() { tr.compared++ }()
	ctx := tr.t.Context()
	before := tr.digest()
	files := threadindex.NewFiles(tr.set())
	index := threadindex.NewIndex(threadindex.NewFiles(tr.set()), file, now, nil)
	middle := time.Now().Add(-500 * time.Hour)
	few := 1 + len(tr.files())/12 // of a large tree, not too many pages
	for i, q := range []threadindex.Query{
		{}, {Limit: few}, {Providers: []string{"codex"}}, {Status: thread.Running}, {Model: "Opus"}, {Role: "Reviewer"},
		{Title: "CART"},
		{In: threadindex.In("/work/1")}, {Since: middle}, {Until: middle}, {Until: middle, Limit: few},
		{Title: "r", Limit: few, All: true},
	} {
		if tr.skips(i) {
			continue
		}
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
	for i, s := range []threadindex.Search{
		{Text: "retry"}, {Text: "cart session"}, {Text: `"cart session"`}, {Text: "sess*", Newest: true}, {Text: "größe 会"},
		{Text: "absent"},
		{Text: "cart", From: "user"}, {Text: "go test", From: "tool"}, {Text: "cart", Tool: "edit"}, {Path: "cart.go"},
		{Path: "/work/1/"},
		{Path: "work/1"}, {Path: "1/"}, {Path: "./1"}, {Path: "/"}, {Path: "ork/1"}, {Path: "/1"}, {Path: "absent"},
		{Text: "timeout", Query: threadindex.Query{Limit: 2}}, {Text: "retry", Query: threadindex.Query{Role: "reviewer"}},
		{Text: "parser", Query: threadindex.Query{Providers: []string{"claude"}, In: threadindex.In("/work/0", "/work/2"),
			Until: middle}},
		{Text: "yrter trac"}, {Text: "s* the*"}, {Text: `"retry c*"`},
		{Text: `"the cart s*" go`, Query: threadindex.Query{Limit: 1}}, {Text: "会*"}, {Text: "g* t*", From: "tool"},
	} {
		if tr.skips(i) {
			continue
		}
		want, err := files.Search(ctx, s)
		must(tr.t, err)
		got, err := index.Search(ctx, s)
		must(tr.t, err)
		tr.same(fmt.Sprintf("search %+v", s), got, want)
	}
	tr.compareEach(index)
	for i, q := range []threadindex.Query{{}, {In: threadindex.In("/work/1")}, {Providers: []string{"claude"}}} {
		if tr.skips(i) {
			continue
		}
		want, err := files.Collisions(ctx, q)
		must(tr.t, err)
		got, err := index.Collisions(ctx, q)
		must(tr.t, err)
		tr.same("collisions", got, want)
		tr.collisions += len(want.Collisions)
	}
	tr.compareActive(files, index)
	tr.compareCalls(files, index, threadindex.NewIndex(threadindex.NewFiles(tr.set()), file+".alone", now, nil))
	tr.compareLookups(files, index)
	if after := tr.digest(); after != before {
		tr.t.Fatalf("the files of the tools were changed:\n%s\nwere\n%s", after, before)
	}
}

// skips reports whether query i is not compared.
func (tr *tree) skips(i int) bool {
	if os.Getenv("HANDOFF_LONG") != "" {
		return tr.large && i%4 > 0
	}
	return i > 0 && (i+tr.compared)%4 > 0
}

// compareEach compares matches that are passed one by one with those of a result.
func (tr *tree) compareEach(index *threadindex.Index) {
	tr.t.Helper()
	s := threadindex.Search{Text: "re*", Query: threadindex.Query{Limit: 7}}
	want, err := index.Search(tr.t.Context(), s)
	must(tr.t, err)
	matches := []transcript.Match{}
	s.Each = func(m transcript.Match) error {
		matches = append(matches, m)
		return nil
	}
	got, err := index.Search(tr.t.Context(), s)
	must(tr.t, err)
	if len(got.Matches) > 0 {
		tr.t.Fatalf("search %+v: the result has %d matches, want none", s, len(got.Matches))
	}
	got.Matches = matches
	tr.same("each match", got, want)
}

// compareActive compares what threads write.
func (tr *tree) compareActive(files *threadindex.Files, index *threadindex.Index) {
	tr.t.Helper()
	ctx := tr.t.Context()
	for i, q := range []threadindex.Query{{}, {Status: thread.Running}, {In: threadindex.In("/work/1")}} {
		if tr.skips(i) {
			continue
		}
		want, _, err := files.Active(ctx, q)
		must(tr.t, err)
		got, _, err := index.Active(ctx, q)
		must(tr.t, err)
		tr.same(fmt.Sprintf("active %d", i), got, want)
		for _, a := range want {
			tr.calls["writes"] += len(a.Writes)
		}
	}
}

// compareCalls compares what calls did, and the usage, also with an index of the usage
// alone.
func (tr *tree) compareCalls(files *threadindex.Files, index, alone *threadindex.Index) {
	tr.t.Helper()
	ctx := tr.t.Context()
	middle := time.Date(2026, 2, 3, 4, 0, tr.count/128, 0, time.UTC)
	for i, q := range []threadindex.CallQuery{{}, {Providers: []string{"codex"}}, {In: threadindex.In("/work/1")},
		{Since: middle}, {Until: middle}} {
		if tr.skips(i) {
			continue
		}
		for _, paths := range [][]string{{"/work/1/cart.go"}, {"/work/0", "/work/2/"}, {"/"}, {"/wor"}} {
			want, err := files.Touches(ctx, q, paths...)
			must(tr.t, err)
			got, err := index.Touches(ctx, q, paths...)
			must(tr.t, err)
			tr.same(fmt.Sprintf("touches %d of %q", i, paths), got, want)
			tr.calls["touches"] += len(want.List)
		}
		for _, lines := range [][]string{nil, {"go test ./cart"}} {
			want, err := files.Commands(ctx, q, lines...)
			must(tr.t, err)
			got, err := index.Commands(ctx, q, lines...)
			must(tr.t, err)
			tr.same(fmt.Sprintf("commands %d %q", i, lines), got, want)
			tr.calls["commands"] += len(want.List)
			if lines == nil && i == 0 && len(want.List) > 0 { // those of one thread
				q := threadindex.CallQuery{Threads: []thread.URI{threadOf(want.List[0].URI)}}
				want, err := files.Commands(ctx, q)
				must(tr.t, err)
				got, err := index.Commands(ctx, q)
				must(tr.t, err)
				tr.same("commands of "+q.Threads[0].String(), got, want)
			}
		}
		for _, name := range []string{artifact, commit, commit[:9], "art_absent"} {
			want, err := files.Mentions(ctx, q, name, "absent")
			must(tr.t, err)
			got, err := index.Mentions(ctx, q, name, "absent")
			must(tr.t, err)
			tr.same(fmt.Sprintf("mentions %d of %s", i, name), got, want)
			tr.calls["mentions"] += len(want.List)
		}
	}
	for i, q := range []threadindex.Query{{}, {Providers: []string{"claude"}}, {In: threadindex.In("/work/1")},
		{Since: time.Now().Add(-500 * time.Hour)}} {
		if tr.skips(i) {
			continue
		}
		type each interface {
			EachUsage(context.Context, threadindex.Query, func(threadindex.ThreadUsage) error) ([]string, error)
		}
		usage := func(from each) (list []any) {
			warnings, err := from.EachUsage(ctx, q, func(u threadindex.ThreadUsage) error {
				list = append(list, u)
				tr.calls["requests"] += len(u.Requests)
				return nil
			})
			must(tr.t, err)
			return append(list, warnings)
		}
		want := usage(files)
		tr.same(fmt.Sprintf("usage %d", i), usage(index), want)
		tr.same(fmt.Sprintf("usage alone %d", i), usage(alone), want)
	}
}

// threadOf returns the URI of the thread of a message.
func threadOf(uri thread.URI) thread.URI {
	uri.From, uri.To = 0, 0
	return uri
}

// compareLookups compares what is known of files, names and threads.
func (tr *tree) compareLookups(files *threadindex.Files, index *threadindex.Index) {
	tr.t.Helper()
	ctx := tr.t.Context()
	all, err := files.Touches(ctx, threadindex.CallQuery{}, "/")
	must(tr.t, err)
	touches := func(has func(threadindex.Touch) bool) []threadindex.Touch {
		return slices.DeleteFunc(slices.Clone(all.List), func(t threadindex.Touch) bool { return !has(t) })
	}
	same := func(what string, got any, err error, want any) {
		must(tr.t, err)
		tr.same(what, got, want)
	}
	const file = "/work/1/cart.go"
	isFile := func(t threadindex.Touch) bool { return t.Path == file }
	_, err = index.Lookup(ctx, 0, func(l threadindex.Lookup) error {
		got, err := l.Touches(ctx, []string{file, "/work/9/none.go", "/work"}, "")
		want := touches(isFile)
		same("touches of a file", got, err, want)
		tr.calls["lookups"] += len(want)
		got, err = l.Touches(ctx, nil, "cart.go")
		in := map[string]bool{} // directories of threads that have the file
		ofThread := map[thread.URI]thread.URI{}
		for _, t := range got {
			in[t.Path] = true
			ofThread[threadOf(t.URI)] = t.URI
		}
		same("touches in any directory", got, err,
			touches(func(t threadindex.Touch) bool { return in[t.Path] && strings.HasSuffix(t.Path, "/cart.go") }))
		for uri, message := range ofThread {
			got, err := l.TouchesOf(ctx, "", message)
			same("touches of a thread", got, err, touches(func(t threadindex.Touch) bool { return threadOf(t.URI) == uri }))
			item, err := l.Item(ctx, message)
			must(tr.t, err)
			n := 0
			if err := l.Read(ctx, message, func(thread.Message) error { n++; return nil }); err != nil || item.URI != uri ||
				n < item.Messages {
				tr.t.Fatalf("%s: got %+v with %d messages (%v)", message, item, n, err)
			}
			if uri.Provider == "codex" && uri.Agent != "" { // it names itself without its parent
				got, err := l.Item(ctx, thread.URI{Provider: uri.Provider, Thread: uri.Agent})
				same("item by the ID of "+uri.String(), got, err, item)
				tr.calls["subagents"]++
			}
		}
		for _, name := range []string{artifact, commit, "absent"} {
			got, err := l.Mentions(ctx, name)
			want, wrong := files.Mentions(ctx, threadindex.CallQuery{}, name)
			must(tr.t, wrong)
			same("mentions of "+name, append([]threadindex.Mention{}, got...), err, want.List)
		}
		return nil
	})
	must(tr.t, err)
	_, err = files.Lookup(ctx, 0, func(l threadindex.Lookup) error { // without an index
		got, err := l.Touches(ctx, []string{file}, "")
		same("touches of a file", got, err, touches(isFile))
		return nil
	})
	must(tr.t, err)
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
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "not an index of threads") {
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
	trees, rounds := uint64(2), 4
	if os.Getenv("HANDOFF_LONG") != "" {
		rounds = 6
	}
	if testing.Short() {
		trees = 1
	}
	for seed := range trees {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			tr := newTree(t, seed)
			file := filepath.Join(t.TempDir(), "cache", "threads.db")
			for range 15 {
				tr.create()
			}
			later := 0
			now := func() time.Time { return time.Now().Add(time.Duration(later) * time.Minute) }
			for range rounds {
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
			for _, rows := range []string{"touches", "commands", "mentions", "requests", "lookups", "writes"} {
				if tr.calls[rows] == 0 {
					t.Errorf("no %s were found, so that nothing was compared", rows)
				}
			}
		})
	}
}

// TestMovedSession moves the transcript of a session to another project, and copies one
// of its subagents there.
func TestMovedSession(t *testing.T) {
	tr := newTree(t, 1)
	file := filepath.Join(t.TempDir(), "threads.db")
	later := func() time.Time { return time.Now().Add(time.Hour) }
	projects := filepath.Join(tr.home, ".claude", "projects")
	session := tr.id()
	record := func(agent, text string, calls ...object) string {
		rec := object{"uuid": tr.id(), "sessionId": session, "timestamp": "2026-02-03T04:00:00Z", "version": "2.1.100",
			"cwd": "/work/1", "type": "user", "message": object{"role": "user", "content": text}}
		if agent != "" {
			rec["agentId"], rec["isSidechain"] = agent, true
		}
		if len(calls) > 0 {
			rec["type"], rec["timestamp"], rec["message"] = "assistant", "2026-02-03T04:00:01Z", object{
				"id": tr.id(), "role": "assistant", "model": "claude-opus", "content": calls}
		}
		text = line(rec)
		for _, c := range calls {
			text += line(object{"uuid": tr.id(), "sessionId": session, "timestamp": "2026-02-03T04:00:02Z",
				"type": "user", "agentId": agent, "isSidechain": true,
				"message": object{"role": "user", "content": []object{
					{"type": "tool_result", "tool_use_id": c["id"], "content": "ok"}}}})
		}
		return text
	}
	edit := func(name string) object {
		return object{"type": "tool_use", "id": tr.id(), "name": "Edit", "input": object{"file_path": "/work/1/" + name}}
	}
	tr.write(filepath.Join(projects, "-work", session+".jsonl"), record("", "go"))
	agents := filepath.Join(session, "subagents")
	tr.write(filepath.Join(projects, "-work", agents, "agent-a1.jsonl"),
		record("a1", "one")+record("a1", "", edit("one.go")))
	tr.write(filepath.Join(projects, "-work", agents, "agent-a2.jsonl"),
		record("a2", "two")+record("a2", "", edit("two.go")))
	tr.compare(file, later)
	must(t, os.MkdirAll(filepath.Join(projects, "-moved"), 0o755))
	must(t, os.Rename(filepath.Join(projects, "-work", session+".jsonl"),
		filepath.Join(projects, "-moved", session+".jsonl")))
	tr.compare(file, later)
	tr.write(filepath.Join(projects, "-moved", agents, "agent-a2.jsonl"),
		record("a2", "two")+record("a2", "", edit("two.go"), edit("three.go")))
	tr.compare(file, later)
	list, _, err := threadindex.NewFiles(tr.set()).Active(t.Context(), threadindex.Query{})
	must(t, err)
	if len(list) != 1 || len(list[0].Writes) != 3 {
		t.Errorf("got %+v, want one thread with 3 changes", list)
	}
}

// TestDependentTranscripts removes transcripts whose records others have copies of:
// the facts of the others change.
func TestDependentTranscripts(t *testing.T) {
	t.Parallel()
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
	records := line(object{"timestamp": "2026-02-03T04:00:01Z", "type": "event_msg",
		"payload": object{"type": "task_started", "turn_id": "t1"}})
	for range 20 {
		records += tr.codexLine()
	}
	for i, id := range rollouts { // each is a fork of the one before
		meta := object{"id": id, "cwd": "/work/1"}
		if i > 0 {
			meta["forked_from_id"] = rollouts[i-1]
		}
		tr.write(filepath.Join(sessions, "rollout-2026-02-03T04-00-00-"+id+".jsonl"),
			line(object{"timestamp": "2026-02-03T04:00:00Z", "type": "session_meta", "payload": meta})+records)
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
	t.Parallel()
	tr := newTree(t, 1)
	tr.large = true
	size := 140
	if os.Getenv("HANDOFF_LONG") != "" {
		size = 150
	}
	for range size {
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
