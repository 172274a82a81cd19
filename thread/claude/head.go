package claude

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// A meta is the content of the first and last records of a transcript, and of the
// .meta.json file of a subagent.
type meta struct {
	session    string // in the first record
	agent      string // ID of the subagent in its first record
	records    bool   // there is a record of the thread
	sidechain  bool   // that record is one of a subagent
	last       string // session in the last record
	forkedFrom string
	cwd        string
	branch     string
	version    string
	title      string
	started    time.Time
	prompt     uint64 // hash of the first message
	first      string // UUID of the first message
	compacted  string // UUID of the first record, if it is a compaction
	uuids      bool   // there is a record with a UUID
	empty      bool   // it has no byte
	name, role string
	described  bool  // the name describes the task
	depth      int64 // of a subagent: 1 for one of a session; 0 unknown
}

const (
	headSize  = 128 << 10
	headLines = 24
	tailSize  = 16 << 10
)

// compactor is the beginning of the IDs of the subagents that write a summary.
const compactor = "acompact-"

// readHead sets what the start and the end of a transcript show.
func readHead(_ *thread.Walk, f *engine.Found, _ jsonl.Value) {
	m, err := readMeta(f)
	if err != nil {
		f.Err = thread.UnreadableError(f.Path, err)
		return
	}
	f.Head = m
	if !isAgent(f.Path) {
		return
	}
	f.Deeper = f.Parent != "" && m.depth != 1 && !strings.HasPrefix(f.ID, compactor)
	f.ID, f.Parent = cmp.Or(m.agent, f.ID), cmp.Or(f.Parent, m.session)
	f.Prompt = m.prompt
}

// readMeta reads the start and the end of a transcript.
func readMeta(f *engine.Found) (m meta, err error) {
	src, err := thread.OpenFile(f.Path)
	if err != nil {
		return m, err
	}
	defer src.Close()
	agent := isAgent(f.Path)
	m.empty = src.Size() == 0
	rd := jsonl.NewReaderSize(src, 8<<10)
	var titles [2]string
	for rd.Number() < headLines && rd.End() < headSize && rd.Next() {
		var r record
		r.parse(rd.Line())
		m.add(&r)
		readTitle(rd.Line(), &titles)
		if agent && m.prompt != 0 {
			break
		}
	}
	if agent {
		m.readMetaFile(f)
		return m, rd.Err()
	}
	rd.Reset(io.NewSectionReader(src, max(0, src.Size()-tailSize), tailSize))
	for rd.Next() {
		line := rd.Line()
		if id := line.Get("sessionId").Text(); id != "" {
			m.last = id
		}
		readTitle(line, &titles)
	}
	m.title = cmp.Or(titles[0], titles[1])
	return m, rd.Err()
}

// add reads one of the first records. Their texts are often those of the one before.
func (m *meta) add(r *record) {
	if kind := string(r.kind); m.session == "" {
		if id := r.session.Text(); id != "" || kind == "user" || kind == "assistant" {
			m.session, m.sidechain = id, r.sidechain
			m.records = true
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
		m.first, m.prompt = r.uuid.Text(), digest(text(r.message.Get("content")))
	}
	if !m.uuids && r.uuid.Kind() == jsonl.String {
		if m.uuids = true; string(r.subtype) == "compact_boundary" {
			m.compacted = r.uuid.Text()
		}
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
func (m *meta) readMetaFile(f *engine.Found) {
	const most = 64 << 10
	if strings.HasPrefix(f.ID, compactor) {
		m.role = "compaction"
	}
	src, err := thread.OpenFile(strings.TrimSuffix(f.Path, plain) + metaExt)
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

// open sets the metadata and the reader of a thread.
func (p *provider) open(w *thread.Walk, f *engine.Found, t *thread.Thread) {
	m := f.Head.(meta)
	t.Title, t.Cwd = m.title, m.cwd
	t.Branch, t.Version = m.branch, m.version
	t.Started = m.started
	at := transcript{p: p, path: f.Path, id: f.ID, agent: isAgent(f.Path), version: m.version}
	if m.empty {
		t.Warn("the transcript is empty")
	}
	if at.agent {
		t.AgentName, t.Described = m.name, m.described
		t.AgentRole, t.Reader = m.role, at.reader(m.session)
		return
	}
	if m.session != "" && m.session != f.ID {
		if at.copies = m.last == f.ID; at.copies {
			t.ForkedFrom = m.session
		} else {
			t.WarnID(f.ID, m.session)
		}
	}
	at.origin = p.index.origin(w, f.Path, f.ID, m)
	t.ForkedFrom, t.Family = cmp.Or(m.forkedFrom, t.ForkedFrom, at.origin.from), at.origin.family
	at.forked = t.ForkedFrom != ""
	t.Reader = at.reader(m.session)
}

// relate adds what proves or contradicts that a transcript is of a subagent of main: the
// members isSidechain and sessionId of its first record.
func relate(main *thread.Thread, a *thread.Agent, child *thread.Thread) {
	if a.Name != "" && (child.Described || child.AgentName == "") {
		child.AgentName, child.Described = a.Name, a.Described
	}
	child.AgentRole = cmp.Or(child.AgentRole, a.Role)
	a.Name, a.Described = child.AgentName, child.Described
	a.Role = child.AgentRole
	f, of := child.Reader.(*engine.Reader).Found(), main.Reader.(*engine.Reader).Found()
	a.Aliases = alias(a.Aliases, prefix+child.ID)
	m, ok := f.Head.(meta)
	if !ok {
		a.Evidence = append(a.Evidence, "its records are in the transcript of the main thread")
		return
	}
	if main.IsAgent() {
		child.Parent = main.ID
	}
	matches := m.session == main.ID || (m.session != "" && m.session == of.Parent)
	if m.sidechain && matches {
		a.Evidence = append(a.Evidence, "agent transcript is sidechain and sessionId matches main thread")
	}
	if m.records && !m.sidechain {
		a.Conflicts = append(a.Conflicts, "isSidechain is not true in the agent's transcript")
	}
	if m.records && !matches && (m.session != prefix+f.Named || a.Evidence == nil) { // some record their own name
		a.Conflicts = append(a.Conflicts, "sessionId in the agent's transcript is "+cmp.Or(m.session, "missing"))
	}
	if f.Named != child.ID {
		a.Aliases = alias(alias(a.Aliases, f.Named), prefix+f.Named)
	}
}

// alias adds a name to those of a subagent.
func alias(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}
