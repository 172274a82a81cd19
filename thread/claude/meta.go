package claude

import (
	"cmp"
	"io"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A meta is the content of the first and last records of a transcript, and of the
// .meta.json file of a subagent.
type meta struct {
	session    string // in the first record
	agent      string // ID of the subagent in its first record
	records    bool   // there is a record of the thread
	sidechain  bool   // that record is one of a subagent
	last       string // session in the last record
	copied     bool   // records of another session were copied from it
	forkedFrom string
	cwd        string
	branch     string
	version    string
	title      string
	started    time.Time
	prompt     uint64 // hash of the first message
	first      uint64 // hash of the UUID of the first message
	firstID    string // that UUID
	name, role string
	described  bool  // the name describes the task
	depth      int64 // of a subagent: 1 for one of a session; 0 unknown
}

const (
	headSize  = 128 << 10
	headLines = 24
	tailSize  = 16 << 10
)

// readMeta reads the start and the end of a transcript.
func readMeta(f file) (m meta, err error) {
	src, err := thread.OpenFile(f.path)
	if err != nil {
		return m, err
	}
	defer src.Close()
	rd := jsonl.NewReaderSize(io.LimitReader(src, headSize), 8<<10)
	var titles [2]string
	for rd.Number() < headLines && rd.Next() {
		r, _ := parseRecord(rd.Line())
		m.add(&r)
		readTitle(rd.Line(), &titles)
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
			readTitle(line, &titles)
		}
	}
	m.title = cmp.Or(titles[0], titles[1])
	if f.agent {
		m.readMetaFile(f)
	}
	return m, rd.Err()
}

// add reads one of the first records. Their texts are often those of the one before.
func (m *meta) add(r *record) {
	if kind := string(r.kind); m.session == "" {
		if id := r.session.Text(); id != "" || kind == "user" || kind == "assistant" {
			m.session, m.sidechain, m.records = id, r.sidechain, true
		}
	}
	if m.agent == "" {
		m.agent = strings.TrimPrefix(r.agent.Text(), prefix)
	}
	first := func(text *string, v jsonl.Value) {
		if *text == "" {
			*text = v.Text()
		}
	}
	first(&m.cwd, r.cwd)
	first(&m.branch, r.branch)
	first(&m.version, r.version)
	first(&m.forkedFrom, r.forked.Get("sessionId"))
	if m.started.IsZero() {
		m.started = r.at.Time()
	}
	if m.prompt == 0 && string(r.kind) == "user" {
		m.firstID = r.uuid.Text()
		m.prompt, m.first = digest(text(r.message.Get("content"))), digest(m.firstID)
	}
}

// readTitle reads a title: titles[0] is from the user, titles[1] from the tool. A
// summary describes another session.
func readTitle(line jsonl.Value, titles *[2]string) {
	switch string(line.Get("type").Raw()) {
	case "custom-title":
		titles[0] = cmp.Or(line.Get("customTitle").Text(), titles[0])
	case "ai-title":
		titles[1] = cmp.Or(line.Get("aiTitle").Text(), titles[1])
	}
}

// readMetaFile reads the .meta.json file that newer versions write for a subagent.
func (m *meta) readMetaFile(f file) {
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
	m.name = v.Get("name").Text()
	if m.described = m.name == ""; m.described {
		m.name = v.Get("description").Text()
	}
	m.depth = v.Get("spawnDepth").Int()
}
