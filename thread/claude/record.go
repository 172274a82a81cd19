package claude

import (
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// A record is one line of a transcript. Missing members are empty.
type record struct {
	kind, subtype                  []byte
	uuid, parent, session, agent   jsonl.Value
	at, request, message, result   jsonl.Value
	content, data, attachment      jsonl.Value
	cwd, branch, version           jsonl.Value
	origin, operation, forked      jsonl.Value
	sums                           jsonl.Value // the usage of all requests of the session, by model
	tool                           jsonl.Value // ID of the call of a progress record
	sidechain, meta, summary, fail bool
}

// parse sets r to the first record of a line and returns the cursor at its end.
func (r *record) parse(line jsonl.Value) jsonl.Cursor {
	*r = record{}
	c := line.Members()
	for c.Next() {
		r.set(&c)
	}
	return c
}

// set sets the member that c is at. Of several types the first counts.
func (r *record) set(c *jsonl.Cursor) {
	v := c.Value()
	switch string(c.Name()) {
	case "uuid":
		r.uuid = v
	case "parentUuid":
		r.parent = v
	case "sessionId":
		r.session = v
	case "agentId":
		r.agent = v
	case "timestamp":
		r.at = v
	case "requestId":
		r.request = v
	case "message":
		r.message = v
	case "toolUseResult":
		r.result = v
	case "content":
		r.content = v
	case "data":
		r.data = v
	case "attachment":
		r.attachment = v
	case "cwd":
		r.cwd = v
	case "gitBranch":
		r.branch = v
	case "version":
		r.version = v
	case "origin":
		r.origin = v
	case "operation":
		r.operation = v
	case "forkedFrom":
		r.forked = v
	case "parentToolUseID":
		r.tool = v
	case "modelUsage":
		r.sums = v
	case "type":
		if r.kind == nil {
			r.kind = v.Raw()
		}
	case "subtype":
		r.subtype = v.Raw()
	case "isSidechain":
		r.sidechain = v.True()
	case "isMeta":
		r.meta = v.True()
	case "isCompactSummary":
		r.summary = v.True()
	case "isApiErrorMessage":
		r.fail = v.True()
	}
}

// known reports whether a record is one of the program: of a session, or about one.
func (r *record) known() bool {
	return r.session.Kind() == jsonl.String || string(r.kind) == "summary" || string(r.kind) == "file-history-snapshot"
}

// text returns the texts of a content.
func text(content jsonl.Value) string {
	if content.Kind() == jsonl.String {
		return strings.TrimSpace(content.Text())
	}
	var parts []string
	for c := content.Elements(); c.Next(); {
		v := c.Value()
		switch string(v.Get("type").Raw()) {
		case "text":
			if part := strings.TrimSpace(v.Get("text").Text()); part != "" && !isContext(part) {
				parts = append(parts, part)
			}
		case "image":
			parts = append(parts, "[image]")
		case "document":
			parts = append(parts, "[document]")
		}
	}
	return strings.Join(parts, "\n\n")
}

// isContext reports whether a text is context that an editor adds to a prompt.
func isContext(text string) bool {
	return strings.HasPrefix(text, "<ide_opened_file>") || strings.HasPrefix(text, "<ide_selection>") ||
		strings.HasPrefix(text, "<system-reminder>")
}

// part returns the record of a subagent that a record of its progress has a copy of, and
// the ID of the subagent. The ID is "" if it has none.
func (r *record) part() (id string, part record) {
	if string(r.kind) != "progress" || !r.data.Get("type").Is("agent_progress") {
		return "", part
	}
	part.parse(r.data.Get("message"))
	part.uuid, part.session, part.forked = r.uuid, r.session, r.forked
	if part.message.Kind() != jsonl.Object {
		return "", part
	}
	return r.data.Get("agentId").Text(), part
}

// A message is the message of a record of an answer. Of several members with the same
// name the first counts.
type message struct{ id, model, content, stop, usage jsonl.Value }

func (m *message) parse(v jsonl.Value) {
	*m = message{}
	for c := v.Members(); c.Next(); {
		var into *jsonl.Value
		switch string(c.Name()) {
		case "id":
			into = &m.id
		case "model":
			into = &m.model
		case "content":
			into = &m.content
		case "stop_reason":
			into = &m.stop
		case "usage":
			into = &m.usage
		default:
			continue
		}
		if *into == nil {
			*into = c.Value()
		}
	}
}

func digest[T string | []byte](s T) uint64 { return engine.Hash(s) }

// between returns the text between the first <tag> and </tag> of s.
func between(s, tag string) string {
	_, s, ok := strings.Cut(s, "<"+tag+">")
	s, _, closed := strings.Cut(s, "</"+tag+">")
	if !ok || !closed {
		return ""
	}
	return strings.TrimSpace(s)
}
