package copilot

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// A usage counts the tokens of a session. Since version 1.0.102 there is a record of
// each request. Before, an answer has its output only, and the remaining counts are
// the totals of the process, by model, in the event of its end. They continue after a
// resume, but not always: if one of them falls, they started again.
type usage struct {
	records  int
	provider string                   // of the last record
	pending  thread.Tokens            // of requests whose answer follows
	answers  int                      // without a record
	open     int                      // answers since the last total
	output   int64                    // of answers without a record
	total    map[string]thread.Tokens // of ended counts, by model
	last     map[string]thread.Tokens // totals of the last process
	others   bool                     // there are subagents, which the totals include
	answered map[string]thread.Tokens // outputs of answers, by model
	stored   bool                     // the requests in the store are counted
}

// counts are the members of a usage. Its input includes what was read from and written to the cache.
var counts = engine.Counts{Input: "inputTokens", CacheRead: "cacheReadTokens", CacheWrite: "cacheWriteTokens",
	Output: "outputTokens", Reasoning: "reasoningTokens", Optional: []string{"reasoningTokens"}, Loose: true,
	Other: []string{"interTokenLatencyMs", "toolTokenCount"}}

// tokens returns the tokens of a usage.
func tokens(s *engine.Scan, v jsonl.Value, names *engine.Counts) thread.Tokens {
	t, ok := s.Tokens(v, names)
	if !ok {
		s.Missing("usage")
	}
	if t.Input -= t.CacheRead + t.CacheWrite; t.Input < 0 { // it includes them
		t.Input = 0
		s.Missing(names.Input)
	}
	return t
}

// record counts a request, whose answer follows.
func (u *usage) record(s *engine.Scan, v jsonl.Value) {
	t := tokens(s, v, &counts)
	u.records++
	u.provider = v.Get("modelProvider").Text()
	s.Use(engine.Use{Provider: u.provider, Model: v.Get("model").Text(), Tokens: t, Apart: true})
	u.pending.Add(t)
}

// compaction counts the requests of a compaction. The totals of earlier versions include them.
func (u *usage) compaction(s *engine.Scan, v jsonl.Value, success bool) {
	switch {
	case u.records == 0:
	case v.Kind() == jsonl.Object:
		t := tokens(s, v, &counts)
		t.Calls = max(1, int(v.Get("requestCount").Int()))
		s.Use(engine.Use{Provider: u.provider, Model: v.Get("model").Text(), Tokens: t, Apart: true})
	case success:
		s.Missing("compactionTokensUsed")
	}
}

// answer counts the output of an answer.
func (u *usage) answer(s *engine.Scan, model string, data jsonl.Value) {
	if u.records > 0 {
		s.Timeline.AddUsage(u.pending)
		u.pending = thread.Tokens{}
		return
	}
	u.answers++
	u.open++
	if data.Get("outputTokens").Kind() == jsonl.Absent {
		s.Missing("outputTokens")
	}
	t := thread.Tokens{Output: data.Get("outputTokens").Count(), Calls: 1}
	u.output += t.Output
	u.answered[model] = plus(u.answered[model], t)
	s.Meter.CheckCounts(data.Get("outputTokens"))
	s.Meter.Add("", model, t, false)
	s.Timeline.AddUsage(t)
}

// shutdown reads the totals of a process.
func (u *usage) shutdown(s *engine.Scan, data jsonl.Value) {
	now := map[string]thread.Tokens{}
	for c := data.Get("modelMetrics").Members(); c.Next(); {
		if now[c.Key()] = (thread.Tokens{}); u.records == 0 {
			now[c.Key()] = tokens(s, c.Value().Get("usage"), &counts)
		}
	}
	for model, before := range u.last {
		t, again := now[model]
		if !again || t.Input < before.Input || t.CacheRead < before.CacheRead || t.CacheWrite < before.CacheWrite ||
			t.Output < before.Output {
			u.close()
			break
		}
	}
	u.last, u.open = now, 0
}

// close adds the totals of the last process to those of the session.
func (u *usage) close() {
	for model, t := range u.last {
		u.total[model] = plus(u.total[model], t)
	}
	u.last = nil
}

