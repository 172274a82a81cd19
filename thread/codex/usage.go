package codex

import (
	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// counts are the members of a usage. Input includes cached and written tokens.
var counts = engine.Counts{Input: "input_tokens", CacheRead: "cached_input_tokens",
	CacheWrite: "cache_write_input_tokens", Output: "output_tokens", Reasoning: "reasoning_output_tokens",
	Optional: []string{"cached_input_tokens", "cache_write_input_tokens", "reasoning_output_tokens"},
	Other:    []string{"total_tokens"}}

// counted returns the counts of a usage that only identifies a record.
func counted(v jsonl.Value) (t thread.Tokens, ok bool) {
	var n [5]int64
	ok = v.Counts([]string{counts.Input, counts.CacheRead, counts.CacheWrite, counts.Output, counts.Reasoning}, n[:])
	return thread.Tokens{Input: n[0], CacheRead: n[1], CacheWrite: n[2], Output: n[3], Reasoning: n[4]}, ok
}

// A meter counts requests. A usage has two records, of which versions write one or both:
// the second has the same total. That is repeated with each change of a rate limit, too.
//
// A total that rises by more than the request includes one whose own usage was not
// written, for example that of an interrupted turn. The total restarts when a thread is
// resumed, so its value is not used.
type meter struct {
	Any      bool          // there is a total
	Total    thread.Tokens // the last one
	Known    bool          // it is that of this thread: 0 at its start
	Answered bool          // there is output of the model since the last request
	Apart    bool          // a request had none, such as that of a compaction
	Hidden   int           // compactions without the usage of their request
}

// request counts a request with a usage after which a total was reached, unless the total
// is known.
func (d *decode) request(usage, total jsonl.Value, names [2]string) {
	own := d.own()
	if d.replaying {
		return
	}
	if own {
		d.At(d.at())
	}
	sum, ok := d.Tokens(total, &counts)
	if !ok {
		d.Missing(names[1])
	}
	if sum.Calls = 0; ok && d.Sum.Any && sum == d.Sum.Total {
		return
	}
	t, ok := d.Tokens(usage, &counts)
	if !ok {
		d.Missing(names[0])
		return
	}
	t.Calls = 0
	calls := 1
	if d.Sum.Known && own && sum != t {
		if rise := minus(sum, d.Sum.Total); exceeds(rise, t) {
			t = rise
			calls = 2 // at least: this one and the one without a record
		}
	}
	d.Sum.Any, d.Sum.Known = true, own
	d.Sum.Total = sum
	d.Sum.Apart, d.Sum.Answered = !d.Sum.Answered, false
	d.Turn.Counted = d.Turn.Counted || own
	t.Input = max(0, t.Input-t.CacheRead-t.CacheWrite)
	t.Calls = calls
	d.Use(engine.Use{Provider: d.meta.provider, Model: d.model(), Tokens: t})
}

func minus(a, b thread.Tokens) thread.Tokens {
	return thread.Tokens{Input: a.Input - b.Input, CacheRead: a.CacheRead - b.CacheRead,
		CacheWrite: a.CacheWrite - b.CacheWrite, Output: a.Output - b.Output, Reasoning: a.Reasoning - b.Reasoning}
}

// exceeds reports whether a has more tokens than b, and no counter is smaller.
func exceeds(a, b thread.Tokens) bool {
	return a.Input >= b.Input && a.CacheRead >= b.CacheRead && a.CacheWrite >= b.CacheWrite && a.Output >= b.Output &&
		a.Reasoning >= b.Reasoning && a != b
}

// model returns the name of the model with the tier that requests have, if that has a
// price of its own.
func (d *decode) model() string {
	if d.Tier == "priority" && d.Model != "" {
		return d.Model + "-priority"
	}
	return d.Model
}

// compacted adds a compaction, unless a record a few lines before is of the same one. The
// summary may be in any of these records. Without one, the tool's server made it, whose
// request may be in no record.
func (d *decode) compacted(summary jsonl.Value) {
	const near = 6
	again := d.Compaction > 0 && d.n-d.Compaction <= near
	text := summary.Text()
	hidden := !d.Timeline.Inherited && text == "" && !d.Sum.Apart
	d.Compaction = d.n
	switch {
	case !again:
		d.Compacted(text, d.at())
		if d.Unseen = hidden; hidden {
			d.Sum.Hidden++
		}
		d.Sum.Apart = false
	case text != "":
		if m := d.Timeline.Newest(); m != nil && m.Role == thread.Compaction && m.Text == thread.DefaultCompactionText {
			m.Text = text
		}
		if d.Unseen {
			d.Sum.Hidden--
		}
		d.Unseen = false
	}
}
