package claude

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// synthetic is the model name in assistant records that the tool wrote itself.
const synthetic = "<synthetic>"

// counts are the members of a usage.
var counts = engine.Counts{Input: "input_tokens", CacheRead: "cache_read_input_tokens",
	CacheWrite: "cache_creation_input_tokens", Output: "output_tokens",
	Optional: []string{"cache_read_input_tokens", "cache_creation_input_tokens"},
	Other:    []string{"cache_creation", "output_tokens_details", "server_tool_use", "iterations", "fallback_credit"}}

// An answer is what is known of the usage of one answer.
//
// An answer has several records, one for each block or state of it, all with the
// usage of the complete request as known at that time. The one with the most
// output counts, the last of equal ones. Only assistant records count: progress
// records and results of calls repeat the usage of subagents.
type answer struct {
	Key     string
	Model   string
	Fast    bool  // it was made in the fast mode, which has its own price
	Output  int64 // tokens
	Visible int   // bytes of text and calls
	Open    bool  // the reason of its end is missing
	Copied  bool
}

// priced returns the name of the model that has the price.
func (a *answer) priced() string {
	if a.Fast && a.Model != "" {
		return a.Model + "-fast"
	}
	return a.Model
}

// A counted is a usage. That of a record is often that of the one before.
type counted struct {
	raw    []byte // as JSON
	ok     bool
	tokens thread.Tokens
	speed  string
	other  []engine.Use // of requests that other models answered within it
}

// usage counts the usage of an assistant record, whose message is d.msg. again reports
// whether the record was read before.
func (d *decode) usage(r *record, again bool) {
	u, model := d.count(d.msg.usage), d.modelOf(d.msg.model)
	if !u.ok {
		if model != "" && model != synthetic {
			d.Meter.Add("", model, thread.Tokens{}, d.Timeline.Inherited)
			if d.own() {
				d.Missing("usage")
			}
		}
		return
	}
	a, t := d.answerOf(r, model), u.tokens
	if model == synthetic {
		t.Calls = 0
	}
	if !again {
		a.Visible += visible(d.msg.content)
	}
	if t.Output < a.Output || t == (thread.Tokens{}) {
		return
	}
	if u.speed != "" {
		a.Fast = u.speed == "fast"
	}
	a.Output, a.Open = t.Output, d.msg.stop.Kind() != jsonl.String
	d.Meter.N, d.Meter.At = d.Timeline.Messages, r.at.Time()
	d.use(a.Key, engine.Use{Key: a.Key, Model: a.priced(), Tokens: t})
	for i, other := range u.other {
		other.Key = fmt.Sprint(a.Key, " ", i)
		d.use(a.Key, other)
	}
}

// use counts a part of the usage of a request.
func (d *decode) use(request string, u engine.Use) {
	u.Policy, u.Apart = engine.Grows, true // the tokens are added to the message with its text
	added := d.Use(u)
	if added != (thread.Tokens{}) && d.own() {
		d.Sums = nil // it is not in them
	}
	if d.Timeline.Detail == thread.Summary || added == (thread.Tokens{}) {
		return
	}
	if request != d.Request {
		d.credit()
		d.Request, d.saved.Answered = request, false
	}
	d.Credit.Add(added)
	if d.saved.Answered {
		d.credit()
	}
}

// credit adds the tokens of the last request to the message with its text, else to the
// message before, if there is one.
func (d *decode) credit() {
	if d.Credit != (thread.Tokens{}) && d.Timeline.AddUsage(d.Credit) {
		d.Credit = thread.Tokens{}
	}
}

// answerOf returns the answer of a record.
func (d *decode) answerOf(r *record, model string) *answer {
	id := d.msg.id.Raw()
	if len(id) == 0 {
		id = r.uuid.Raw()
	}
	if len(id) == 0 {
		id = fmt.Append(nil, "line ", d.n)
	}
	a := d.Answers[string(id)]
	if a != nil && a.Model != model && r.request.Kind() == jsonl.String {
		// Some gateways use one ID for several answers.
		id = slices.Concat(id, []byte(" "), r.request.Raw())
		a = d.Answers[string(id)]
	}
	if a == nil {
		a = &answer{Key: string(id), Model: model, Copied: d.Timeline.Inherited}
		set(&d.Answers, a.Key, a)
	}
	return a
}

// modelOf returns the name of a model, which is often that of the record before.
func (d *decode) modelOf(v jsonl.Value) string {
	if !bytes.Equal(v, d.rawName) {
		d.rawName, d.name = append(d.rawName[:0], v...), v.Text()
	}
	return d.name
}

