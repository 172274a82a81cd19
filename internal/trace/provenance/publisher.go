package provenance

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/transcript"
)

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

// rankOf returns how well a call fits the publication of an artifact.
func rankOf(c threadindex.Report, a handoff.Artifact) rank {
	printed := c.Artifact == a.ID && !c.At.IsZero() && c.At.Before(a.CreatedAt.Add(clock))
	switch {
	case c.Observes && !c.Publishes:
		return unfit
	case c.Call != "" && c.Call == a.Producer.ToolCallID:
		return named
	case !printed:
		return unfit
	case c.Publishes && !c.Observes:
		return publishing
	case c.Publishes:
		return mixed
	case c.Ran:
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
		h.Ref, h.At, h.Evidence = by.URI.String(), by.At, []trace.Evidence{{Kind: "message", Ref: by.URI.String()}}
	case recorded:
		by.URI = r.threadNamed(ctx, own)
		h.Ref, h.At = by.URI.String(), a.CreatedAt
	default:
		return
	}
	if recorded {
		h.Evidence = append(h.Evidence, trace.Evidence{Kind: "record", Ref: a.ID})
	}
	r.publishedBy = by.URI
	r.thread(ctx, h)
}

// attribution returns who published an artifact, nil if no transcript shows it, and whether
// a transcript shows the call.
func (r *tracer) attribution(ctx context.Context, a handoff.Artifact) (by *handoff.Attribution, shown bool) {
	call, shown := r.publication(ctx, a)
	switch own, recorded := recordedThread(a); {
	case !shown && !recorded:
		return nil, false
	case !shown:
		call.URI = r.threadNamed(ctx, own)
	}
	item, err := r.item(ctx, call.URI)
	if err != nil {
		return nil, shown
	}
	model := handoff.Model{ID: call.Model}
	if used := item.Usage.Models; call.Model == "" && len(used) == 1 && used[0].Model != thread.UnknownModel {
		model = handoff.Model{Provider: used[0].Provider, ID: used[0].Model}
	}
	var main thread.URI
	for main = range r.levels(ctx, threadOf(call.URI)) {
	}
	return &handoff.Attribution{Source: handoff.FromTranscript, Thread: call.URI.String(), Session: main.Thread,
		Agent: item.ProducerAgent(), Model: model}, shown
}

// agentOf returns the agent that published an artifact.
func (r *tracer) agentOf(ctx context.Context, a handoff.Artifact) string {
	a.Attributed, _ = r.attribution(ctx, a)
	return a.PublishedBy().Agent
}

// recordedThread returns the thread that a record names.
func recordedThread(a handoff.Artifact) (uri thread.URI, ok bool) {
	uri, err := thread.ParseURI(a.Producer.Thread)
	return uri, err == nil && a.Producer.Thread != ""
}

// publication returns the call that published an artifact: the first one of those that
// fit best.
func (r *tracer) publication(ctx context.Context, a handoff.Artifact) (found threadindex.Report, ok bool) {
	best, worst := unfit, publishing
	own, recorded := recordedThread(a)
	if recorded {
		worst, own = running, r.threadNamed(ctx, own)
	}
	for _, c := range r.reportsOf(ctx, a) {
		fits := rankOf(c, a)
		switch {
		case fits > worst || fits >= best && (fits > best || !c.At.Before(found.At)):
		case !recorded || r.within(ctx, threadOf(c.URI), own):
			best, found = fits, c
		}
	}
	return found, best < unfit
}

// reportsOf returns the calls that may have published an artifact.
func (r *tracer) reportsOf(ctx context.Context, a handoff.Artifact) []threadindex.Report {
	of, ok := r.reports[a.ID]
	if !ok {
		r.readReports(ctx, a)
		of = r.reports[a.ID]
	}
	if call := a.Producer.ToolCallID; call != "" && a.Producer.Thread != "" { // its output need not have the ID
		of = append(of[:len(of):len(of)], r.called[call]...)
	}
	return of
}

// readReports reads the calls that may have published some artifacts.
func (r *tracer) readReports(ctx context.Context, list ...handoff.Artifact) {
	var ids, calls []string
	for _, a := range list {
		if ids = append(ids, a.ID); a.Producer.ToolCallID != "" {
			calls = append(calls, a.Producer.ToolCallID)
		}
	}
	all, err := r.conversations.Reports(ctx, ids, calls)
	if err != nil {
		r.warn(err)
	}
	uris, reports, called := map[string]bool{}, map[string][]threadindex.Report{}, map[string][]threadindex.Report{}
	for _, c := range all {
		uris[threadOf(c.URI).String()] = true
		reports[c.Artifact] = append(reports[c.Artifact], c)
		if c.Call != "" {
			called[c.Call] = append(called[c.Call], c)
		}
	}
	for _, a := range list {
		uris[a.Producer.Thread] = true
		r.reports[a.ID] = reports[a.ID]
		if call := a.Producer.ToolCallID; call != "" {
			r.called[call] = called[call]
		}
	}
	if len(list) == 1 {
		return // item finds those that it needs
	}
	items, err := r.conversations.Items(ctx, slices.Sorted(maps.Keys(uris)))
	if err != nil {
		r.warn(err)
	}
	for _, i := range items {
		r.items[i.URI] = item{i, nil}
	}
}

// item returns a thread.
func (r *tracer) item(ctx context.Context, uri thread.URI) (transcript.Item, error) {
	uri = threadOf(uri)
	known, ok := r.items[uri]
	if !ok {
		known.Item, known.err = r.conversations.Item(ctx, uri)
		r.items[uri] = known
	}
	return known.Item, known.err
}

// threadNamed returns the URI of a thread in the form of its transcript.
func (r *tracer) threadNamed(ctx context.Context, uri thread.URI) thread.URI {
	if item, err := r.item(ctx, uri); err == nil {
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
			item, err := r.item(ctx, uri)
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
