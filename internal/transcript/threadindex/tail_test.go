package threadindex_test

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/thread"
)

// TestTails appends to transcripts between queries, and also changes or cuts off what
// was read before.
func TestTails(t *testing.T) {
	tr := newTree(t, 1)
	file := filepath.Join(t.TempDir(), "threads.db")
	project := filepath.Join(tr.home, ".claude", "projects", "-work")
	session, other, rollout := tr.id(), tr.id(), tr.id()
	writers := map[string]func() string{
		filepath.Join(project,
			session+".jsonl"): func() string { return tr.claudeLine(session, "") },
		filepath.Join(project,
			other+".jsonl"): func() string { return tr.claudeLine(other, "") },
		filepath.Join(project, session, "subagents",
			"agent-abc.jsonl"): func() string { return tr.claudeLine(session, "abc") },
		filepath.Join(tr.home, ".codex", "sessions", "2026", "02", "03",
			"rollout-2026-02-03T04-00-00-"+rollout+".jsonl"): tr.codexLine,
	}
	lines := func(path string) (text string) {
		for range 1 + tr.r.IntN(30) {
			text += writers[path]()
		}
		return text
	}
	for _, path := range slices.Sorted(maps.Keys(writers)) {
		head := ""
		if strings.Contains(path, "rollout-") {
			head = line(object{"timestamp": "2026-02-03T04:00:00Z", "type": "session_meta",
				"payload": object{"id": rollout, "cwd": "/work/1"}})
		}
		tr.write(path, head+lines(path)+lines(path))
	}
	rounds := 5
	if os.Getenv("HANDOFF_LONG") != "" {
		rounds = 7
	}
	for range rounds {
		later := tr.r.IntN(4) > 0
		tr.compare(file, func() time.Time {
			if later {
				return time.Now().Add(time.Minute)
			}
			return time.Now()
		})
		for _, path := range slices.Sorted(maps.Keys(writers)) {
			info, err := os.Stat(path)
			must(t, err)
			b, err := os.ReadFile(path)
			must(t, err)
			switch tr.r.IntN(16) {
			case 0: // an early word, with the same size and times
				early := strings.NewReplacer("retry", "yrter", "cart", "trac").Replace(string(b[:len(b)/4]))
				tr.write(path, early+string(b[len(b)/4:]))
				must(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
			case 1:
				must(t, os.Truncate(path, int64(len(b)/2)))
			case 2: // cut off the end, and append more
				tr.write(path, string(b[:len(b)-50])+"\n"+lines(path)+lines(path))
			case 3: // not now
			case 4: // half a line
				more := lines(path)
				tr.write(path, string(b)+more[:len(more)-5])
			default:
				tr.write(path, string(b)+lines(path))
			}
		}
	}
	if most := segments(t, file); most < 3 {
		t.Errorf("a transcript has at most %d parts, so that few were read from a mark", most)
	}
}

// A slow driver calls between when it has found the transcripts of a search, which then
// opens them.
type slow struct {
	thread.Provider
	between func()
}

func (s slow) Stored(ctx context.Context) iter.Seq2[*thread.Stored, error] {
	return func(yield func(*thread.Stored, error) bool) {
		for st, err := range s.Provider.(thread.Lister).Stored(ctx) {
			if err == nil {
				open := st.Opener
				st.Opener = thread.OpenFunc(func(ctx context.Context) ([]*thread.Thread, error) {
					s.between()
					return open.Open(ctx)
				})
			}
			if !yield(st, err) {
				return
			}
		}
	}
}

// TestRebuiltWhileRead reads what was appended to a thread while another process
// reads all of it. No word of it is lost.
func TestRebuiltWhileRead(t *testing.T) {
	tr := newTree(t, 2)
	id := tr.id()
	path := filepath.Join(tr.home, ".claude", "projects", "-p", id+".jsonl")
	more := func(n int) (text string) {
		for range n {
			text += tr.claudeLine(id, "")
		}
		return text
	}
	text := strings.Replace(tr.claudeLine(id, ""), `"uuid"`, `"early":1,"uuid"`, 1)
	text += line(object{"type": "user", "uuid": "11111111-0000-4000-8000-000000000001", "sessionId": id,
		"timestamp": "2026-02-03T04:00:00Z", "message": object{"role": "user", "content": "quokkazebra"}})
	file := filepath.Join(t.TempDir(), "threads.db")
	later := func() time.Time { return time.Now().Add(time.Minute) }
	fast := threadindex.NewIndex(threadindex.NewFiles(tr.set()), file, later, nil)
	search := func(x *threadindex.Index) {
		t.Helper()
		r, err := x.Search(t.Context(), threadindex.Search{Text: "quokkazebra"})
		if must(t, err); len(r.Matches) != 1 {
			t.Errorf("got %d threads, want 1", len(r.Matches))
		}
	}
	for range 3 {
		text += more(20)
		tr.write(path, text)
		search(fast)
	}
	if segments(t, file) < 2 {
		t.Fatal("the thread has no mark")
	}
	tr.write(path, text+more(3))
	once := sync.OnceFunc(func() {
		db, err := sql.Open("sqlite", file)
		must(t, err)
		_, err = db.Exec("DELETE FROM marks")
		must(t, errors.Join(err, db.Close()))
		tr.write(filepath.Join(tr.home, ".claude", "projects", "-p", tr.id()+".jsonl"), more(1)) // takes the next number
		search(fast)
	})
	set := tr.set().With(func(d thread.Driver) thread.Driver {
		open := d.Open
		d.Open = func(roots []string) (thread.Provider, error) {
			p, err := open(roots)
			return slow{p, once}, err
		}
		return d
	})
	search(threadindex.NewIndex(threadindex.NewFiles(set), file, later, nil))
	search(fast)
}

// segments returns the number of parts of the thread that has the most.
func segments(t *testing.T, file string) (n int) {
	db, err := sql.Open("sqlite", file)
	must(t, err)
	must(t, errors.Join(db.QueryRow("SELECT 1 + max(rowid & 65535) FROM words").Scan(&n), db.Close()))
	return n
}
