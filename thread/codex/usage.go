package codex

import (
	"bytes"
	"context"
	"fmt"

	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A vector is the counters of a token_count as they are written. Cached and
// written tokens are part of input, reasoning of output.
type vector struct {
	input, cached, written, output, reasoning, total int64
}

func parseVector(v jsonl.Value) (w vector, ok bool) {
	const most = 1 << 48 // sums of what a damaged file says must not overflow
	for c := v.Members(); c.Next(); ok = true {
		n := min(max(0, c.Value().Int()), most)
		switch string(c.Name()) {
		case "input_tokens":
			w.input = n
		case "cached_input_tokens":
			w.cached = n
		case "cache_write_input_tokens":
			w.written = n
		case "output_tokens":
			w.output = n
		case "reasoning_output_tokens":
			w.reasoning = n
		case "total_tokens":
			w.total = n
		}
	}
	return w, ok
}

func (w vector) tokens() thread.Tokens {
	return thread.Tokens{
		Input: max(0, w.input-w.cached-w.written), CacheRead: w.cached, CacheWrite: w.written,
		Output: w.output, Reasoning: w.reasoning, Calls: 1,
	}
}

// A spend adds up what a thread spent.
//
// A token_count is written again for every change of a rate limit, so the last
// request counts only when the total has changed. The total itself restarts
// when a thread is resumed, so it is never used as a number.
type spend struct {
	usage     thread.Usage
	copies    thread.Tokens
	provider  string
	model     string
	inherited bool   // what is read was copied from another thread
	off       bool   // what is read is another thread's rollout
	total     []byte // as it was written last
	any       bool   // it was
}

// count reads the info of a token_count and returns what it adds.
func (s *spend) count(info jsonl.Value) (thread.Tokens, bool) {
	if s.off || info.Kind() != jsonl.Object {
		return thread.Tokens{}, false
	}
	total := info.Get("total_token_usage")
	if s.any && bytes.Equal(total, s.total) {
		return thread.Tokens{}, false
	}
	last, ok := parseVector(info.Get("last_token_usage"))
	if !ok {
		return thread.Tokens{}, false
	}
	s.any, s.total = true, append(s.total[:0], total...)
	tokens := last.tokens()
	if s.inherited {
		s.copies.Add(tokens)
	} else {
		s.usage.Add(s.provider, s.model, tokens)
	}
	return tokens, true
}

// finish writes the usage into the facts and says how complete it is.
func (s *spend) finish(sc *scanner) {
	u := s.usage
	u.Completeness = thread.Exact
	switch {
	case u.Calls == 0:
		u.Completeness, u.Reason = thread.NoUsage, "no usage is recorded"
	case sc.line.unverified != "":
		u.Completeness = thread.SessionTotal
		u.Reason = fmt.Sprintf("it was forked from thread %s, which is not here: what that spent before is counted too", sc.line.unverified)
	case sc.facts.BadLines > 0:
		u.Completeness, u.Reason = thread.LowerBound, fmt.Sprintf("%d lines could not be read", sc.facts.BadLines)
	case sc.turn.uncounted > 0:
		u.Completeness, u.Reason = thread.LowerBound, fmt.Sprintf("%d turns were cut off before their usage was written", sc.turn.uncounted)
	}
	sc.facts.Usage, sc.facts.Inherited = u, s.copies
}

// A lineage tells which records of a rollout were copied from another thread.
type lineage struct {
	start      int64  // with ordinals: the first own one
	from       *past  // the thread that history was copied from, nil if none was
	unverified string // the id of that thread, where it can't be read

	copying   bool // no own record was seen: all that follow the first are own
	turnKnown bool // records tell their turn
	next      int  // of from.totals
}

// A past is what identifies copies of a thread's records.
type past struct {
	size   int64
	turns  map[string]bool
	totals []vector // each once
}

// lineage reads what r was forked from, as far as that is needed.
func (r *rollout) lineage(ctx context.Context, s *scanner) *lineage {
	l := &lineage{start: r.meta.historyStart, copying: r.meta.forkedFrom != "" && r.meta.baseThread == "" && r.meta.historyStart == 0}
	if !l.copying {
		return l
	}
	t, err := r.p.Thread(ctx, r.meta.forkedFrom)
	if err == nil {
		l.from, err = t.Reader.(*rollout).remember(ctx)
	}
	if err != nil {
		l.copying, l.unverified = false, r.meta.forkedFrom
		s.warn("it was forked from thread " + r.meta.forkedFrom + ", which can't be read: what was copied from it can't be told apart")
	}
	return l
}

// copied reports whether a record was copied. It is asked of every record, in
// order.
func (l *lineage) copied(kind []byte, payload *jsonl.Members, ordinal jsonl.Value) bool {
	if l.start > 0 {
		return ordinal.Kind() == jsonl.Number && ordinal.Int() < l.start
	}
	if !l.copying {
		return false
	}
	switch string(kind) {
	case "turn_context":
		l.turn(payload.Get("turn_id").Text())
	case "event_msg":
		switch string(payload.Get("type").Raw()) {
		case "task_started", "turn_started":
			l.turn(payload.Get("turn_id").Text())
		case "token_count":
			l.count(payload.Get("info", "total_token_usage"))
		}
	}
	return l.copying
}

func (l *lineage) turn(id string) {
	if id != "" {
		l.turnKnown = true
		l.copying = l.from.turns[id]
	}
}

// count tells copies by what they count, where no record tells its turn.
func (l *lineage) count(v jsonl.Value) {
	total, ok := parseVector(v)
	if !ok || l.turnKnown || l.next > 0 && l.from.totals[l.next-1] == total {
		return
	}
	if l.next < len(l.from.totals) && l.from.totals[l.next] == total {
		l.next++
		return
	}
	l.copying = false
}

// remember reads what identifies copies of r's records. Forks have the same
// few parents, so that is kept.
func (r *rollout) remember(ctx context.Context) (*past, error) {
	const enough = 16
	r.p.mu.Lock()
	p := r.p.past[r.file.path()]
	r.p.mu.Unlock()
	if p != nil && p.size == r.size {
		return p, nil
	}
	src, err := r.file.open()
	if err != nil {
		return nil, err
	}
	defer src.Close()
	p = &past{size: r.size, turns: map[string]bool{}}
	rd := jsonl.NewReader(src)
	for rd.Next() {
		if rd.Number()%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		p.learn(rd.Line())
	}
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	if len(r.p.past) >= enough {
		clear(r.p.past)
	}
	r.p.past[r.file.path()] = p
	return p, nil
}

func (p *past) learn(line jsonl.Value) {
	payload := line.Get("payload")
	switch string(line.Get("type").Raw()) {
	case "turn_context":
		p.turns[payload.Get("turn_id").Text()] = true
	case "event_msg":
		switch string(payload.Get("type").Raw()) {
		case "task_started", "turn_started":
			p.turns[payload.Get("turn_id").Text()] = true
		case "token_count":
			total, ok := parseVector(payload.Get("info", "total_token_usage"))
			if n := len(p.totals); ok && (n == 0 || p.totals[n-1] != total) {
				p.totals = append(p.totals, total)
			}
		}
	}
}
