package workspace

import (
	"context"
	"io"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/core"
	"github.com/agent-handoff/handoff/internal/trace/cost"
	"github.com/agent-handoff/handoff/internal/trace/provenance"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
)

// Why traces where something comes from and who has used it: a file, a line of one as
// FILE:LINE, an artifact or a commit of git. It uses records, git, and the
// threads that the tools of set keep on this machine, of which it keeps an index
// in the user's cache directory. It writes nothing else, and runs no program but git.
//
// A Trace of one hop states that nothing is known.
//
// Kinds: NotFound (nothing has this name), Conflict (an ambiguous ref), Invalid (a line
// that the file does not have).
func (w *Workspace) Why(ctx context.Context, set *thread.Set, name string) (trace.Origin, error) {
	if err := w.c.Anonymous.Closed(); err != nil {
		return trace.Origin{}, err
	}
	sources, err := w.sources(set)
	if err != nil {
		return trace.Origin{}, err
	}
	found, err := sources.Why(ctx, w.c.Refs(ctx), w.c.Dirs.Worktrees(), strings.TrimPrefix(name, core.ArtifactURI))
	if err != nil {
		err = namer{w, set}.Elsewhere(ctx, "trace", name, err)
	}
	return found, err
}

// sources returns what a trace is made from.
func (w *Workspace) sources(set *thread.Set) (provenance.Sources, error) {
	prices, err := cost.OpenPrices(w.c.Prices())
	if err != nil {
		return provenance.Sources{}, err
	}
	return provenance.Sources{
		Reader: w.c.Anonymous, Conversations: w.transcripts(set).Archive(false), Prices: prices,
		CostOf: func(ctx context.Context, a handoff.Artifact) *trace.Usage {
			r, err := w.Work(set).OfArtifact(ctx, a)
			if err != nil {
				return nil
			}
			return r.Share
		},
		Published: func(ctx context.Context, a handoff.Artifact, most int64) ([]byte, error) {
			content, err := w.c.Anonymous.Open(ctx, a.ID)
			if err != nil {
				return nil, err
			}
			defer content.Close()
			return io.ReadAll(io.LimitReader(content, most))
		},
	}, nil
}
