package claude

import (
	"hash/maphash"
	"strings"

	"github.com/agent-handoff/handoff/internal/jsonl"
)

// A record is one line of a transcript. Missing members are empty.
type record struct {
	kind, subtype                  []byte
	uuid, parent, session, agent   jsonl.Value
	at, request, message, result   jsonl.Value
	content, data, attachment      jsonl.Value
	cwd, branch, version           jsonl.Value
	origin, operation, forked      jsonl.Value
	tool                           jsonl.Value // ID of the call of a progress record
	sidechain, meta, summary, fail bool
}

// parseRecord parses the first record of a line. The cursor is at its end.
func parseRecord(line jsonl.Value) (r record, c jsonl.Cursor) {
	for c = line.Members(); c.Next(); {
		v := c.Value()
		if into := r.field(c.Name()); into != nil {
			*into = v
			continue
		}
		switch string(c.Name()) {
		case "type":
			r.kind = v.Raw()
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
	return r, c
}

func (r *record) field(name []byte) *jsonl.Value {
	switch string(name) {
	case "uuid":
		return &r.uuid
	case "parentUuid":
		return &r.parent
	case "sessionId":
		return &r.session
	case "agentId":
		return &r.agent
	case "timestamp":
		return &r.at
	case "requestId":
		return &r.request
	case "message":
		return &r.message
	case "toolUseResult":
		return &r.result
	case "content":
		return &r.content
	case "data":
		return &r.data
	case "attachment":
		return &r.attachment
	case "cwd":
		return &r.cwd
	case "gitBranch":
		return &r.branch
	case "version":
		return &r.version
	case "origin":
		return &r.origin
	case "operation":
		return &r.operation
	case "forkedFrom":
		return &r.forked
	case "parentToolUseID":
		return &r.tool
	}
	return nil
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
	return strings.HasPrefix(text, "<ide_opened_file>") || strings.HasPrefix(text, "<ide_selection>") || strings.HasPrefix(text, "<system-reminder>")
}

var seed = maphash.MakeSeed()

func digest(s string) uint64 { return maphash.String(seed, s) }

// between returns the text between the first <tag> and </tag> of s.
func between(s, tag string) string {
	_, s, ok := strings.Cut(s, "<"+tag+">")
	s, _, closed := strings.Cut(s, "</"+tag+">")
	if !ok || !closed {
		return ""
	}
	return strings.TrimSpace(s)
}
