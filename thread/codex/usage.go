package codex

import (
	"slices"

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

// A form is one of the two records of a usage, of which versions write one or both.
type form int

const (
	usageRecord form = iota // token_usage_record
	tokenCount              // token_count, which is repeated with each change of a rate limit
	forms
)

// members are the names of usage and total.
var members = [forms][2]string{{"usage", "thread_token_usage"}, {"last_token_usage", "total_token_usage"}}

// A meter counts requests. The total after a request identifies it in both of its records,
// between which there may be those of other requests.
//
// A total that rises by more than the request includes one whose own usage was not
// written, for example that of an interrupted turn. The total restarts when a thread is
// resumed. One that is less than the usages before it is a gap.
type meter struct {
	Last   [forms]counter // after the last record of each form
	Single []single       // the last requests

	Total    thread.Tokens // after the last request
	Known    bool          // it is that of this thread: 0 at its start
	Less     int           // requests after which it had risen by less
	Answered bool          // there is output of the model since the last request
	Apart    bool          // a request had none, such as that of a compaction
	Hidden   int           // compactions without the usage of their request
}

// A counter is a total, if there is one.
type counter struct {
	Any   bool
	Total thread.Tokens
}

// A single is a request that was counted by a record of one form.
type single struct {
	Form  form
	Total thread.Tokens
	Both  bool // the other record was found
}

// again reports whether a record is of a request that was counted, by the total after it.
func (m *meter) again(f form, total thread.Tokens) bool {
	last := m.Last[f]
	m.Last[f] = counter{true, total}
	if last == m.Last[f] {
		return true
	}
	i := slices.IndexFunc(m.Single, func(s single) bool { return s.Total == total && s.Form != f && !s.Both })
	if i >= 0 {
		m.Single[i].Both = true
	}
	return i >= 0
}

// counted notes the total after a request that was counted by a record.
func (m *meter) counted(f form, total thread.Tokens) {
	const most = 8 // requests whose other records may follow
	m.Single = append(m.Single[max(0, len(m.Single)-most+1):], single{Form: f, Total: total})
}

// rise returns the tokens of the requests since the last one, which are those of the
// latest unless others have no record, and how many these are at least.
func (m *meter) rise(latest, total thread.Tokens) (t thread.Tokens, calls int) {
	rise := minus(total, m.Total)
	switch {
	case total == latest, rise == latest: // it restarted, or all have a record
	case exceeds(rise, latest):
		return rise, 2
	default:
		m.Less++
	}
	return latest, 1
}

// request counts a request with a usage after which a total was reached, unless its other
// record was counted.
func (d *decode) request(f form, usage, total jsonl.Value) {
	own := d.own()
	if d.replaying {
		return
	}
	if own {
		d.At(d.at())
	}
	sum, ok := d.Tokens(total, &counts)
	if !ok {
		d.Missing(members[f][1])
	}
	if sum.Calls = 0; ok && d.Sum.again(f, sum) {
		return
	}
	t, has := d.Tokens(usage, &counts)
	if !has {
		d.Missing(members[f][0])
		return
	}
	t.Calls = 0
	calls := 1
	if d.Sum.Known && own && ok {
		t, calls = d.Sum.rise(t, sum)
	}
	if d.Sum.Known, d.Sum.Total = own && ok, sum; ok {
		d.Sum.counted(f, sum)
	}
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