// store is the table of requests in session-store.db, beside session-state.
var store = engine.Table{Name: "assistant_usage_events", Where: "session_id = ?", Order: "id",
	Need: []string{"session_id", "model", "input_tokens", "output_tokens"},
	Want: []string{"agent_id", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens"}}

var storeCounts = engine.Counts{Input: "input_tokens", CacheRead: "cache_read_tokens", CacheWrite: "cache_write_tokens",
	Output: "output_tokens", Reasoning: "reasoning_tokens",
	Optional: []string{"cache_read_tokens", "cache_write_tokens", "reasoning_tokens"}}

// source is that of the events of a session. If none of them records a request, the usage of
// an agent is that of its requests in the store.
func source(path string) engine.Source {
	home := filepath.Dir(filepath.Dir(path))
	if filepath.Base(path) == events {
		home = filepath.Dir(home)
	}
	file := engine.Database(filepath.Join(home, "session-store.db"))
	return func(ctx context.Context, s *engine.Scan, use func(int, jsonl.Value) bool) error {
		if err := engine.Lines(path)(ctx, s, use); err != nil || s.Tail {
			return err
		}
		d := s.Decoder().(*decode)
		if d.usage.records > 0 || d.usage.answers == 0 {
			return nil
		}
		rows, apart := map[string]thread.Tokens{}, true
		err := file.Each(ctx, store, []any{d.session}, func(row jsonl.Value) {
			agent := row.Get("agent_id")
			if apart = apart && agent.Kind() != jsonl.Absent; agent.Text() == d.agent {
				model := row.Get("model").Text()
				rows[model] = plus(rows[model], tokens(s, row, &storeCounts))
			}
		})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && (apart || !d.usage.others):
			d.stored(rows)
		case err != nil && !errors.Is(err, handoff.NotFound) && !errors.Is(err, handoff.Unsupported):
			s.Facts.Warn("the usage of requests can't be read: %v", err)
		}
		return nil
	}
}

// stored adds what the requests of an agent in the store, by model, used beside its answers, unless the store
// has fewer requests or output than the answers.
func (d *decode) stored(rows map[string]thread.Tokens) {
	u := &d.usage
	if len(rows) == 1 {
		for model := range rows {
			d.Meter.Rename(model)
			u.answered[model] = plus(u.answered[model], u.answered[""])
			delete(u.answered, "")
		}
	}
	for model, t := range u.answered {
		row := rows[model]
		if row.Output -= t.Output; row.Output < 0 || row.Calls < t.Calls {
			return
		}
		row.Calls -= t.Calls
		rows[model] = row
	}
	for _, model := range slices.Sorted(maps.Keys(rows)) {
		d.Meter.Add("", model, rows[model], false)
	}
	u.stored = true
}

func plus(a, b thread.Tokens) thread.Tokens {
	a.Add(b)
	return a
}

func (u *usage) finish(s *engine.Scan, subagent bool) {
	if u.records > 0 {
		s.Gaps = []thread.Gap{{N: u.answers, Reason: "%d answers of an earlier version have only their output tokens"}}
		return
	}
	if u.stored {
		return
	}
	u.close()
	var output int64
	if !subagent {
		for _, model := range slices.Sorted(maps.Keys(u.total)) {
			t := u.total[model]
			output += t.Output
			s.Meter.Add("", model, thread.Tokens{Input: t.Input, CacheRead: t.CacheRead, CacheWrite: t.CacheWrite,
				Reasoning: t.Reasoning}, false)
		}
	}
	s.Gaps = []thread.Gap{
		{N: u.open, Reason: "%d answers have only their output tokens: the tool records the others when it is closed"},
	}
	switch {
	case subagent:
		s.Gaps = []thread.Gap{{N: u.answers, Reason: "%d answers of a subagent have only their output tokens"}}
	case u.others && u.answers > 0:
		s.Gaps = append(s.Gaps, thread.Gap{N: 1,
			Reason: "input and cached tokens include those of its subagents, output does not"})
	case output < u.output && u.answers > 0:
		s.Gaps = append(s.Gaps, thread.Gap{N: 1, Reason: "the totals of the tool are less than the sum of its answers"})
	}
}
