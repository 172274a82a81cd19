package news

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/transcript"
)

// Done is a session that ended, or a thread that ended its turn and belongs to none.
// Subagents count to their thread, threads to their session.
type Done struct {
	Session      string             `json:"sessionId,omitempty"`
	Thread       string             `json:"thread,omitempty"` // a URI: itself, or the only one of the session
	Title        string             `json:"title,omitempty"`
	Agent        string             `json:"agent,omitempty"`
	Program      string             `json:"program,omitempty"`
	Branch       string             `json:"branch,omitempty"`
	Outcome      string             `json:"outcome"` // the status of the session or thread
	Reason       string             `json:"reason,omitempty"`
	Artifacts    int                `json:"artifacts"`         // that it published in the time
	Files        int                `json:"files"`             // that its tool calls changed in the time
	Verdict      handoff.NoticeCode `json:"verdict,omitempty"` // the worst notice about the claims of its artifacts
	Usage        *trace.Usage       `json:"usage,omitempty"`   // of its requests in the time
	Started      time.Time          `json:"startedAt,omitzero"`
	Ended        time.Time          `json:"endedAt,omitzero"`
	thread.Chain                    // of a thread, by those that were active in the time
}

// Failed reports whether it ended with a failure.
func (d Done) Failed() bool {
	return d.Outcome == session.Failed || d.Outcome == string(thread.Errored) ||
		d.Reason != "" && d.Outcome != session.Completed
}

// A found is a session with what was done in it.
type found struct {
	session.View
	threads []string // the URIs of its threads, that of the main thread for a subagent
	program string
}

// title names a session, as lists of sessions do.
func (f found) title() string { return lifecycle.Label(f.Session) }

func (f found) by() string { return cmp.Or(f.Agent.Name, f.program) }

// pageSize is the number of sessions or artifacts that are read at a time.
const pageSize = 200

// found returns the sessions and runs that were opened up to SessionDays before a time,
// or later, the newest first. Archived and deleted ones are left out.
func (s Source) found(ctx context.Context, since time.Time) (list []found, err error) {
	q := lifecycle.Query{Observer: lifecycle.ThisObserver(), Now: s.c.Now()}
	q.Since, q.IncludeRuns, q.Limit = s.sessionsFrom(since), true, pageSize
	for more := true; more; more = q.Cursor != "" {
		page, err := lifecycle.Find(ctx, s.c.Anonymous, q)
		if err != nil {
			return nil, err
		}
		for _, v := range page.Sessions {
			f := found{View: v, program: program(v.Producer.Thread, v.Producer.Harness)}
			if len(v.Expected) > 0 {
				p, err := s.sessions.Progress(ctx, v.Session, nil)
				if err != nil {
					return nil, err
				}
				lifecycle.SetNotices(&f.View, p.Expectations)
			}
			list = append(list, f)
		}
		q.Cursor = page.Cursor
	}
	return list, nil
}

// sessionsFrom returns when sessions were opened that a report about a time looks at.
func (s Source) sessionsFrom(since time.Time) time.Time {
	if now := s.c.Now(); now.Before(since) {
		since = now
	}
	return since.AddDate(0, 0, -SessionDays)
}

// addThreads adds to sessions the threads of those who opened them, published in them or
// worked in them. The transcript of a thread leads to its subagents.
func (s Source) addThreads(ctx context.Context, r *Report, list []found, work []handoff.Work) error {
	if len(list) == 0 {
		return nil
	}
	made, err := s.c.Anonymous.Productions(ctx, handoff.ProductionQuery{By: "session",
		Since: s.sessionsFrom(r.Since), OfThreads: true})
	if err != nil {
		return err
	}
	mains, err := s.mains(ctx, list, made, work)
	if err != nil {
		return err
	}
	threads, tasks := map[string][]string{}, map[[2]string]bool{}
	add := func(uri string, sessions ...string) {
		main := mains(uri)
		for _, id := range sessions {
			if id != "" && uri != "" && !tasks[[2]string{id, uri}] && !slices.Contains(threads[id], main) {
				threads[id] = append(threads[id], main)
			}
		}
	}
	for _, f := range list {
		add(f.Producer.Thread, f.ID)
	}
	order.Sort(made, func(a, b handoff.Production) int { return b.Newest.Compare(a.Newest) })
	for _, p := range made {
		add(p.Thread, p.Session, p.RunID)
	}
	for _, w := range work {
		if w.Kind == "task" {
			tasks[[2]string{w.SessionID, w.Thread}], tasks[[2]string{w.RunID, w.Thread}] = true, true
		}
	}
	for _, w := range work {
		add(w.Thread, w.SessionID, w.RunID)
	}
	for i := range list {
		f := &list[i]
		f.threads = threads[f.ID]
		for _, uri := range f.threads {
			f.program = cmp.Or(f.program, program(uri, ""))
		}
	}
	return nil
}

