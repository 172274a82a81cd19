package claude

import (
	"hash/maphash"
	"strings"

	"github.com/agent-handoff/handoff/internal/jsonl"
)

// A record is one line of a transcript. What it does not say is empty.
type record struct {
	kind, subtype                  []byte
	uuid, parent, session, agent   jsonl.Value
	at, request, message, result   jsonl.Value
	content, data, attachment      jsonl.Value
	cwd, branch, version           jsonl.Value
	origin, operation, forked      jsonl.Value
	tool                           jsonl.Value // the call that progress is about
	sidechain, meta, summary, fail bool
}

// parseRecord reads the record that line begins with. The cursor tells whether
// it is whole and what follows.
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

// said joins the texts of a content.
func said(content jsonl.Value) string {
	if content.Kind() == jsonl.String {
		return strings.TrimSpace(content.Text())
	}
	var parts []string
	for c := content.Elements(); c.Next(); {
		v := c.Value()
		switch string(v.Get("type").Raw()) {
		case "text":
			if text := strings.TrimSpace(v.Get("text").Text()); text != "" && !aside(text) {
				parts = append(parts, text)
			}
		case "image":
			parts = append(parts, "[image]")
		case "document":
			parts = append(parts, "[document]")
		}
	}
	return strings.Join(parts, "\n\n")
}

// aside reports whether a text is what an editor puts beside a prompt.
func aside(text string) bool {
	return strings.HasPrefix(text, "<ide_opened_file>") || strings.HasPrefix(text, "<ide_selection>") || strings.HasPrefix(text, "<system-reminder>")
}

var seed = maphash.MakeSeed()

func digest(s string) uint64 { return maphash.String(seed, s) }

// between returns what stands between the first <tag> and </tag> of s.
func between(s, tag string) string {
	_, s, ok := strings.Cut(s, "<"+tag+">")
	s, _, closed := strings.Cut(s, "</"+tag+">")
	if !ok || !closed {
		return ""
	}
	return strings.TrimSpace(s)
}
