package provenance

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/transcript/action"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
)

// A report is a call that may have published artifacts.
type report struct {
	uri   thread.URI // of the message
	at    time.Time
	model string   // of the message
	id    string   // of the call
	ids   []string // of the artifacts in its output
	ran   bool     // it ran a command
	action.Traffic
}

// appendReport adds a call that publishes, or whose output names an artifact.
func appendReport(list []report, at thread.URI, model string, c thread.Call) []report {
	ids, does := action.ArtifactIDs(c.Output), action.TrafficOf(c)
	if len(ids) == 0 && !does.Publishes {
		return list
	}
	return append(list, report{at, c.Time.UTC(), model, c.ID, ids, action.Inspect(c).Command != "", does})
}

// A rank is how well a call fits the publication of an artifact. Lower is better.
type rank int

// The ranks. Those after publishing count only in the thread that the record names, or
// in a subagent of it.
const (
	named      rank = iota // the record has the ID of the call
	publishing             // it does nothing but publish
	mixed                  // it also waits, reads or starts an agent
	running                // it ran another command, which may be a script
	unfit
)

// rank returns how well the call fits the publication of an artifact.
func (c report) rank(a handoff.Artifact) rank {
	printed := slices.Contains(c.ids, a.ID) && !c.at.IsZero() && c.at.Before(a.CreatedAt.Add(clock))
	switch {
	case c.Observes && !c.Publishes:
		return unfit
	case c.id != "" && c.id == a.Producer.ToolCallID:
		return named
	case !printed:
		return unfit
	case c.Publishes && !c.Observes:
		return publishing
	case c.Publishes:
		return mixed
	case c.ran:
		return running
	}
	return unfit
}

// publisher adds the message whose call published an artifact. If the record names a
// thread, the message is in this thread or in a subagent of it, or the thread alone is
// added.
func (r *tracer) publisher(ctx context.Context, a handoff.Artifact) {
	by, ok := r.publication(ctx, a)
	own, recorded := recordedThread(a)
	h := trace.Hop{Kind: trace.HopPublished, Agent: a.Producer.Agent, Certainty: trace.Recorded}
	switch {
	case ok:
		h.Ref, h.At, h.Evidence = by.uri.String(), by.at, []trace.Evidence{{Kind: "message", Ref: by.uri.String()}}
	case recorded:
		by.uri = r.threadNamed(ctx, own)
		h.Ref, h.At = by.uri.String(), a.CreatedAt
	default:
		return
	}
	if recorded {
		h.Evidence = append(h.Evidence, trace.Evidence{Kind: "record", Ref: a.ID})
	}
	r.publishedBy = by.uri
	r.thread(ctx, h)
}

// attribution returns who published an artifact, and the thread, nil if no transcript
// shows it.
func (r *tracer) attribution(ctx context.Context, a handoff.Artifact) (thread.URI, *handoff.Attribution) {
	by, ok := r.publication(ctx, a)
	switch own, recorded := recordedThread(a); {
	case !ok && !recorded:
		return thread.URI{}, nil
	case !ok:
		by.uri = r.threadNamed(ctx, own)
	}
	item, err := r.conversations.Item(ctx, by.uri)
	if err != nil {
		return thread.URI{}, nil
	}
	model := handoff.Model{ID: by.model}
	if used := item.Usage.Models; by.model == "" && len(used) == 1 && used[0].Model != thread.UnknownModel {
		model = handoff.Model{Provider: used[0].Provider, ID: used[0].Model}
	}
	var main thread.URI
	for main = range r.levels(ctx, threadOf(by.uri)) {
	}
	return threadOf(by.uri), &handoff.Attribution{Source: handoff.FromTranscript, Thread: by.uri.String(),
		Session: main.Thread, Agent: item.ProducerAgent(), Model: model}
}

// recordedThread returns the thread that a record names.
func recordedThread(a handoff.Artifact) (uri thread.URI, ok bool) {
	uri, err := thread.ParseURI(a.Producer.Thread)
	return uri, err == nil && a.Producer.Thread != ""
}

// publication returns the call that published an artifact: the first one of those that
// fit best.
func (r *tracer) publication(ctx context.Context, a handoff.Artifact) (report, bool) {
	best, worst, found := unfit, publishing, report{}
	own, recorded := recordedThread(a)
	var threads []thread.URI
	if recorded {
		worst = running
		own = r.threadNamed(ctx, own)
		if a.Producer.ToolCallID != "" {
			threads = append(threads, own) // its output need not have the ID
		}
	}
	mentions, err := r.conversations.Mentions(ctx, a.ID)
	if err != nil {
		r.warn(err)
	}
	for _, m := range mentions {
		uri := threadOf(m.URI)
		if m.Where != threadindex.InOutput || !m.At.Before(a.CreatedAt.Add(clock)) || slices.Contains(threads, uri) ||
			recorded && !r.within(ctx, uri, own) {
			continue
		}
		threads = append(threads, uri)
	}
	for _, uri := range threads {
		for _, c := range r.deedsOf(ctx, uri).reports {
			fits := c.rank(a)
			if fits <= worst && (fits < best || fits == best && c.at.Before(found.at)) {
				best, found = fits, c
			}
		}
	}
	return found, best < unfit
}

// threadNamed returns the URI of a thread in the form of its transcript.
func (r *tracer) threadNamed(ctx context.Context, uri thread.URI) thread.URI {
	if item, err := r.conversations.Item(ctx, uri); err == nil {
		return item.URI
	}
	return threadOf(uri)
}

// maxLevels is how many levels of subagents are followed: transcripts may name each
// other as parents.
const maxLevels = 64

// levels yields a thread, its parent, and so on to the main thread.
func (r *tracer) levels(ctx context.Context, uri thread.URI) iter.Seq[thread.URI] {
	return func(yield func(thread.URI) bool) {
		for range maxLevels {
			if !yield(uri) {
				return
			}
			item, err := r.conversations.Item(ctx, uri)
			if err != nil || item.Parent == "" {
				return
			}
			uri = r.threadNamed(ctx, thread.URI{Provider: uri.Provider, Thread: item.Parent})
		}
	}
}

// within reports whether a thread is another one, or a subagent of it at any level.
func (r *tracer) within(ctx context.Context, uri, of thread.URI) bool {
	for above := range r.levels(ctx, uri) {
		if above == of {
			return true
		}
	}
	return false
}
