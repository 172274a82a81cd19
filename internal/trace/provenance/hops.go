package provenance

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/trace/cost"
	"github.com/agent-handoff/handoff/internal/transcript/action"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/transcript"
)

// artifactOf adds the artifact of a file. same reports whether the bytes are those
// that were published.
func (r *tracer) artifactOf(ctx context.Context, a handoff.Artifact, file string, same bool) {
	switch {
	case file != "" && same:
		r.artifact(ctx, a, trace.Exact, trace.Evidence{Kind: "digest", Ref: a.Digest.Algorithm + ":" + a.Digest.Value})
	case file != "" && a.TargetType == "file":
		a.Title = strings.TrimSpace(a.Title + " (the file has other bytes now)")
		r.artifact(ctx, a, trace.Recorded)
	default:
		r.artifact(ctx, a, trace.Recorded)
	}
}

// artifact adds an artifact with its former path, its session, its work, and the
// message that published it.
func (r *tracer) artifact(ctx context.Context, a handoff.Artifact, certainty trace.Certainty,
	evidence ...trace.Evidence) {
	if r.shown[a.ID] {
		return
	}
	r.shown[a.ID] = true
	record := trace.Evidence{Kind: "record", Ref: a.ID}
	r.add(trace.Hop{Kind: trace.HopArtifact, Ref: a.ID, Text: a.Label(), Agent: r.agentOf(ctx, a), At: a.CreatedAt,
		Certainty: certainty,
		Evidence:  append([]trace.Evidence{record}, evidence...)})
	if p, ok := a.Record.Fact.(*handoff.ArtifactPublished); ok && p.Path != a.Path {
		r.add(trace.Hop{Kind: trace.HopMoved, Ref: p.Path, Text: "now " + a.Path, Certainty: trace.Recorded,
			Evidence: []trace.Evidence{record}})
	}
	p := a.Producer
	for _, id := range slices.Compact([]string{p.RunID, p.Session}) {
		h := trace.Hop{Kind: trace.HopSession, Ref: id, Certainty: trace.Recorded, Evidence: []trace.Evidence{record}}
		s, err := r.Reader.Session(ctx, id)
		if id == "" || err != nil && p.Thread != "" && p.Session != "" && id != p.Session {
			continue // the run is a subagent, whose thread has a hop
		}
		if err == nil {
			h.Text, h.Agent, h.At = cmp.Or(s.Name, s.Title, s.Workflow.Name), s.Agent.Name, s.OpenedAt
		}
		r.add(h)
	}
	r.work(ctx, a)
	r.publisher(ctx, a)
	if r.CostOf == nil || p.Thread == "" {
		return
	}
	if amount := r.CostOf(ctx, a); amount != nil && amount.TotalTokens != nil {
		r.add(trace.Hop{Kind: trace.HopCost, Ref: a.ID, Text: "of the artifact, with subagents", At: a.CreatedAt,
			Certainty: trace.Recorded,
			Cost:      amount, Evidence: []trace.Evidence{record, {Kind: "thread", Ref: p.Thread}}})
	}
}

// work adds the unit of work that published an artifact, and the usage that was
// reported for it.
func (r *tracer) work(ctx context.Context, a handoff.Artifact) {
	p := a.Producer
	if p.WorkID == "" || p.WorkID == p.Session || p.WorkID == p.RunID {
		return
	}
	h := trace.Hop{Kind: trace.HopWork, Ref: p.WorkID, Text: p.Harness, Agent: p.Agent, Certainty: trace.Recorded,
		Evidence: []trace.Evidence{{Kind: "record", Ref: a.ID}}}
	w, err := r.Reader.Work(ctx, p.Harness, p.WorkID)
	if err == nil {
		h.Text = strings.TrimSpace(strings.Join([]string{p.Harness, w.Kind, w.Name}, " "))
		h.At = w.StartedAt
		for _, id := range []string{w.StartRecord, w.EndRecord} {
			if id != "" {
				h.Evidence = append(h.Evidence, trace.Evidence{Kind: "record", Ref: id})
			}
		}
	}
	r.add(h)
	if err == nil && w.Usage != nil {
		amount := cost.OfWork(w, r.Prices)
		r.add(trace.Hop{Kind: trace.HopCost, Ref: p.WorkID, Text: "as the harness reported", At: w.EndedAt,
			Certainty: trace.Recorded,
			Cost:      &amount, Evidence: []trace.Evidence{{Kind: "record", Ref: w.EndRecord}}})
	}
}