// mains returns what finds the main threads of those that sessions, productions and work name.
func (s Source) mains(ctx context.Context, list []found, made []handoff.Production, work []handoff.Work) (
	func(uri string) string, error) {
	var uris []string
	for _, f := range list {
		uris = append(uris, f.Producer.Thread)
	}
	for _, p := range made {
		uris = append(uris, p.Thread)
	}
	for _, w := range work {
		uris = append(uris, w.Thread)
	}
	slices.Sort(uris)
	known, err := s.by.Mains(ctx, slices.Compact(uris))
	return func(uri string) string { return cmp.Or(known[uri], mainOf(uri)) }, err
}

// artifacts yields the artifacts that a query selects, the newest first.
func (s Source) artifacts(ctx context.Context, q handoff.ArtifactQuery) iter.Seq2[handoff.Artifact, error] {
	return func(yield func(handoff.Artifact, error) bool) {
		q.Limit = cmp.Or(q.Limit, pageSize)
		for more := true; more; more = q.Cursor != "" {
			page, err := s.c.Anonymous.Artifacts(ctx, q)
			if err != nil {
				yield(handoff.Artifact{}, err)
				return
			}
			for _, a := range page.Artifacts {
				if !yield(a, nil) {
					return
				}
			}
			q.Cursor = page.Cursor
		}
	}
}

// done adds the sessions and threads that ended in the time.
func (s Source) done(ctx context.Context, r *Report, list []found) error {
	active, warnings, err := s.o.Threads.Changed(ctx, r.Since)
	if err != nil {
		return err
	}
	r.Warnings = append(r.Warnings, warnings...)
	byURI, inSession := map[string]transcript.Active{}, map[string]bool{}
	for _, t := range active {
		byURI[t.URI.String()] = t
	}
	shown := map[string]bool{}
	for _, f := range list {
		for _, uri := range f.threads {
			inSession[uri] = true
		}
		if f.Closed == 0 && f.Status != session.Failed || f.Parent != "" && shown[f.Parent] {
			continue
		}
		ended := f.ClosedAt
		if ended.IsZero() {
			ended = f.NewestAt // abandoned
		}
		if r.isSeen(f, ended) {
			continue
		}
		shown[f.ID] = true
		d := f.done(ended, r.made[f.origin()], r.usage(f.ID))
		var writes []transcript.Write
		for _, uri := range f.threads {
			if t, ok := byURI[uri]; ok {
				d.Branch, writes = cmp.Or(d.Branch, t.Branch), append(writes, t.Writes...)
			}
		}
		d.Files = changedFiles(writes)
		r.Done = append(r.Done, d)
	}
	for _, t := range active {
		if uri := t.URI.String(); t.State.Status.Ended() && !inSession[uri] {
			made := r.made[origin{"thread", uri}]
			r.Done = append(r.Done, Done{Thread: uri, Title: t.Name(), Agent: t.ProducerAgent(), Program: t.Provider,
				Branch: t.Branch, Outcome: string(t.State.Status), Reason: t.State.Reason, Artifacts: made.count,
				Verdict: made.verdict, Files: changedFiles(t.Writes), Started: t.Started, Ended: t.Seen(), Usage: r.usage(uri),
				Chain: t.Chain})
		}
	}
	order.Sort(r.Done, func(a, b Done) int { return b.Ended.Compare(a.Ended) })
	return nil
}

