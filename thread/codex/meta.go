package codex

import (
	"cmp"
	"sync"
	"time"

	"github.com/agent-handoff/handoff/internal/jsonl"
)

// A meta is what the first record of a rollout says about the thread. A later
// one is about another thread.
type meta struct {
	id, parent, forkedFrom          string
	subagent                        bool
	nickname, role, path            string
	cwd, branch, commit, repository string
	version, provider               string
	started                         time.Time
	historyStart                    int64  // records of a smaller ordinal were copied from the parent; 0: none
	baseThread                      string // whose rollout comes before this one
	baseEnd                         base
}

// A base is where the part of another thread's rollout ends that comes before
// one: at an ordinal or, where that is missing, after so many bytes.
type base struct{ ordinal, bytes int64 }

// heads are readers of first records, which are long.
var heads = sync.Pool{New: func() any { return jsonl.NewReaderSize(nil, 32<<10) }}

// readMeta reads the head of a rollout. One that says nothing of itself has the
// id in its name.
func readMeta(f file) (meta, error) {
	src, err := f.open()
	if err != nil {
		return meta{}, err
	}
	defer src.Close()
	m := meta{id: f.id}
	rd := heads.Get().(*jsonl.Reader)
	defer heads.Put(rd)
	rd.Reset(src)
	const enough = 10 // lines: the head is the first, or there is none
	for range enough {
		if !rd.Next() {
			break
		}
		line := rd.Line()
		if line.Get("type").Is("session_meta") {
			return parseMeta(line.Get("payload"), f), nil
		}
		if line.Get("type").Kind() == jsonl.Absent && line.Get("id").Kind() == jsonl.String {
			return parseMeta(line, f), nil // before 0.32 records had no envelope
		}
	}
	return m, nil
}

func parseMeta(v jsonl.Value, f file) meta {
	m := meta{id: f.id}
	for c := v.Members(); c.Next(); {
		switch c.Key() {
		case "id":
			m.id = c.Value().Text()
		case "timestamp":
			m.started = c.Value().Time()
		case "forked_from_id":
			m.forkedFrom = c.Value().Text()
		case "parent_thread_id":
			m.parent = c.Value().Text()
		case "thread_source":
			m.subagent = m.subagent || c.Value().Is("subagent")
		case "source":
			m.spawned(c.Value().Get("subagent"))
		case "cwd":
			m.cwd = c.Value().Text()
		case "cli_version":
			m.version = c.Value().Text()
		case "model_provider":
			m.provider = c.Value().Text()
		case "git":
			m.branch = c.Value().Get("branch").Text()
			m.commit = c.Value().Get("commit_hash").Text()
			m.repository = c.Value().Get("repository_url").Text()
		case "agent_path":
			m.path = cmp.Or(c.Value().Text(), m.path)
		case "agent_nickname":
			m.nickname = cmp.Or(c.Value().Text(), m.nickname)
		case "agent_role":
			m.role = cmp.Or(c.Value().Text(), m.role)
		case "subagent_history_start_ordinal":
			m.historyStart = c.Value().Int()
		case "history_base":
			m.baseThread = c.Value().Get("thread_id").Text()
			m.baseEnd = base{c.Value().Get("end_ordinal_exclusive").Int(), c.Value().Get("end_byte_offset").Int()}
		}
	}
	m.subagent = m.subagent || m.parent != ""
	if m.id == "" {
		m.id = f.id
	}
	return m
}

// spawned reads source.subagent: a word, or what the parent's tool call said.
func (m *meta) spawned(v jsonl.Value) {
	switch v.Kind() {
	case jsonl.String:
		m.subagent, m.role = true, cmp.Or(m.role, v.Text())
	case jsonl.Object:
		m.subagent = true
		spawn := v.Get("thread_spawn")
		m.parent = cmp.Or(m.parent, spawn.Get("parent_thread_id").Text())
		m.path = cmp.Or(m.path, spawn.Get("agent_path").Text())
		m.nickname = cmp.Or(m.nickname, spawn.Get("agent_nickname").Text())
		m.role = cmp.Or(m.role, spawn.Get("agent_role").Text())
	}
}