// thread adds a message. For the first one of a thread, it adds what that cost,
// and which thread started it.
func (r *tracer) thread(ctx context.Context, h trace.Hop) {
	uri, err := thread.ParseURI(h.Ref)
	if err != nil {
		r.warn(err)
		return
	}
	item, err := r.conversations.Item(ctx, uri)
	if err == nil {
		if h.Agent == "" || item.Parent != "" { // a subagent has its name in every record
			h.Agent = cmp.Or(item.ProducerAgent(), h.Agent)
		}
		if h.Text == "" {
			h.Text = item.Name()
		}
	}
	r.add(h)
	name := threadOf(uri).String()
	if err != nil || r.shown[name] {
		return
	}
	r.shown[name] = true
	main := item
	if item.Parent != "" {
		parent := thread.URI{Provider: item.Provider, Thread: item.Parent}
		p := trace.Hop{Kind: trace.HopParent, Ref: parent.String(), Certainty: trace.Recorded,
			Evidence: []trace.Evidence{{Kind: "thread", Ref: name}}}
		main, err = r.conversations.Item(ctx, parent)
		if err == nil {
			p.Text, p.At = main.Name(), main.Started
		}
		r.add(p)
	}
	r.continues(ctx, main)
	if h.Kind == trace.HopPublished && r.CostOf != nil {
		return // the cost of the artifact is added
	}
	amount := r.Prices.OfUsage(item.Usage, item.Last)
	if amount.TotalTokens != nil {
		r.add(trace.Hop{Kind: trace.HopCost, Ref: name, Text: "of the thread", At: item.Last, Certainty: trace.Recorded,
			Cost:     &amount,
			Evidence: []trace.Evidence{{Kind: "thread", Ref: name}}})
	}
}

// continues adds the threads whose work a thread states to continue, and those whose work these do.
func (r *tracer) continues(ctx context.Context, i transcript.Item) {
	list, rest, _ := threadindex.Before(ctx, r.conversations, i) // the error is that of ctx
	if rest.Thread != "" {
		list = append(list, transcript.Item{URI: rest, Thread: &thread.Thread{Title: "not on this machine"}})
	}
	after := i.URI.String()
	for _, before := range list {
		if r.shown["continues "+after] {
			return
		}
		r.shown["continues "+after] = true
		r.add(trace.Hop{Kind: trace.HopContinues, Ref: before.URI.String(), Text: before.Name(), At: before.Started,
			Certainty: trace.Claimed, Evidence: []trace.Evidence{{Kind: "thread", Ref: after}}})
		after = before.URI.String()
	}
}

// The limits of what a trace lists.
const (
	maxInputs = 50
	maxUses   = 100
)

// inputs adds what was read to make an artifact or a file: the recorded parents, and
// the files that its thread read before.
func (r *tracer) inputs(ctx context.Context, a *handoff.Artifact, made []credit) error {
	if a != nil && len(a.Parents) > 0 {
		page, err := r.Reader.Artifacts(ctx, handoff.ArtifactQuery{IDs: a.Parents, IncludeInactive: true})
		if err != nil {
			return err
		}
		for _, in := range page.Artifacts {
			r.add(trace.Hop{Kind: trace.HopInput, Ref: in.ID, Text: in.Label(), Agent: r.agentOf(ctx, in), At: in.CreatedAt,
				Certainty: trace.Recorded,
				Evidence:  []trace.Evidence{{Kind: "record", Ref: a.ID}}})
		}
	}
	for _, by := range made {
		touches, err := r.conversations.TouchesOf(ctx, "", threadOf(by.uri))
		if err != nil {
			r.warn(err)
		}
		seen := map[string]bool{by.path: true}
		var list []threadindex.Touch
		for _, t := range slices.Backward(touches) {
			if before := t.URI.From <= by.uri.From; before && t.Access == action.Read && !seen[t.Path] && len(list) < maxInputs {
				seen[t.Path] = true
				list = append(list, t)
			}
		}
		known := r.artifactsAt(ctx, list)
		for _, t := range slices.Backward(list) {
			h := trace.Hop{Kind: trace.HopInput, Ref: t.Path, At: t.At, Certainty: trace.Inferred,
				Evidence: []trace.Evidence{{Kind: "message", Ref: t.URI.String()}}}
			if in, ok := known[t.Path]; ok && (a == nil || !slices.Contains(a.Parents, in.ID)) {
				h.Text = in.Label()
				h.Evidence = append(h.Evidence, trace.Evidence{Kind: "record", Ref: in.ID})
			}
			r.add(h)
		}
	}
	return nil
}