// silent adds the subagents that ended in the time without an output or a message in the log.
func (s Source) silent(ctx context.Context, r *Report, work []handoff.Work) error {
	ended := func(w handoff.Work) bool {
		return w.Kind == "task" && w.Thread != "" && w.Status == "completed" && !w.EndedAt.Before(r.Since)
	}
	from := r.Until
	for _, w := range work {
		if ended(w) && w.StartedAt.Before(from) {
			from = w.StartedAt
		}
	}
	if from.Equal(r.Until) || !s.messages() {
		return nil
	}
	made, err := s.c.Anonymous.Productions(ctx, handoff.ProductionQuery{By: "work", Since: from})
	if err != nil {
		return err
	}
	left := map[string]bool{}
	for _, p := range made {
		left[p.Thread], left[p.Harness+"\x00"+p.WorkID] = true, true
	}
	for _, w := range work {
		if ended(w) && !left[w.Thread] && !left[w.Harness+"\x00"+w.ID] {
			r.Done = append(r.Done, Done{Thread: w.Thread, Title: cmp.Or(w.Name, w.Agent), Agent: w.Agent,
				Program: program(w.Thread, w.Harness), Outcome: w.Status, Reason: "left no output and no message",
				Started: w.StartedAt, Ended: w.EndedAt})
		}
	}
	return nil
}

// isSeen reports whether the reader has seen the end of a session. Where it is recorded, its
// number in the log decides, because the clocks of machines differ.
func (r *Report) isSeen(f found, ended time.Time) bool {
	if r.seen.byNumber && f.Closed > 0 {
		return f.Closed <= r.seen.from
	}
	return ended.Before(r.Since)
}

func (f found) done(ended time.Time, made published, used *trace.Usage) Done {
	d := Done{Session: f.ID, Title: f.title(), Agent: f.Agent.Name, Program: f.program, Outcome: f.Status,
		Reason: f.Reason, Artifacts: made.count, Verdict: made.verdict, Usage: used, Started: f.OpenedAt, Ended: ended}
	if len(f.threads) == 1 {
		d.Thread = f.threads[0]
	}
	return d
}

// An origin is a session, run or thread: a field of producers, and its value.
type origin struct{ field, id string }

// origin returns what the producers of a session name.
func (f found) origin() origin {
	if f.Parent != "" {
		return origin{"run", f.ID}
	}
	return origin{"session", f.ID}
}

// origins returns those of a producer.
func origins(session, run, thread string) []origin {
	return []origin{{"session", session}, {"run", run}, {"thread", thread}}
}

// A published is what was published from an origin in the time of a report.
type published struct {
	count   int
	verdict handoff.NoticeCode // the worst of active artifacts
}

// count adds n artifacts to what was published from some origins.
func (r *Report) count(n int, from ...origin) {
	for _, m := range from {
		p := r.made[m]
		p.count += n
		r.made[m] = p
	}
}

// mainThread returns the main thread of what published an artifact.
func mainThread(a handoff.Artifact) string {
	uri, err := thread.ParseURI(a.PublishedBy().Thread)
	if err != nil || a.Attributed == nil {
		return mainOf(a.Producer.Thread)
	}
	return thread.URI{Provider: uri.Provider, Thread: a.Attributed.Session}.String()
}

// judge adds the notice about the claims of an artifact to what was published.
func (r *Report) judge(a handoff.Artifact) {
	for _, m := range origins(a.Producer.Session, a.Producer.RunID, mainThread(a)) {
		p := r.made[m]
		if p.verdict == "" || handoff.CompareNotices(*a.Claimed, handoff.Notice{Code: p.verdict}) < 0 {
			p.verdict = a.Claimed.Code
		}
		r.made[m] = p
	}
}

func (r *Report) usage(key string) *trace.Usage {
	if u, ok := r.spent[key]; ok {
		return &u
	}
	return nil
}

func changedFiles(writes []transcript.Write) int {
	paths := map[string]bool{}
	for _, w := range writes {
		paths[w.Path] = true
	}
	return len(paths)
}

// mainOf returns the thread that a subagent belongs to, or the thread itself.
func mainOf(uri string) string {
	u, err := thread.ParseURI(uri)
	if err != nil {
		return uri
	}
	return u.Main().String()
}

// messages reports whether the last messages of subagents are published: they are parts of threads.
func (s Source) messages() bool { return !s.c.Remote || s.c.Settings.SharesThreads() }
