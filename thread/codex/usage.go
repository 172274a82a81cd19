package codex

import (
	"bytes"
	"fmt"

	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A count is the counters of a token_count. Input includes cached and written
// tokens, output includes reasoning.
type count struct {
	input, cached, written, output, reasoning, total int64
}

func parseCount(v jsonl.Value) (c count, ok bool) {
	n := func(name string) int64 { return v.Get(name).Count() }
	c = count{n("input_tokens"), n("cached_input_tokens"), n("cache_write_input_tokens"), n("output_tokens"), n("reasoning_output_tokens"), n("total_tokens")}
	m := v.Members()
	return c, m.Next()
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
// only if the total has changed. The total itself restarts when a thread is
// resumed, so its value is not used.
type meter struct {
	thread.Meter
	provider  string
	model     string
	inherited bool   // the records were copied from another thread
	off       bool   // the records are another thread's rollout
	total     []byte // the last total, as JSON
	any       bool   // there is a last total
}

// count counts the info of a token_count and returns the tokens of the request.
func (m *meter) count(info jsonl.Value) (thread.Tokens, bool) {
	if m.off || info.Kind() != jsonl.Object {
		return thread.Tokens{}, false
	}
	total := info.Get("total_token_usage")
	if m.any && bytes.Equal(total, m.total) {
		return thread.Tokens{}, false
	}
	last, ok := parseCount(info.Get("last_token_usage"))
	if !ok {
		return thread.Tokens{}, false
	}
	m.any, m.total = true, append(m.total[:0], total...)
	m.Add(m.provider, m.model, last.tokens(), m.inherited)
	return last.tokens(), true
}

// usage stores the usage in the facts.
func (s *scanner) usage() {
	s.meter.Finish(&s.facts,
		thread.Gap{N: s.facts.BadLines, Reason: "%d malformed lines were skipped"},
		thread.Gap{N: s.turn.uncounted, Reason: "%d turns were interrupted before their usage was recorded"})
	if u := &s.facts.Usage; s.lineage.unverified != "" && u.Calls > 0 {
		u.Completeness = thread.SessionTotal
		u.Reason = fmt.Sprintf("includes the earlier usage of thread %s, from which it was forked and which can't be read", s.lineage.unverified)
	}
}
