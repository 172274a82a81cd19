package gemini

import (
	"bytes"
	"time"

	"github.com/agent-handoff/handoff/internal/jsonl"
)

// A head is the metadata of a chat.
type head struct {
	id, hash, kind, parent, title, cwd string
	started, updated                   time.Time
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

func parseHead(v jsonl.Value) (h head) {
	for c := v.Members(); c.Next(); {
		h.set(string(c.Name()), c.Value())
	}
	return h
}

func (h *head) set(name string, v jsonl.Value) {
	switch name {
	case "sessionId":
		h.id = v.Text()
	case "projectHash":
		h.hash = v.Text()
	case "kind":
		h.kind = v.Text()
	case "parentSessionId", "parent_session_id", "parentId":
		h.parent = v.Text()
	case "summary":
		h.title = v.Text()
	case "startTime":
		h.started = v.Time()
	case "lastUpdated":
		h.updated = v.Time()
	case "directories":
		for c := v.Elements(); c.Next() && h.cwd == ""; {
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
