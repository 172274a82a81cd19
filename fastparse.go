package handoff

import (
	"strings"
	"time"
	"unicode/utf8"
)

// parseFast decodes an artifact's record that has the form in which this
// package writes it: no white space, keys in the order of their fields, no
// escapes in strings. Nearly all of a log is such records, and this is about
// ten times as fast as encoding/json. Of all others it says not ok, and
// leaves them to encoding/json; where it says ok, the result is the same.
func parseFast(b []byte) (r Record, ok bool) {
	s := scanner{rest: strings.TrimSuffix(string(b), "\n")}
	s.open('{')
	if s.key("version") {
		r.Version = int(s.integer())
	}
	if s.key("type") {
		r.Type = s.text()
	}
	if r.Type != "artifact.published" {
		return Record{}, false
	}
	if s.key("id") {
		r.ID = s.text()
	}
	if s.key("createdAt") {
		r.CreatedAt = s.time()
	}
	if s.key("producer") {
		s.producer(&r.Producer)
	}
	p := new(ArtifactPublished)
	s.published(p)
	s.close('}')
	if s.failed || s.rest != "" {
		return Record{}, false
	}
	r.Fact, r.raw = p, b
	return r, true
}

func (s *scanner) producer(p *Producer) {
	s.open('{')
	s.texts(
		field{"workId", &p.WorkID}, field{"parentWorkId", &p.ParentWorkID},
		field{"harness", &p.Harness}, field{"agent", &p.Agent},
	)
	if s.key("model") {
		s.open('{')
		s.texts(field{"provider", &p.Model.Provider}, field{"id", &p.Model.ID})
		s.close('}')
	}
	s.texts(
		field{"runId", &p.RunID}, field{"operationId", &p.OperationID}, field{"taskId", &p.TaskID},
		field{"session", &p.Session}, field{"parentSession", &p.ParentSession},
		field{"thread", &p.Thread}, field{"toolCallId", &p.ToolCallID},
	)
	if s.key("ids") {
		p.IDs = s.dictionary()
	}
	if s.key("observed") {
		p.Observed = []Observation{}
		s.open('[')
		for s.more(']') {
			var o Observation
			s.open('{')
			s.texts(field{"harness", &o.Harness})
			if s.key("ids") {
				o.IDs = s.dictionary()
			}
			s.texts(field{"source", (*string)(&o.Source)})
			s.close('}')
			p.Observed = append(p.Observed, o)
		}
		s.close(']')
	}
	s.texts(field{"source", (*string)(&p.Source)})
	s.close('}')
}

func (s *scanner) published(p *ArtifactPublished) {
	s.texts(
		field{"channel", &p.Channel}, field{"kind", &p.Kind}, field{"path", &p.Path}, field{"root", &p.Root}, field{"worktree", &p.Worktree},
		field{"targetType", &p.TargetType}, field{"title", &p.Title}, field{"summary", &p.Summary},
		field{"mediaType", &p.MediaType},
	)
	if s.key("sizeBytes") {
		size := s.integer()
		p.SizeBytes = &size
	}
	if s.key("digest") {
		s.open('{')
		s.texts(field{"algorithm", &p.Digest.Algorithm}, field{"value", &p.Digest.Value})
		s.close('}')
	}
	if s.key("kept") {
		p.Kept = s.literal("true")
	}
	s.texts(field{"namespace", &p.Namespace}, field{"name", &p.Name})
	for _, list := range []struct {
		key  string
		into *[]string
	}{{"replaces", &p.Replaces}, {"parentArtifactIds", &p.Parents}, {"tags", &p.Tags}} {
		if s.key(list.key) {
			*list.into = s.list()
		}
	}
	s.texts(field{"key", &p.Key})
}

// A scanner takes a JSON text apart from its beginning. Once it has failed, it
// takes nothing more.
type scanner struct {
	rest   string
	failed bool
	inside bool // an element of the innermost object or array was taken
}

type field struct {
	key  string
	into *string
}

// texts takes those of the fields that come next, in their order.
func (s *scanner) texts(fields ...field) {
	for _, f := range fields {
		if s.key(f.key) {
			*f.into = s.text()
		}
	}
}

func (s *scanner) fail() { s.rest, s.failed = "", true }

func (s *scanner) literal(text string) bool {
	rest, ok := strings.CutPrefix(s.rest, text)
	if !ok {
		s.fail()
		return false
	}
	s.rest = rest
	return true
}

func (s *scanner) open(bracket byte) {
	s.literal(string(bracket))
	s.inside = false
}

func (s *scanner) close(bracket byte) {
	s.literal(string(bracket))
	s.inside = true
}

// key takes the name of the next member, if it is the given one.
func (s *scanner) key(name string) bool {
	rest := s.rest
	if s.inside {
		if rest == "" || rest[0] != ',' {
			return false
		}
		rest = rest[1:]
	}
	n := len(name)
	if len(rest) < n+3 || rest[0] != '"' || rest[1:n+1] != name || rest[n+1] != '"' || rest[n+2] != ':' {
		return false
	}
	s.rest, s.inside = rest[n+3:], true
	return true
}

// more reports whether the array has another element, and steps to it.
func (s *scanner) more(bracket byte) bool {
	if s.rest == "" || s.rest[0] == bracket {
		return false
	}
	if s.inside {
		s.literal(",")
	}
	s.inside = true
	return !s.failed
}

// text takes a string without escapes.
func (s *scanner) text() string {
	if !s.literal(`"`) {
		return ""
	}
	end := strings.IndexByte(s.rest, '"')
	if end < 0 {
		s.fail()
		return ""
	}
	text := s.rest[:end]
	plain := true
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '\\' {
			s.fail()
			return ""
		} else if c >= utf8.RuneSelf {
			plain = false
		}
	}
	if !plain && !utf8.ValidString(text) {
		s.fail()
		return ""
	}
	s.rest = s.rest[end+1:]
	return text
}

// integer takes a number without sign, fraction or exponent.
func (s *scanner) integer() int64 {
	n, i := int64(0), 0
	for i < len(s.rest) && i < 18 && s.rest[i] >= '0' && s.rest[i] <= '9' {
		n = n*10 + int64(s.rest[i]-'0')
		i++
	}
	if i == 0 || i == len(s.rest) || i > 1 && s.rest[0] == '0' {
		s.fail()
		return 0
	}
	s.rest = s.rest[i:] // whatever ends the number must be what comes next
	return n
}

func (s *scanner) time() time.Time {
	var t time.Time
	if text := s.text(); s.failed || t.UnmarshalText([]byte(text)) != nil {
		s.fail()
	}
	return t
}

func (s *scanner) list() []string {
	list := []string{}
	s.open('[')
	for s.more(']') {
		list = append(list, s.text())
	}
	s.close(']')
	return list
}

func (s *scanner) dictionary() map[string]string {
	m := map[string]string{}
	s.open('{')
	for s.more('}') {
		key := s.text()
		s.literal(":")
		m[key] = s.text()
	}
	s.close('}')
	return m
}
