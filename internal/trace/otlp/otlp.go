// Package otlp writes what agents did as traces in the JSON form of OTLP 1, with the
// semantic conventions of OpenTelemetry for GenAI, version 1.41.0. The traces have no
// contents: no message, title, argument or output.
package otlp

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
)

const (
	scope     = "github.com/agent-handoff/handoff"
	schemaURL = "https://opentelemetry.io/schemas/1.41.0"
)

// A Session is what is exported of one session or run.
type Session struct {
	handoff.Session
	Root      string // ID of the outermost session that it is in
	Tasks     []trace.Task
	Artifacts []handoff.Artifact
	Threads   map[string]Thread // by their URIs
}

// A Thread is what a thread did.
type Thread struct {
	By       string // URI of the thread that started it, "" for none
	Started  time.Time
	Requests []thread.Request
	Calls    []Call
}

// A Call is one use of a tool.
type Call struct {
	ID, Name   string
	Failed     bool
	Start, End time.Time
}

// The numbers of SpanKind and StatusCode.
const (
	internal = 1
	client   = 3
	failed   = 2
)

type object = map[string]any

// A span has the fields of Span, of opentelemetry.proto.trace.v1.
type span struct {
	TraceID    string   `json:"traceId"`
	SpanID     string   `json:"spanId"`
	Parent     string   `json:"parentSpanId,omitempty"`
	Name       string   `json:"name"`
	Kind       int      `json:"kind"`
	Start      string   `json:"startTimeUnixNano"`
	End        string   `json:"endTimeUnixNano"`
	Attributes []object `json:"attributes"`
	Events     []object `json:"events,omitempty"`
	Status     object   `json:"status"`
}

// Encode returns sessions as an ExportTraceServiceRequest. The same sessions give the same
// bytes. Those that are in the same outermost session are one trace.
func Encode(sessions []Session) []byte {
	spans := []span{}
	for _, s := range sessions {
		spans = append(spans, s.spans()...)
	}
	b, err := json.Marshal(object{"resourceSpans": []object{{
		"resource":   object{"attributes": attributes("service.name", "handoff")},
		"scopeSpans": []object{{"scope": object{"name": scope}, "schemaUrl": schemaURL, "spans": spans}},
	}}})
	if err != nil {
		panic(err) // the values are strings and numbers
	}
	return append(b, '\n')
}

// id returns the first n bytes of the digest of names, in hexadecimal.
func id(n int, names ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(names, "\x00")))
	return hex.EncodeToString(sum[:n])
}

func (s Session) spanID(names ...string) string { return id(8, append([]string{s.ID}, names...)...) }

// nano returns a time as the number of nanoseconds, which is a string in JSON.
func nano(t time.Time) string {
	if t.IsZero() {
		return "0"
	}
	return strconv.FormatInt(t.UnixNano(), 10)
}

// new returns a span, whose end is not before its start. A time that is not known is the other
// one, or that of the newest record of the session.
func (s Session) new(names []string, parent, name string, kind int, start, end time.Time, values ...any) span {
	if start.IsZero() {
		start = cmp.Or(end, s.OpenedAt, s.NewestAt)
	}
	if end.Before(start) {
		end = start
	}
	return span{TraceID: id(16, "trace", s.Root), SpanID: s.spanID(names...), Parent: parent,
		Name: strings.TrimSpace(name), Kind: kind, Start: nano(start), End: nano(end),
		Attributes: attributes(values...), Status: object{}}
}

// spans returns the span of the session, and those of its tasks.
func (s Session) spans() []span {
	end := s.ClosedAt
	known := map[string]bool{}
	for _, t := range s.Tasks {
		known[t.Thread] = true
		if s.ClosedAt.IsZero() && t.EndedAt.After(end) {
			end = t.EndedAt
		}
	}
	var parent string
	if s.Parent != "" {
		parent = Session{Session: handoff.Session{ID: s.Parent}}.spanID()
	}
	of := s.new(nil, parent, "invoke_workflow "+s.Workflow.Name, internal, s.OpenedAt, end,
		"gen_ai.operation.name", "invoke_workflow", "gen_ai.workflow.name", s.Workflow.Name,
		"gen_ai.agent.name", s.Agent.Name, "handoff.session.id", s.ID, "handoff.session.status", s.Status)
	of.fail(s.Status)
	list := []span{of}
	for _, t := range s.Tasks {
		by := s.Threads[t.Thread].By
		above := of.SpanID
		if by != "" && by != t.Thread && known[by] {
			above = s.taskID(trace.Task{Thread: by})
		}
		list = append(list, s.task(t, above)...)
	}
	for _, a := range s.Artifacts {
		i := 0
		if n := slices.IndexFunc(s.Tasks, func(t trace.Task) bool { return slices.Contains(t.Artifacts, a.ID) }); n >= 0 {
			task := s.taskID(s.Tasks[n])
			i = slices.IndexFunc(list, func(p span) bool { return p.SpanID == task })
		}
		list[i].Events = append(list[i].Events, object{"timeUnixNano": nano(a.CreatedAt),
			"name": "handoff.artifact.published", "attributes": attributes(
				"handoff.artifact.id", a.ID, "handoff.artifact.channel", a.Channel,
				"handoff.artifact.status", string(a.Status), "handoff.artifact.digest", digest(a),
				"handoff.artifact.size", a.SizeBytes)})
	}
	return list
}

