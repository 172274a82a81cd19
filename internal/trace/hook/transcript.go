package hook

import (
	"context"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/thread"
)

// maxTranscripts is how many transcripts DescribeAll reads: the records that name
// them may be forged.
const maxTranscripts = 50

// DescribeAll is Describe for the first 50 threads of a list.
func DescribeAll(ctx context.Context, set *thread.Set, list []session.Thread) {
	for i := range min(len(list), maxTranscripts) {
		Describe(ctx, set, &list[i])
	}
}

// Describe adds to a thread what its transcript shows: its status, its
// subagents, and its usage with theirs. A transcript that can't be read adds
// nothing.
func Describe(ctx context.Context, set *thread.Set, c *session.Thread) {
	u, err := thread.ParseURI(c.Thread)
	if err != nil {
		return
	}
	v, err := set.Open(ctx, u)
	if err != nil || v.LoadAgents(ctx) != nil || load(ctx, v.Thread) != nil {
		return
	}
	if s := v.Thread.State.Status; s != "" {
		c.Status = string(s)
	}
	c.Subagents = len(v.Agents)
	all := v.Thread.Usage
	for _, a := range v.Agents {
		switch {
		case a.Thread == nil || load(ctx, a.Thread) != nil:
			all.Completeness, all.Reason = thread.LowerBound, "the transcript of a subagent is missing"
		default:
			all.Tokens.Add(a.Thread.Usage.Tokens)
			if own := a.Thread.Usage; own.Completeness != thread.Exact && all.Completeness == thread.Exact {
				all.Completeness, all.Reason = thread.LowerBound, own.Reason
			}
		}
	}
	c.Completeness, c.Reason = string(all.Completeness), all.Reason
	if all.Calls > 0 {
		c.Usage = usageOf(all.Tokens)
	}
}

// load reads a transcript, unless it has been read.
func load(ctx context.Context, t *thread.Thread) error {
	if t.Loaded() {
		return nil
	}
	return t.Load(ctx)
}

// usageOf returns tokens as the usage of work. Not every program records reasoning,
// the cache and the cost, so these are unknown if nothing was counted.
func usageOf(t thread.Tokens) *handoff.Usage {
	counted := func(n int64) *int64 {
		if n == 0 {
			return nil
		}
		return &n
	}
	total := t.Total()
	u := &handoff.Usage{Input: &t.Input, Output: &t.Output, CacheRead: counted(t.CacheRead),
		CacheWrite: counted(t.CacheWrite),
		Reasoning:  counted(t.Reasoning), TotalTokens: &total}
	if t.Cost > 0 {
		u.Cost = &t.Cost
	}
	return u
}
