package pi

import (
	"bytes"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A head is the header of a session.
type head struct {
	id, cwd, title string
	from           string   // path of the session whose entries were copied
	parent         string   // ID of the session that started it
	children       []string // IDs of the sessions that it started
	started        time.Time
}

// headLen is how much of a file is read for its header.
const headLen = 4 << 10

// head reads the header of a file. It is zero if there is none.
func (t tree) head(s session) head {
	for line := range bytes.Lines(t.Head(s.path(), headLen)) {
		if v := jsonl.Value(line); v.Get("type").Is("session") {
			return parseHead(v)
		}
	}
	return head{}
}

func parseHead(v jsonl.Value) (h head) {
	for c := v.Members(); c.Next(); {
		switch string(c.Name()) {
		case "id":
			h.id = thread.LowerUUID(c.Value().Text())
		case "cwd":
			h.cwd = c.Value().Text()
		case "title", "name":
			h.title = c.Value().Text()
		case "timestamp":
			h.started = c.Value().Time()
		case "parentSession", "branchedFrom":
			h.from = c.Value().Text()
		default:
			h.relation(c.Key(), c.Value())
		}
	}
	if h.parent == h.id {
		h.parent = ""
	}
	return h
}

// relation reads a member that extensions use for parents and children. Each uses
// other names.
func (h *head) relation(name string, v jsonl.Value) {
	switch strings.ToLower(joined.Replace(name)) {
	case "parentsessionid", "parentthreadid", "mainsessionid", "rootsessionid", "parentid":
		if id := thread.LowerUUID(v.Text()); thread.IsUUID(id) {
			h.parent = id
		}
	case "childsessionid", "childsessionids", "childthreadid", "childthreadids", "subsessionid", "subsessionids",
		"subagentsessionid", "subagentsessionids", "subagentthreadids":
		if id := thread.LowerUUID(v.Text()); id != "" {
			h.children = append(h.children, id)
		}
		for c := v.Elements(); c.Next(); {
			if id := thread.LowerUUID(c.Value().Text()); id != "" {
				h.children = append(h.children, id)
			}
		}
	}
}

var joined = strings.NewReplacer("_", "", "-", "")
