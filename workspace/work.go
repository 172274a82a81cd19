package workspace

import (
	"context"
	"errors"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/trace/provenance"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/workspace/work"
)

// Work returns the work of the workspace, with the threads of a set in which it
// was done. To record work, set may be nil.
func (w *Workspace) Work(set *thread.Set) work.Units {
	set = observed(w, set)
	return work.New(w.c, w.sessions, w.transcripts(set), w.Threads(set), namer{w, set})
}

// AddTranscripts adds to a session or artifact what transcripts show: the
// threads of a session, and the receipt of both. An issue has none. An artifact
// also gets who published it and the threads that read its path, if an index of threads
// exists, and the verdicts of its claims.
//
// Kinds: those of reading the index.
func (w *Workspace) AddTranscripts(ctx context.Context, set *thread.Set, s *Shown) (err error) {
	if err := w.c.Anonymous.Closed(); err != nil {
		return err
	}
	var r trace.Receipt
	switch {
	case s.Session != nil:
		ReadConversations(ctx, observed(w, set), s.Session.Conversations)
		r, err = w.Work(set).OfPublished(ctx, s.Session.Session, s.published)
		s.published = nil // a session may have many
	case s.Artifact != nil:
		r, err = w.Work(set).OfArtifact(ctx, *s.Artifact)
		err = errors.Join(err, w.addUses(ctx, set, s))
		if len(s.Artifact.Claims) > 0 {
			v, verifyErr := w.Claims(set).Verify(ctx, s.Artifact.ID)
			s.Verification, err = &v, errors.Join(err, verifyErr)
		}
	}
	if r.Known() {
		s.Receipt = &r
	}
	return err
}

// addUses adds to an artifact who published it and which threads read its path, as
// transcripts show it, and whether the thread that its record names is absent.
func (w *Workspace) addUses(ctx context.Context, set *thread.Set, s *Shown) error {
	if set == nil {
		return nil
	}
	if s.Artifact.Attributed == nil {
		one := []handoff.Artifact{*s.Artifact}
		w.attribution(set).Attribute(ctx, one...)
		s.Artifact.Attributed = one[0].Attributed
	}
	if _, err := provenance.AddUses(ctx, w.transcripts(set).Archive(false), s.Artifact); err != nil {
		return err
	}
	if uri, err := thread.ParseURI(s.Artifact.Producer.Thread); err == nil && s.Artifact.Attributed == nil {
		_, err := set.Open(ctx, uri)
		if errors.Is(err, handoff.NotFound) || errors.Is(err, handoff.Invalid) {
			kept, _ := w.Threads(set).OpenKept(ctx, uri)
			s.NoThread = kept == nil
		}
	}
	return nil
}
