// Package provenance traces where a file, an artifact or a commit comes from: the
// artifact, its producer's work and session, the thread with the message that
// made it, what that cost, the commits with these bytes, what was read to make it,
// and who has used it since.
//
// Each step of a [Trace] has its evidence and states how certain it is. What is only
// probable is marked as inferred, and what is unknown is left out.
package provenance

import (
	"context"
	"sync"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/git"
	"github.com/agent-handoff/handoff/internal/trace/cost"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/transcript"
)

// A Conversations answers what threads did, after it has read at most so many
// transcripts that changed, 0 for all; otherwise it does not call do. Its warnings are
// about transcripts that can't be read. It may call do twice.
type Conversations interface {
	Lookup(ctx context.Context, most int, do func(threadindex.Lookup) error) (warnings []string, err error)
}

// Sources are what a trace is made from.
type Sources struct {
	Reader        handoff.Reader
	Conversations Conversations
	Repository    *git.Repository // nil outside git, or without git
	Roots         []string        // worktrees of the repository, absolute
	Prices        *cost.Pricer

	// CostOf returns what an artifact cost, nil if that is not known.
	CostOf func(context.Context, handoff.Artifact) *trace.Usage

	// Published returns the bytes of an artifact that is a file of at most so many
	// bytes.
	Published func(ctx context.Context, a handoff.Artifact, most int64) ([]byte, error)
}

// A Subject is what is traced: a file with or without an artifact, or a commit.
type Subject struct {
	Name     string            // as it was named
	File     string            // absolute, "" if there is none
	Artifact *handoff.Artifact // nil if there is none
	Commit   *git.Commit
	Line     *Origin // of one line of File, whose last commit is Commit, nil if it has none
}

// An Origin is a line of a file and where its last commit had it.
type Origin struct {
	Number int
	Text   string
	git.Line
}

// A tracer makes a trace.
type tracer struct {
	Sources
	conversations threadindex.Lookup
	trace         trace.Origin
	done          map[thread.URI][]write // of the threads whose calls were read
	shown         map[string]bool        // refs of threads and artifacts that were described
	lineText      string                 // of the line that is traced
	publishedBy   thread.URI             // the message or thread that published the artifact

	reports, called map[string][]threadindex.Report // by artifact and by call, of those that were read
	items           map[thread.URI]item             // threads that were looked up
}

// An item is a thread, or why there is none.
type item struct {
	transcript.Item
	err error
}

func newTracer(s Sources, l threadindex.Lookup) *tracer {
	return &tracer{Sources: s, conversations: l, trace: trace.Origin{Hops: []trace.Hop{}}, done: map[thread.URI][]write{},
		reports: map[string][]threadindex.Report{}, called: map[string][]threadindex.Report{},
		shown: map[string]bool{}, items: map[thread.URI]item{}}
}

func (r *tracer) add(h trace.Hop) { r.trace.Hops = append(r.trace.Hops, h) }

func (r *tracer) warn(err error) {
	r.trace.Warnings = append(r.trace.Warnings, err.Error())
}

// A located is a subject, with the repository in which it is.
type located struct {
	Sources
	Subject
	err error
}

// trace traces what locate returns, which runs while the transcripts are checked for
// changes. Kinds: those of locate and of reading the log.
func found(ctx context.Context, c Conversations, locate func() located) (t trace.Origin, at located, err error) {
	wait := make(chan located, 1)
	go func() { wait <- locate() }()
	known := sync.OnceValue(func() located { return <-wait })
	warnings, err := c.Lookup(ctx, 0, func(l threadindex.Lookup) error {
		if at = known(); at.err != nil {
			return at.err
		}
		r := newTracer(at.Sources, l)
		r.trace.Subject = at.Name
		err := r.run(ctx, at.Subject)
		t = r.trace
		return err
	})
	known() // locate uses the log, which may be closed when this returns
	t.Warnings = append(t.Warnings, warnings...)
	return t, at, err
}

// run traces the subject. What can't be read of the threads and of git is a
// warning: the rest is still known.
func (r *tracer) run(ctx context.Context, s Subject) error {
	switch {
	case s.Line != nil:
		r.line(ctx, s)
	case s.Commit != nil:
		r.commit(ctx, *s.Commit, "")
		r.noted(ctx, *s.Commit, "", 0)
	default:
		if err := r.file(ctx, s); err != nil {
			return err
		}
	}
	return ctx.Err()
}