func digest(a handoff.Artifact) string {
	if a.Digest.Value == "" {
		return ""
	}
	return a.Digest.Algorithm + ":" + a.Digest.Value
}

func (p *span) fail(status string) {
	if status == "failed" || status == "cancelled" {
		p.Status = object{"code": failed, "message": status}
		p.Attributes = append(p.Attributes, attributes("error.type", status)...)
	}
}

func (s Session) taskID(t trace.Task) string {
	if t.Thread != "" {
		return s.spanID("thread", t.Thread)
	}
	return s.spanID("work", t.Work)
}

// task returns the span of a task, with those of its requests and calls.
func (s Session) task(t trace.Task, parent string) []span {
	conversation, model := t.Thread, ""
	if len(t.Models) > 0 {
		model = t.Models[0]
	}
	names := []string{"thread", t.Thread}
	if t.Thread == "" {
		names = []string{"work", t.Work}
	}
	did := s.Threads[t.Thread]
	started := cmp.Or(t.StartedAt, did.Started)
	provider := providerOf("", model, t.Thread)
	of := s.new(names, parent, "invoke_agent "+t.Agent, internal, started, t.EndedAt, append([]any{
		"gen_ai.operation.name", "invoke_agent", "gen_ai.provider.name", provider, "gen_ai.agent.name", t.Agent,
		"gen_ai.conversation.id", conversation, "gen_ai.request.model", model}, usage(t.Usage.Usage)...)...)
	of.fail(t.Status)
	list := []span{of}
	before := started
	calls := did.Calls
	for i, r := range did.Requests {
		start := before
		for len(calls) > 0 && !calls[0].End.After(r.At) { // the model is asked again when a call has ended
			if calls[0].End.After(start) {
				start = calls[0].End
			}
			calls = calls[1:]
		}
		list = append(list, s.new(append(slices.Clone(names), "request", strconv.Itoa(i)), of.SpanID, "chat "+r.Model, client,
			start, r.At, "gen_ai.operation.name", "chat", "gen_ai.provider.name", providerOf(r.Provider, r.Model, t.Thread),
			"gen_ai.conversation.id", conversation, "gen_ai.request.model", r.Model,
			"gen_ai.usage.input_tokens", r.Input+r.CacheRead+r.CacheWrite, "gen_ai.usage.output_tokens", r.Output,
			"gen_ai.usage.cache_read.input_tokens", r.CacheRead, "gen_ai.usage.cache_creation.input_tokens", r.CacheWrite))
		before = r.At
	}
	for i, c := range did.Calls {
		p := s.new(append(slices.Clone(names), "call", strconv.Itoa(i)), of.SpanID, "execute_tool "+c.Name, internal, c.Start,
			c.End, "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", c.Name, "gen_ai.tool.call.id", c.ID)
		if c.Failed {
			p.fail("failed")
		}
		list = append(list, p)
	}
	return list
}

// usage returns the attributes of usage. The convention counts the tokens of the cache as
// input, too.
func usage(u handoff.Usage) (values []any) {
	sum := func(list ...*int64) *int64 {
		var total *int64
		for _, n := range list {
			if n != nil {
				total = new(*n + *cmp.Or(total, new(int64)))
			}
		}
		return total
	}
	values = []any{"gen_ai.usage.input_tokens", sum(u.Input, u.CacheRead, u.CacheWrite),
		"gen_ai.usage.output_tokens", u.Output, "gen_ai.usage.cache_read.input_tokens", u.CacheRead,
		"gen_ai.usage.cache_creation.input_tokens", u.CacheWrite}
	if u.Cost != nil {
		values = append(values, "handoff.cost.usd", *u.Cost)
	}
	return values
}

// providerOf returns the well-known name of a provider of models, as far as the model or the
// program of the thread shows it.
func providerOf(name, model, uri string) string {
	program, _, _ := strings.Cut(strings.TrimPrefix(uri, "agents://"), "/")
	for _, p := range [][2]string{{"claude", "anthropic"}, {"gpt-", "openai"}, {"codex", "openai"},
		{"gemini", "gcp.gemini"}} {
		if name == "" && (strings.HasPrefix(model, p[0]) || model == "" && program == p[0]) {
			return p[1]
		}
	}
	return cmp.Or(name, program, "unknown")
}

// attributes returns names and values as attributes. What is empty is left out.
func attributes(values ...any) []object {
	list := []object{}
	for i := 0; i < len(values); i += 2 {
		var value object
		switch v := values[i+1].(type) {
		case string:
			if v == "" {
				continue
			}
			value = object{"stringValue": strings.ToValidUTF8(v, "�")}
		case int64:
			value = object{"intValue": strconv.FormatInt(v, 10)}
		case *int64:
			if v == nil {
				continue
			}
			value = object{"intValue": strconv.FormatInt(*v, 10)}
		case float64:
			value = object{"doubleValue": v}
		}
		list = append(list, object{"key": values[i], "value": value})
	}
	return list
}