// count returns what is counted in a usage.
func (d *decode) count(usage jsonl.Value) *counted {
	u := &d.counted
	if bytes.Equal(usage, u.raw) && u.raw != nil {
		return u
	}
	*u = counted{raw: append(u.raw[:0], usage...)}
	if u.tokens, u.ok = d.tokens(usage); !u.ok {
		return u
	}
	u.speed = usage.Get("speed").Text()
	for c := usage.Get("iterations").Elements(); c.Next(); {
		v := c.Value()
		switch kind := v.Get("type"); string(kind.Raw()) {
		case "", "message", "fallback_message": // the sum includes them
		case "advisor_message", "compaction":
			if t, ok := d.tokens(v); ok && t.Total() > 0 {
				model := cmp.Or(v.Get("model").Text(), d.msg.model.Text())
				u.other = append(u.other, engine.Use{Model: model, Tokens: t})
			}
		default:
			d.Unknown("iterations: "+kind.Text(), v)
		}
	}
	return u
}

// tokens returns the tokens in a usage.
func (d *decode) tokens(usage jsonl.Value) (t thread.Tokens, ok bool) {
	if t, ok = d.Tokens(usage, &counts); !ok {
		return t, false
	}
	written := usage.Get("cache_creation")
	t.CacheWrite1h = written.Get("ephemeral_1h_input_tokens").Count()
	if t.CacheWrite == 0 {
		t.CacheWrite = t.CacheWrite1h + written.Get("ephemeral_5m_input_tokens").Count()
	}
	t.CacheWrite1h = min(t.CacheWrite1h, t.CacheWrite)
	t.Reasoning = min(usage.Get("output_tokens_details", "thinking_tokens").Count(), t.Output)
	return t, true
}

// visible returns the number of bytes of a content that the model must have written.
func visible(content jsonl.Value) (n int) {
	for c := content.Elements(); c.Next(); {
		v := c.Value()
		if text := v.Get("text"); text.Kind() == jsonl.String {
			n += len(text) - len(`""`)
		}
		n += len(v.Get("input"))
	}
	return n
}

// truncated reports whether the output count is too low for the text. Some
// versions record the usage before the answer and do not update it. A token is two
// to four bytes of text.
func (a *answer) truncated() bool {
	const least, most = 400, 12
	return a.Open && !a.Copied && a.Visible > least && int64(a.Visible) > most*a.Output
}

// sumOf returns the usage of all requests of a session up to here, its subagents included,
// which the program records by model when it ends, nil if it is not known. The program goes
// on from there when the session is resumed, and in a fork.
func sumOf(models jsonl.Value) *thread.Tokens {
	if models.Kind() != jsonl.Object {
		return nil
	}
	t := new(thread.Tokens)
	for c := models.Members(); c.Next(); {
		v := c.Value()
		t.Add(thread.Tokens{Input: v.Get("inputTokens").Count(), Output: v.Get("outputTokens").Count(),
			CacheRead: v.Get("cacheReadInputTokens").Count(), CacheWrite: v.Get("cacheCreationInputTokens").Count()})
	}
	return t
}

// check compares the usage with the sum that the program recorded after the last request.
func (d *decode) check(ctx context.Context) error {
	rest, before := *d.Sums, d.t.origin.sums
	if d.t.forked && before == nil {
		return nil // the sum has what came before the fork
	}
	if before != nil {
		rest = minus(rest, *before)
	}
	rest = minus(rest, d.Meter.Used())
	if rest != (thread.Tokens{}) && isSum(rest) {
		agents, err := d.t.p.Used(ctx, engine.Query{Parent: d.t.id})
		if err != nil {
			return err
		}
		rest = minus(rest, agents)
	}
	d.Checked = rest == (thread.Tokens{})
	if isSum(rest) {
		d.unrecorded = int(rest.Total())
	}
	return nil
}

func minus(a, b thread.Tokens) thread.Tokens {
	return thread.Tokens{Input: a.Input - b.Input, CacheRead: a.CacheRead - b.CacheRead,
		CacheWrite: a.CacheWrite - b.CacheWrite, Output: a.Output - b.Output}
}

// isSum reports whether no count is negative.
func isSum(t thread.Tokens) bool { return min(t.Input, t.CacheRead, t.CacheWrite, t.Output) >= 0 }

// finishUsage notes what is missing in the usage.
func (d *decode) finishUsage() {
	truncated := 0
	for _, a := range d.Answers {
		if a.truncated() {
			truncated++
		}
	}
	d.Gaps = []thread.Gap{
		{N: truncated, Reason: "at least %d answers record fewer output tokens than their text needs"},
		{N: d.Facts.BadLines, Reason: "%d malformed lines were skipped"},
		{N: d.unrecorded, Reason: "the program counted %d tokens more than the records of the session have"},
		{N: 1, Reason: "requests outside the thread, for titles and searches, are not in the transcript"},
	}
}
