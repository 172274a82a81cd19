package codex

import (
	"cmp"
	"sync"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
)

// A meta is the first record of a rollout. Later records of its kind describe
// other threads.
type meta struct {
	id, parent, forkedFrom          string
	subagent                        bool
	nickname, role, path            string
	cwd, branch, commit, repository string
	version, provider               string
	started                         time.Time
	historyStart                    int64  // records with a smaller ordinal were copied from the parent; 0: none
	baseThread                      string // the thread whose rollout comes before this one
	baseEnd                         base
}

// A base is the end of the part of another thread's rollout that comes before
// this one: an ordinal or, if that is missing, a number of bytes.
type base struct{ ordinal, bytes int64 }

// heads are readers for first records, which are long.
var heads = sync.Pool{New: func() any { return jsonl.NewReaderSize(nil, 32<<10) }}

// readMeta reads the meta of a rollout. A rollout without one has the ID in its
// name.
func readMeta(f file) (meta, error) {
	src, err := f.open()
	if err != nil {
		return meta{}, err
	}
	defer src.Close()
	rd := heads.Get().(*jsonl.Reader)
	defer heads.Put(rd)
	rd.Reset(src)
	const maxLines = 10
	for range maxLines {
		if !rd.Next() {
			break
		}
		if m, ok := metaOf(rd.Line(), f); ok {
			return m, nil
		}
	}
	return meta{id: f.id}, nil
}

// metaOf returns the meta in a record, if it has one.
func metaOf(line jsonl.Value, f file) (m meta, ok bool) {
	kind := line.Get("type")
	switch {
	case kind.Is("session_meta"):
		return parseMeta(line.Get("payload"), f), true
	case kind.Kind() == jsonl.Absent && line.Get("id").Kind() == jsonl.String:
		return parseMeta(line, f), true // before 0.32 records had no envelope
	}
	return m, false
}

func parseMeta(v jsonl.Value, f file) meta {
	var r jsonl.Members
	r.Parse(v)
	text := func(name string, path ...string) string { return r.Get(name, path...).Text() }
	spawn := r.Get("source", "subagent", "thread_spawn")
	spawned := func(name string) string { return cmp.Or(text(name), spawn.Get(name).Text()) }
	m := meta{
		id: cmp.Or(text("id"), f.id), parent: spawned("parent_thread_id"), forkedFrom: text("forked_from_id"),
		nickname: spawned("agent_nickname"), path: spawned("agent_path"), role: spawned("agent_role"),
		cwd: text("cwd"), version: text("cli_version"), provider: text("model_provider"), started: r.Get("timestamp").Time(),
		branch: text("git", "branch"), commit: text("git", "commit_hash"), repository: text("git", "repository_url"),
		historyStart: r.Get("subagent_history_start_ordinal").Int(), baseThread: text("history_base", "thread_id"),
		baseEnd: base{r.Get("history_base", "end_ordinal_exclusive").Int(), r.Get("history_base", "end_byte_offset").Int()},
	}
	// source.subagent is a role, or what the parent's call contained.
	kind := r.Get("source", "subagent")
	m.role = cmp.Or(m.role, kind.Text())
	m.subagent = m.parent != "" || r.Get("thread_source").Is("subagent") || kind.Kind() == jsonl.String ||
		kind.Kind() == jsonl.Object
	return m
}
