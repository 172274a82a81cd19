package claude

import (
	"cmp"
	"io"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A meta is what the first and last records of a transcript say about it, and
// the file beside a subagent's.
type meta struct {
	session    string // that the first record names
	last       string // that the last record names
	copied     bool   // records that name another session were copied from it
	forkedFrom string
	cwd        string
	branch     string
	version    string
	title      string
	started    time.Time
	prompt     uint64 // the hash of its first message
	first      uint64 // the hash of the uuid of that
	name, role string
	depth      int64 // of a subagent: 1 below a session; 0 unknown
}

const (
	headSize = 128 << 10
	tailSize = 16 << 10
)

// readMeta reads the ends of a transcript.
func readMeta(f file) (m meta, err error) {
	src, err := thread.OpenFile(f.path)
	if err != nil {
		return m, err
	}
	defer src.Close()
	rd := jsonl.NewReaderSize(io.LimitReader(src, headSize), 8<<10)
	var titles [2]string
	const enough = 24
	for rd.Number() < enough && rd.Next() {
		m.learn(rd.Line(), &titles)
		if f.agent && m.prompt != 0 {
			break
		}
	}
	if !f.agent {
		rd.Reset(io.NewSectionReader(src, max(0, f.size-tailSize), tailSize))
		for rd.Next() {
			line := rd.Line()
			if id := line.Get("sessionId").Text(); id != "" {
				m.last = id
			}
			entitle(line, &titles)
		}
	}
	m.title = cmp.Or(titles[0], titles[1])
	if f.agent {
		m.beside(f)
	}
	return m, rd.Err()
}

// learn notes what one of the first records says.
func (m *meta) learn(line jsonl.Value, titles *[2]string) {
	r, _ := parseRecord(line)
	m.session = cmp.Or(m.session, r.session.Text())
	m.cwd = cmp.Or(m.cwd, r.cwd.Text())
	m.branch = cmp.Or(m.branch, r.branch.Text())
	m.version = cmp.Or(m.version, r.version.Text())
	m.forkedFrom = cmp.Or(m.forkedFrom, r.forked.Get("sessionId").Text())
	if m.started.IsZero() {
		m.started = r.at.Time()
	}
	if m.prompt == 0 && string(r.kind) == "user" {
		m.prompt, m.first = digest(strings.TrimSpace(said(r.message.Get("content")))), digest(r.uuid.Text())
	}
	entitle(line, titles)
}

// entitle notes a title: one that a person gave comes before the tool's. A
// summary is about another session.
func entitle(line jsonl.Value, titles *[2]string) {
	switch string(line.Get("type").Raw()) {
	case "custom-title":
		titles[0] = cmp.Or(line.Get("customTitle").Text(), titles[0])
	case "ai-title":
		titles[1] = cmp.Or(line.Get("aiTitle").Text(), titles[1])
	}
}

// beside reads the small file that newer versions keep beside a subagent's.
func (m *meta) beside(f file) {
	const most = 64 << 10
	if strings.HasPrefix(f.id, "acompact-") {
		m.role = "compaction"
	}
	src, err := thread.OpenFile(strings.TrimSuffix(f.path, plain) + ".meta.json")
	if err != nil {
		return
	}
	defer src.Close()
	b, err := io.ReadAll(io.LimitReader(src, most))
	if err != nil {
		return
	}
	v := jsonl.Value(b)
	m.role = cmp.Or(v.Get("agentType").Text(), m.role)
	m.name = cmp.Or(v.Get("name").Text(), v.Get("description").Text())
	m.depth = v.Get("spawnDepth").Int()
}