// artifactsAt returns the newest artifact of each file.
func (r *tracer) artifactsAt(ctx context.Context, touches []threadindex.Touch) map[string]handoff.Artifact {
	known, paths := map[string]handoff.Artifact{}, []string{}
	for _, t := range touches {
		if _, relative := r.places(t.Path); relative != "" {
			paths = append(paths, filepath.ToSlash(relative))
		}
	}
	if len(paths) == 0 {
		return known
	}
	page, err := r.Reader.Artifacts(ctx, handoff.ArtifactQuery{Paths: paths, IncludeInactive: true, Limit: maxRevisions})
	if err != nil {
		r.warn(err)
	}
	for _, a := range page.Artifacts {
		if _, ok := known[a.File]; !ok {
			known[a.File] = a
		}
	}
	return known
}

// uses adds who has read an artifact or file since it was made: what records state,
// and the threads whose calls read its path.
func (r *tracer) uses(ctx context.Context, a *handoff.Artifact, files []string, made []credit) error {
	since := time.Time{}
	makers := map[thread.URI]bool{threadOf(r.publishedBy): true}
	for _, by := range made {
		makers[threadOf(by.uri)] = true
		if by.at.After(since) {
			since = by.at
		}
	}
	if a != nil {
		since = a.CreatedAt
		if uri, err := thread.ParseURI(a.Producer.Thread); err == nil && a.Producer.Thread != "" {
			makers[threadOf(uri)] = true
		}
		for _, u := range a.UsedBy {
			work := strings.TrimPrefix(u.Harness+":"+u.WorkID, ":")
			r.add(trace.Hop{Kind: trace.HopUse, Ref: cmp.Or(u.RunID, u.Session, u.WorkID), Text: work, Agent: u.Agent,
				Certainty: trace.Recorded,
				Evidence:  []trace.Evidence{{Kind: "work", Ref: work}}})
		}
		page, err := r.Reader.Artifacts(ctx, handoff.ArtifactQuery{AnyParent: []string{a.ID}, IncludeInactive: true,
			Limit: maxUses})
		if err != nil {
			return err
		}
		for _, child := range slices.Backward(page.Artifacts) {
			r.add(trace.Hop{Kind: trace.HopUse, Ref: child.ID, Text: child.Label(), Agent: r.agentOf(ctx, child),
				At:        child.CreatedAt,
				Certainty: trace.Recorded, Evidence: []trace.Evidence{{Kind: "record", Ref: child.ID}}})
		}
	}
	if since.IsZero() {
		return nil
	}
	uses, err := readSince(ctx, r.conversations, files, since)
	if err != nil {
		r.warn(err)
	}
	for _, u := range uses[:min(len(uses), maxUses)] {
		if !makers[threadOf(u.URI)] {
			h := trace.Hop{Kind: trace.HopUse, Ref: u.URI.String(), Text: u.Path, At: u.At, Certainty: trace.Inferred,
				Evidence: []trace.Evidence{{Kind: "message", Ref: u.URI.String()}}}
			if item, err := r.conversations.Item(ctx, u.URI); err == nil {
				h.Agent = item.ProducerAgent()
			}
			r.add(h)
		}
	}
	return nil
}
