package workspace

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/content"
	"github.com/agent-handoff/handoff/internal/trace/provenance"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/workspace/internal/parts"
	"github.com/agent-handoff/handoff/workspace/work"
)

// Work returns the work of the workspace, with the threads of a set in which it
// was done. To record work, set may be nil.
func (w *Workspace) Work(set *thread.Set) work.Units {
	set = observed(w, set)
	return work.New(parts.Work{
		Hub: w.c.Hub, Producer: w.c.Producer, Session: w.c.OwnSession(), Sessions: w.sessions,
		Resolve: w.Sessions().Resolve,
		Threads: set, Archive: func(noIndex bool) threadindex.Archive { return w.archive(set, noIndex) },
		Attribute: func(ctx context.Context, list []handoff.Artifact) { w.attribute(ctx, set, list...) },
		Reassigned: func(ctx context.Context, since, until time.Time) ([]handoff.Artifact, []string, error) {
			return w.reassigned(ctx, set, since, until)
		},
		Named:     namer{w, set}.named,
		Before:    w.Threads(set).Before,
		Prices:    w.pricesFile(),
		Worktrees: w.c.Dirs.Worktrees, Path: w.c.Path, Finish: w.c.Finish, Now: w.c.Now,
		Conclude: func(ctx context.Context, list []handoff.Work) []handoff.Work { return conclude(ctx, w, set, list) },
		Text: func(ctx context.Context, a handoff.Artifact) string {
			return content.Text(ctx, a, w.c.Bodies, w.c.Published, handoff.KeepLimit)
		},
	})
}

// pricesFile returns the file of the user's setting prices, "" for none.
func (w *Workspace) pricesFile() string {
	if below, ok := strings.CutPrefix(w.c.Settings.Prices, "~/"); ok {
		return filepath.Join(w.c.UserHome, below)
	}
	return w.c.Settings.Prices
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
		w.attribute(ctx, set, one...)
		s.Artifact.Attributed = one[0].Attributed
	}
	if _, err := provenance.AddUses(ctx, w.archive(set, false), s.Artifact); err != nil {
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
