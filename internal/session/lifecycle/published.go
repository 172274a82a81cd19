package lifecycle

import (
	"context"
	"iter"

	"github.com/agent-handoff/handoff"
)

// Published yields what a session or run, and the runs inside it, published after
// a position in the log, oldest first: records, without what other records say
// about them. 0 is the start of the session. It ends when ctx ends, or with the
// newest record if present is true. A damaged record is left out.
//
// Error kinds: NotFound, those of reading the log, and the error of ctx.
func (ss *Sessions) Published(ctx context.Context, id string, after handoff.Seq,
	present bool) iter.Seq2[handoff.Artifact, error] {
	return func(yield func(handoff.Artifact, error) bool) {
		newest, err := ss.hub.Newest(ctx)
		var s handoff.Session
		if err == nil {
			s, err = ss.Session(ctx, id)
		}
		if err != nil {
			yield(handoff.Artifact{}, err)
			return
		}
		if after = max(after, s.Opened); present && after >= newest {
			return
		}
		for r, err := range ss.hub.Watch(ctx, after) {
			if err != nil {
				yield(handoff.Artifact{}, err)
				return
			}
			if f, ok := r.Fact.(*handoff.ArtifactPublished); ok && r.Import == "" && ss.includes(ctx, s, r.Producer) {
				one := []handoff.Artifact{{Record: r, ArtifactPublished: *f}}
				ss.hub.Locate(ctx, one)
				if !yield(one[0], nil) {
					return
				}
			}
			if present && r.Seq >= newest {
				return
			}
		}
	}
}

// includes reports whether a producer worked in a session or run, or in a run
// inside it.
func (ss *Sessions) includes(ctx context.Context, s handoff.Session, p handoff.Producer) bool {
	if s.Parent == "" {
		return p.Session == s.ID
	}
	for id, depth := p.RunID, 0; id != "" && depth < maxDepth; depth++ {
		if id == s.ID {
			return true
		}
		run, err := ss.Session(ctx, id)
		if err != nil {
			return false
		}
		id = run.Parent
	}
	return false
}

// maxDepth limits how deep runs are nested inside each other, because forged
// records can form a cycle.
const maxDepth = 100
