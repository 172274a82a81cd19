package news

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session"
	"github.com/agent-handoff/handoff/internal/trace/cost"
	"github.com/agent-handoff/handoff/internal/transcript/collision"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/workspace/threads"
)

// Done is a session that ended, or a thread that ended its turn and belongs to none.
// Subagents count to their thread, threads to their session.
type Done struct {
	Session   string             `json:"sessionId,omitempty"`
	Thread    string             `json:"thread,omitempty"` // a URI: itself, or the only one of the session
	Title     string             `json:"title,omitempty"`
	Agent     string             `json:"agent,omitempty"`
	Program   string             `json:"program,omitempty"`
	Branch    string             `json:"branch,omitempty"`
	Outcome   string             `json:"outcome"` // the status of the session or thread
	Reason    string             `json:"reason,omitempty"`
	Artifacts int                `json:"artifacts"`         // that it published in the time
	Files     int                `json:"files"`             // that its tool calls changed in the time
	Verdict   handoff.NoticeCode `json:"verdict,omitempty"` // the worst notice about the claims of its artifacts
	Usage     *Usage             `json:"usage,omitempty"`   // of its requests in the time
	Started   time.Time          `json:"startedAt,omitzero"`
	Ended     time.Time          `json:"endedAt,omitzero"`
}

// Usage is what something used and cost.
type Usage = cost.Amount

// A found is a session with what was done in it.
type found struct {
	session.View
	session.Progress
	program string
}

// title names what a session is for.
func (f found) title() string { return cmp.Or(f.Name, f.Title, f.Workflow.Name, f.DisplayName) }

func (f found) by() string { return cmp.Or(f.Agent.Name, f.program) }

// pageSize is the number of sessions or artifacts that are read at a time.
const pageSize = 200

// found returns the sessions and runs that were opened up to SessionDays before a time,
// or later, the newest first. Archived and deleted ones are left out. Of those that ended
// long before, only what they should leave is looked up.
func (s Source) found(ctx context.Context, since time.Time) (list []found, err error) {
	from := s.o.Now()
	if since.Before(from) {
		from = since
	}
	q := session.Query{Observer: session.ThisObserver(), Now: s.o.Now()}
	q.Since, q.IncludeRuns, q.Limit = from.AddDate(0, 0, -SessionDays), true, pageSize
	for more := true; more; more = q.Cursor != "" {
		page, err := session.Find(ctx, s.o.Hub, q)
		if err != nil {
			return nil, err
		}
		for _, v := range page.Sessions {
			f := found{View: v, program: program(v.Producer.Thread, v.Producer.Harness)}
			if v.Closed == 0 || len(v.Expected) > 0 || !v.ClosedAt.Before(from.AddDate(0, 0, -ThreadDays)) {
				if f.Progress, err = s.sessions.Progress(ctx, v.Session); err != nil {
					return nil, err
				}
				f.SetNotices(f.Expectations)
			}
			for _, uri := range f.Threads {
				f.program = cmp.Or(f.program, program(uri, ""))
			}
			list = append(list, f)
		}
		q.Cursor = page.Cursor
	}
	return list, nil
}

