package provenance

import (
	"cmp"
	"context"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/action"
	"github.com/agent-handoff/handoff/internal/threadindex"
	"github.com/agent-handoff/handoff/thread"
)

// readSince returns the first call of each conversation that read one of the files
// after a time.
func readSince(ctx context.Context, l threadindex.Lookup, files []string, since time.Time) (list []threadindex.Touch, err error) {
	touches, err := l.Touches(ctx, files, "")
	seen := map[thread.URI]bool{}
	for _, t := range touches {
		if uri := threadOf(t.URI); t.Access == action.Read && t.At.After(since) && !seen[uri] {
			seen[uri] = true
			list = append(list, t)
		}
	}
	return list, err
}

// ReadBy returns the uses of an artifact that transcripts show: the first call of each
// conversation that read one of its paths after it was published, without the
// conversation that published it. It answers soon: without an index of conversations
// that is almost up to date, there are none.
func ReadBy(ctx context.Context, c Conversations, a handoff.Artifact) (uses []handoff.Use, warnings []string, err error) {
	files := pathsOf(a)
	if len(files) == 0 {
		return nil, nil, nil
	}
	publisher, _ := thread.ParseURI(a.Producer.Thread) // the zero URI is no conversation
	warnings, err = c.Lookup(ctx, threadindex.Quick, func(l threadindex.Lookup) error {
		touches, err := readSince(ctx, l, files, a.CreatedAt)
		uses = nil
		for _, t := range touches {
			if threadOf(t.URI) == threadOf(publisher) {
				continue
			}
			u := handoff.Use{Thread: t.URI.String(), Inferred: true}
			if item, err := l.Item(ctx, t.URI); err == nil {
				u.Agent = cmp.Or(item.AgentName, item.AgentRole)
			}
			uses = append(uses, u)
		}
		return err
	})
	return uses, warnings, err
}
