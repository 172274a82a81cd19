package codex

import (
	"bytes"
	"fmt"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A count is the counters of a token_count. Input includes cached and written
// tokens, output includes reasoning.
type count struct {
	input, cached, written, output, reasoning, total int64
}

func parseCount(v jsonl.Value) (c count, ok bool) {
	var n [6]int64
	ok = v.Counts(countNames, n[:])
	return count{n[0], n[1], n[2], n[3], n[4], n[5]}, ok
}

// countNames are the members that the fields of a count have, in their order.
var countNames = []string{"input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens",
	"reasoning_output_tokens", "total_tokens"}

func (c count) minus(o count) count {
	return count{c.input - o.input, c.cached - o.cached, c.written - o.written, c.output - o.output,
		c.reasoning - o.reasoning, c.total - o.total}
}

// exceeds reports whether c has more tokens than o, and no counter is smaller.
func (c count) exceeds(o count) bool {
	return c.input >= o.input && c.cached >= o.cached && c.written >= o.written && c.output >= o.output &&
		c.reasoning >= o.reasoning && !c.same(o)
}

// same reports whether the tokens of two counts are equal.
func (c count) same(o count) bool {
	c.total, o.total = 0, 0
	return c == o
}

func (c count) tokens() thread.Tokens {
	return thread.Tokens{
		Input: max(0, c.input-c.cached-c.written), CacheRead: c.cached, CacheWrite: c.written,
		Output: c.output, Reasoning: c.reasoning, Calls: 1,
	}
}

// A meter counts the usage of a thread.
//
// Each change of a rate limit repeats the last token_count, so a request counts
// only if the total has changed. A total that rises by more than the request
// includes one whose own token_count was not written, for example that of an
// interrupted turn. The total restarts when a thread is resumed, so its value is
// not used.
type meter struct {
	thread.Meter
	provider  string
	model     string
	inherited bool   // the records were copied from another thread
	off       bool   // the records are another thread's rollout
	raw       []byte // the last total, as JSON
	any       bool   // there is a last total
	total     count  // the last total
	known     bool   // total is that of this thread: 0 at its start
}

// count counts the info of a token_count and returns the tokens of the request.
func (m *meter) count(info jsonl.Value) (thread.Tokens, bool) {
	if m.off || info.Kind() != jsonl.Object {
		return thread.Tokens{}, false
	}
	raw := info.Get("total_token_usage")
	if m.any && bytes.Equal(raw, m.raw) {
		return thread.Tokens{}, false
	}
	last, ok := parseCount(info.Get("last_token_usage"))
	if !ok {
		return thread.Tokens{}, false
	}
	m.any, m.raw = true, append(m.raw[:0], raw...)
	m.CheckCounts(info)
	total, _ := parseCount(raw)
	tokens := last.tokens()
	if rise := total.minus(m.total); m.known && !m.inherited && rise.exceeds(last) && !total.same(last) {
		tokens = rise.tokens()
		tokens.Calls = 2 // at least: this one and the one without a token_count
	}
	m.total, m.known = total, !m.inherited
	m.Add(m.provider, m.model, tokens, m.inherited)
	return tokens, true
}

// usage stores the usage in the facts.
func (s *scanner) usage() {
	s.meter.Finish(&s.facts,
		thread.Gap{N: s.facts.BadLines, Reason: "%d malformed lines were skipped"},
		thread.Gap{N: s.turn.Interrupted, Reason: "%d turns were interrupted before their usage was recorded"},
		thread.Gap{N: s.turn.Silent, Reason: "%d turns with an answer have no new usage"})
	if u := &s.facts.Usage; s.lineage.unverified != "" && u.Calls > 0 {
		u.Completeness = thread.SessionTotal
		u.Reason = fmt.Sprintf("includes the earlier usage of thread %s, from which it was forked and which can't be read",
			s.lineage.unverified)
	}
}