// artifacts yields the artifacts that a query selects, the newest first.
func (s Source) artifacts(ctx context.Context, q handoff.ArtifactQuery) iter.Seq2[handoff.Artifact, error] {
	return func(yield func(handoff.Artifact, error) bool) {
		q.Limit = pageSize
		for more := true; more; more = q.Cursor != "" {
			page, err := s.o.Hub.Artifacts(ctx, q)
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
	spent, warnings, err := s.o.Work.Spent(ctx, r.Since)
	if err != nil {
		return err
	}
	r.Warnings = append(r.Warnings, warnings...)
	for _, u := range spent {
		if r.Usage == nil {
			r.Usage = &Usage{Completeness: thread.Exact}
		}
		r.Usage.Add(u)
	}
	active, warnings, err := s.o.Threads.Changed(ctx, r.Since)
	if err != nil {
		return err
	}
	r.Warnings = append(r.Warnings, warnings...)
	inSession := map[string]bool{}
	for _, f := range list {
		for _, uri := range f.Threads {
			inSession[mainOf(uri)] = true
		}
		if f.Closed == 0 && f.Status != session.Failed || f.Parent != "" && r.shows(f.Parent) {
			continue
		}
		ended := f.ClosedAt
		if ended.IsZero() {
			ended = f.NewestAt // abandoned
		}
		if r.isSeen(f, ended) {
			continue
		}
		r.Done = append(r.Done, f.done(r.Since, ended, active, usageOf(spent, f.ID)))
	}
	for _, t := range active {
		if uri := t.URI.String(); t.State.Status.Ended() && !inSession[uri] {
			d := Done{Thread: uri, Title: t.Name(), Agent: t.AgentName, Program: t.Provider, Branch: t.Branch,
				Outcome: string(t.State.Status), Reason: t.State.Reason, Files: changedFiles(t.Writes), Started: t.Started,
				Ended: t.Seen(), Usage: usageOf(spent, uri)}
			if err := s.published(ctx, r.Since, &d); err != nil {
				return err
			}
			r.Done = append(r.Done, d)
		}
	}
	slices.SortStableFunc(r.Done, func(a, b Done) int { return b.Ended.Compare(a.Ended) })
	return nil
}

// isSeen reports whether the reader has seen the end of a session. Where it is recorded, its
// number in the log decides, because the clocks of machines differ.
func (r *Report) isSeen(f found, ended time.Time) bool {
	if r.seen.from > 0 && f.Closed > 0 {
		return f.Closed <= r.seen.from
	}
	return ended.Before(r.Since)
}

// shows reports whether a session is one of those that were done.
func (r *Report) shows(id string) bool {
	return slices.ContainsFunc(r.Done, func(d Done) bool { return d.Session == id })
}

func (f found) done(since, ended time.Time, active []threads.Active, used *Usage) Done {
	d := Done{Session: f.ID, Title: f.title(), Agent: f.Agent.Name, Program: f.program, Outcome: f.Status,
		Reason: f.Reason, Usage: used, Started: f.OpenedAt, Ended: ended}
	if len(f.Threads) == 1 {
		d.Thread = f.Threads[0]
	}
	for _, a := range f.Artifacts {
		d.count(since, a)
	}
	var writes []collision.Write
	for _, t := range active {
		if slices.ContainsFunc(f.Threads, func(uri string) bool { return mainOf(uri) == t.URI.String() }) {
			d.Branch = cmp.Or(d.Branch, t.Branch)
			writes = append(writes, t.Writes...)
		}
	}
	d.Files = changedFiles(writes)
	return d
}

// published counts the artifacts of a thread, which is in no session.
func (s Source) published(ctx context.Context, since time.Time, d *Done) error {
	q := handoff.ArtifactQuery{Producer: map[string]string{"thread": d.Thread}, Since: since, IncludeInactive: true}
	for a, err := range s.artifacts(ctx, q) {
		if err != nil {
			return err
		}
		d.count(since, a)
	}
	return nil
}

// count adds an artifact to what was done.
func (d *Done) count(since time.Time, a handoff.Artifact) {
	if a.CreatedAt.Before(since) {
		return
	}
	d.Artifacts++
	if a.Status == handoff.Active && a.Claimed != nil && (d.Verdict == "" ||
		handoff.CompareNotices(*a.Claimed, handoff.Notice{Code: d.Verdict}) < 0) {
		d.Verdict = a.Claimed.Code
	}
}

func usageOf(spent map[string]Usage, key string) *Usage {
	if u, ok := spent[key]; ok {
		return &u
	}
	return nil
}

func changedFiles(writes []collision.Write) int {
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
