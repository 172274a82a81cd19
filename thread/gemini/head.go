package gemini

import (
	"bytes"
	"cmp"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
)

// A head is the metadata of a chat.
type head struct {
	id, hash, kind, parent, title, cwd string
	started                            time.Time
}

// headLen is how much of a chat is read for its head, and of the end of a document,
// where newer versions write some members.
const headLen = 4 << 10

// head reads the head of a chat. It is zero if there is none.
func (t tree) head(c chat) head {
	start := jsonl.Value(t.Head(c.path(), headLen))
	if !c.document {
		return parseHead(firstHead(start))
	}
	h := parseHead(start)
	if len(start) == headLen {
		h.readTail(t.Tail(c.path(), headLen))
	}
	return h
}

// firstHead returns the line with the head of a log: the first, unless the file is
// damaged.
func firstHead(b jsonl.Value) jsonl.Value {
	for line := range bytes.Lines(b) {
		v := jsonl.Value(line)
		if v.Get("sessionId").Kind() == jsonl.String && v.Get("type").Kind() == jsonl.Absent {
			return v
		}
	}
	return nil
}

func parseHead(v jsonl.Value) head {
	var m jsonl.Members
	m.Parse(v)
	h := head{id: m.Get("sessionId").Text(), hash: m.Get("projectHash").Text(), started: m.Get("startTime").Time()}
	for _, name := range []string{"parentSessionId", "parent_session_id", "parentId", "kind", "summary", "directories"} {
		h.set(name, m.Get(name))
	}
	return h
}

// set sets a member that documents have at their start or at their end.
func (h *head) set(name string, v jsonl.Value) {
	switch name {
	case "parentSessionId", "parent_session_id", "parentId":
		h.parent = cmp.Or(v.Text(), h.parent)
	case "kind":
		h.kind = cmp.Or(v.Text(), h.kind)
	case "summary":
		h.title = cmp.Or(v.Text(), h.title)
	case "directories":
		if c := v.Elements(); c.Next() {
			h.cwd = c.Value().Text()
		}
	}
}

// readTail reads the members after the messages of a document. They are indented by
// two spaces, members of messages by more.
func (h *head) readTail(b []byte) {
	for line := range bytes.Lines(b) {
		member, ok := bytes.CutPrefix(line, []byte(`  "`))
		name, value, found := bytes.Cut(member, []byte(`": `))
		if ok && found {
			h.set(string(name), jsonl.Value(value))
		}
	}
}
