package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session/manifest"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/session"
)

// A Query selects sessions as a reader sees them: Status is the one that
// StatusAt returns, including Stalled, and Failed for an abandoned session.
type Query struct {
	handoff.SessionQuery
	OutputType string // one of Types: sessions with an active output of this type
	Notice     string // one of NoticeCodes: sessions with this notice
	Outputs    bool   // return the outputs of each session
	Expected   bool   // look up whether each session left the outputs that it should
	Archived   bool   // those in the archive only, with IncludeArchived
	Deleted    bool   // those in the trash only, with IncludeArchived

	Observer Observer
	Now      time.Time
}

// View returns the view of a session at the time now, as the observer sees it.
func (ss *Sessions) View(ctx context.Context, s handoff.Session, o Observer, now time.Time) (session.View, error) {
	return view(ctx, ss.hub, s, o, now)
}

func view(ctx context.Context, reader handoff.Reader, s handoff.Session, o Observer, now time.Time) (session.View,
	error) {
	list, err := Views(ctx, reader, []handoff.Session{s}, o, now)
	return list[0], err
}

// Views returns the views of sessions at the time now, as the observer sees them. Those that
// their records show to be silent are stalled unless something was published in them since.
func Views(ctx context.Context, reader handoff.Reader, sessions []handoff.Session, o Observer, now time.Time) (
	[]session.View, error) {
	list := make([]session.View, len(sessions))
	var silent []handoff.Session
	for i, s := range sessions {
		if list[i] = newView(s, o, now, time.Time{}); list[i].Status == Stalled {
			silent = append(silent, s)
		}
	}
	newest, err := newestIn(ctx, reader, silent)
	for i, s := range sessions {
		if a, ok := newest[s.ID]; ok {
			list[i] = newView(s, o, now, a.CreatedAt)
		}
	}
	return list, err
}

// newestIn returns the artifacts that were published last in sessions, by the IDs of these.
func newestIn(ctx context.Context, reader handoff.Reader, sessions []handoff.Session) (map[string]handoff.Artifact,
	error) {
	if len(sessions) == 0 {
		return nil, nil
	}
	q := handoff.ArtifactQuery{IncludeInactive: true}
	for _, s := range sessions {
		q.NewestIn = append(q.NewestIn, s.ID)
	}
	page, err := reader.Artifacts(ctx, q)
	newest := map[string]handoff.Artifact{}
	for _, a := range slices.Backward(page.Artifacts) { // the newest last
		newest[a.Producer.Session], newest[a.Producer.RunID] = a, a
	}
	return newest, err
}

func newView(s handoff.Session, o Observer, now, lastActivity time.Time) session.View {
	v := session.View{Session: s}
	if v.Status, v.Reason = StatusAt(s, o, now, lastActivity); v.Status != handoff.Running {
		v.Process, v.Child = handoff.Process{}, handoff.Process{}
	}
	SetNotices(&v, nil)
	v.DisplayName, v.LongName = Name(s, v.Status, now), LongName(s, v.Status, now)
	if !s.OpenedAt.IsZero() {
		v.DisplayTimestamp = timestamp(s.OpenedAt, now)
	}
	return v
}

// maxRead is the number of artifacts in Detail.Read.
const maxRead = 50

// read returns the newest artifacts that the work of a session read.
func (ss *Sessions) read(ctx context.Context, id string) ([]session.Other, error) {
	page, err := ss.hub.Artifacts(ctx, handoff.ArtifactQuery{UsedBy: id, IncludeInactive: true, Limit: maxRead})
	var list []session.Other
	for _, a := range page.Artifacts {
		list = append(list, other(a))
	}
	return list, err
}

// Detail returns a session with its outputs and threads, at the time now, and what Read
// returns of it. Error kind: NotFound.
func (ss *Sessions) Detail(ctx context.Context, id string, o Observer, now time.Time) (d session.Detail,
	artifacts []handoff.Artifact, err error) {
	s, err := ss.Session(ctx, id)
	if err != nil {
		return d, nil, err
	}
	if artifacts, err = read(ctx, ss.hub, s); err != nil {
		return d, nil, err
	}
	p, err := ss.progress(ctx, s, artifacts)
	if err != nil {
		return d, nil, err
	}
	related, err := ss.related(ctx, s, o, now)
	if err != nil {
		return d, nil, err
	}
	read, err := ss.read(ctx, id)
	if err != nil {
		return d, nil, err
	}
	d = session.Detail{View: newView(s, o, now, p.ActiveAt), Read: read, Related: related, Threads: p.Threads,
		Conversations: p.Conversations}
	d.Outputs, d.Expectations = manifest.Outputs(s, artifacts), p.Expectations
	SetNotices(&d.View, d.Expectations)
	for _, a := range slices.Backward(artifacts) {
		if _, inside := manifest.FileOf(s, a); inside && a.Status != handoff.Withdrawn {
			continue
		}
		d.Published = append(d.Published, a)
		if a.Status == handoff.Active {
			d.Others = append(d.Others, other(a))
		}
	}
	slices.Reverse(d.Published)
	return d, artifacts, nil
}

// related returns the sessions that a session builds on, and those that build on
// it.
func (ss *Sessions) related(ctx context.Context, s handoff.Session, o Observer, now time.Time) ([]session.Related,
	error) {
	var list []session.Related
	add := func(s handoff.Session, link string) error {
		v, err := ss.View(ctx, s, o, now)
		list = append(list, session.Related{ID: s.ID, Link: link, Name: v.LongName, Status: v.Status})
		return err
	}
	for _, id := range s.Links {
		to, err := ss.Session(ctx, id)
		if errors.Is(err, handoff.NotFound) {
			list = append(list, session.Related{ID: id, Link: "from"})
		} else if err = cmp.Or(err, add(to, "from")); err != nil {
			return nil, err
		}
	}
	page, err := ss.hub.Sessions(ctx, handoff.SessionQuery{LinksTo: s.ID, IncludeRuns: true, IncludeArchived: true})
	for _, from := range slices.Backward(page.Sessions) {
		err = cmp.Or(err, add(from, "into"))
	}
	return list, err
}

// check returns an error for values that cannot match any session.
func (q Query) check() error {
	if err := checkOneOf("status", q.Status, Statuses); err != nil {
		return err
	}
	if q.Limit < 0 {
		return handoff.E("find sessions", fmt.Sprint("limit ", q.Limit), handoff.Invalid, errors.New("limit is negative"),
			handoff.Advice("use 0 to list all sessions"))
	}
	if err := checkOneOf("notice", q.Notice, NoticeCodes); err != nil {
		return err
	}
	return checkOneOf("type", q.OutputType, Types)
}

func checkOneOf(field, value string, known []string) error {
	if value == "" || slices.Contains(known, value) {
		return nil
	}
	return handoff.E("find sessions", "", handoff.Invalid, fmt.Errorf("invalid %s %q", field, value),
		handoff.Advice("use one of "+strings.Join(known, ", ")))
}

// Find returns the sessions that q selects, newest first. Error kind: Invalid
// (the query or its cursor).
func Find(ctx context.Context, reader handoff.Reader, q Query) (session.Page, error) {
	if err := q.check(); err != nil {
		return session.Page{}, err
	}
	recorded := []string{q.Status}
	switch q.Status {
	case session.Failed: // a session that is recorded as running may have been abandoned
		recorded = append(recorded, handoff.Running)
	case Stalled:
		recorded = []string{handoff.Running}
	}
	page := session.Page{Sessions: []session.View{}}
	for _, status := range recorded {
		if err := q.find(ctx, reader, status, &page); err != nil {
			return session.Page{}, err
		}
	}
	order.Sort(page.Sessions, func(a, b session.View) int { return b.Order().Compare(a.Order()) })
	if q.Limit > 0 && len(page.Sessions) > q.Limit {
		page.Sessions = page.Sessions[:q.Limit]
		page.Cursor = page.Sessions[q.Limit-1].Order().Cursor()
	}
	for i, v := range page.Sessions {
		if !q.Outputs && (!q.Expected || len(v.Expected) == 0) {
			continue
		}
		artifacts, err := read(ctx, reader, v.Session)
		if err != nil {
			return session.Page{}, err
		}
		if q.Outputs {
			page.Sessions[i].Outputs = manifest.Outputs(v.Session, artifacts)
		}
		SetNotices(&page.Sessions[i], Expectations(v.Session, artifacts))
	}
	return page, nil
}

// find adds the sessions with a recorded status that q selects to a page, up to
// one more than the limit.
func (q Query) find(ctx context.Context, reader handoff.Reader, status string, into *session.Page) error {
	inner, remaining := q.SessionQuery, q.Limit+1
	inner.Status = status
	if q.OutputType != "" {
		inner.HasKind = hasType(q.OutputType) // of any artifact, also outside its folder
	}
	if q.Limit > 0 {
		inner.Limit = q.Limit + 1
	}
	for {
		found, err := reader.Sessions(ctx, inner)
		if err != nil {
			return err
		}
		list, err := Views(ctx, reader, found.Sessions, q.Observer, q.Now)
		if err != nil {
			return err
		}
		for i, v := range list {
			s := found.Sessions[i]
			ok := (q.Status == "" || v.Status == q.Status) && (!q.Archived || s.Archived && !s.Deleted) &&
				(!q.Deleted || s.Deleted)
			if ok && q.OutputType+q.Notice != "" {
				ok, err = q.matches(ctx, reader, &v)
			}
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			into.Sessions = append(into.Sessions, v)
			if remaining--; remaining == 0 && q.Limit > 0 {
				return nil
			}
		}
		if inner.Cursor = found.Cursor; inner.Cursor == "" {
			return nil
		}
	}
}

// An OpenSession is a session that was not closed.
type OpenSession struct {
	session.View
	Newest *handoff.Artifact // nil for none
}

// FindOpen returns the running and the stalled sessions that q selects, newest first, at most
// Limit of each, and the statuses of which there are more.
func FindOpen(ctx context.Context, reader handoff.Reader, q Query) (open []OpenSession, more []string, err error) {
	inner, counts := q.SessionQuery, map[string]int{}
	inner.Status, inner.Limit = handoff.Running, 2*q.Limit
	for {
		found, err := reader.Sessions(ctx, inner)
		if err != nil {
			return nil, nil, err
		}
		newest, err := newestIn(ctx, reader, found.Sessions)
		if err != nil {
			return nil, nil, err
		}
		for _, s := range found.Sessions {
			v := OpenSession{View: newView(s, q.Observer, q.Now, newest[s.ID].CreatedAt)}
			if a, ok := newest[s.ID]; ok {
				v.Newest = &a
			}
			if v.Status != handoff.Running && v.Status != Stalled {
				continue // its process is gone
			}
			if counts[v.Status]++; counts[v.Status] <= q.Limit {
				open = append(open, v)
			} else if !slices.Contains(more, v.Status) {
				more = append(more, v.Status)
			}
			if len(more) == 2 {
				return open, more, nil
			}
		}
		if inner.Cursor = found.Cursor; inner.Cursor == "" {
			return open, more, nil
		}
	}
}

// matches reports whether a session has the output and the notice that q selects. It sets the
// notices.
func (q Query) matches(ctx context.Context, reader handoff.Reader, v *session.View) (bool, error) {
	artifacts, err := read(ctx, reader, v.Session)
	SetNotices(v, Expectations(v.Session, artifacts))
	is := func(a handoff.Artifact) bool { return isOutput(v.Session, a, q.OutputType) }
	return (q.OutputType == "" || slices.ContainsFunc(artifacts, is)) && (q.Notice == "" || hasNotice(*v, q.Notice)), err
}

// isOutput reports whether an artifact is an active output of a session, of a type or
// of any.
func isOutput(s handoff.Session, a handoff.Artifact, outputType string) bool {
	_, inside := manifest.FileOf(s, a)
	return inside && a.Status == handoff.Active && hasType(outputType)(a.Kind)
}

// hasType returns a predicate for the artifact kinds that a manifest lists as
// outputs of the given type.
func hasType(outputType string) func(kind string) bool {
	return func(kind string) bool { return outputType == "" || manifest.OutputType(kind) == outputType }
}

// maxPattern is the length of a pattern in bytes. Compiling takes time and memory for
// each of them.
const maxPattern = 1000

// WorkflowPattern compiles a regular expression for names of workflows, nil for
// "". Error kind: Invalid.
func WorkflowPattern(text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	if len(text) > maxPattern {
		return nil, handoff.E("find sessions", "", handoff.Invalid,
			fmt.Errorf("workflow: the regular expression has %d bytes, more than %d", len(text), maxPattern),
			handoff.Advice("write a shorter one, such as '^deep-dive-'"))
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, handoff.E("find sessions", "", handoff.Invalid,
			fmt.Errorf("workflow: invalid regular expression %q", text),
			handoff.Advice("write a regular expression (RE2), such as '^deep-dive-'"))
	}
	return re, nil
}

// LatestOutput returns the newest active output of a type, from the newest
// completed session or run that has one. It is of the given agent and its
// workflow's name matches. An empty agent or type and a nil workflow match
// all. Error kinds: Invalid (the type), NotFound (it names the outputs there are).
func LatestOutput(ctx context.Context, reader handoff.Reader, agent string, workflow *regexp.Regexp,
	outputType string) (handoff.Artifact, error) {
	if err := checkOneOf("type", outputType, Types); err != nil {
		return handoff.Artifact{}, err
	}
	subject := strings.TrimSpace(agent + " " + outputType)
	if workflow != nil {
		subject = strings.TrimSpace(agent + " " + workflow.String() + " " + outputType)
	}
	q := handoff.SessionQuery{Agent: agent, Workflow: workflow, Status: session.Completed, IncludeRuns: true,
		IncludeArchived: true, HasKind: hasType(outputType), Limit: 16}
	for {
		sessions, err := reader.Sessions(ctx, q)
		if err != nil {
			return handoff.Artifact{}, err
		}
		for _, s := range sessions.Sessions {
			if s.Deleted {
				continue
			}
			a, ok, err := latestOf(ctx, reader, s, outputType)
			if err != nil || ok {
				return a, err
			}
		}
		if q.Cursor = sessions.Cursor; q.Cursor == "" {
			return handoff.Artifact{}, noOutput(ctx, reader, agent, workflow, subject)
		}
	}
}

// latestOf returns the newest active output of a type in a session.
func latestOf(ctx context.Context, reader handoff.Reader, s handoff.Session, outputType string) (handoff.Artifact, bool,
	error) {
	artifacts, err := read(ctx, reader, s)
	for _, a := range artifacts {
		if isOutput(s, a, outputType) && a.Target != handoff.Missing {
			return a, true, err
		}
	}
	return handoff.Artifact{}, false, err
}

// noOutput is the error of LatestOutput. It names what the newest sessions of the
// agent have instead.
func noOutput(ctx context.Context, reader handoff.Reader, agent string, workflow *regexp.Regexp, subject string) error {
	const shown = 5
	reason, hint := "no output in a completed session", handoff.Suggest("list the sessions and their status",
		handoff.ActionSessions)
	page, err := reader.Sessions(ctx, handoff.SessionQuery{Agent: agent, Workflow: workflow, IncludeRuns: true,
		Limit: shown})
	if err != nil {
		return err
	}
	var there []string
	for _, s := range page.Sessions {
		artifacts, err := read(ctx, reader, s)
		if err != nil {
			return err
		}
		for _, o := range manifest.Outputs(s, artifacts) {
			what := o.Type
			if s.Status != session.Completed {
				what += ", " + s.Status
			}
			if len(there) < shown {
				there = append(there, fmt.Sprintf("%s (%s)", o.File, what))
			}
		}
	}
	switch {
	case len(there) > 0:
		reason += "; there are " + strings.Join(there, ", ")
	case len(page.Sessions) > 0:
		reason += "; the newest session is " + page.Sessions[0].Status + " and has no outputs"
	}
	if agent != "" && len(page.Sessions) > 0 {
		hint = handoff.Suggest("list the sessions of "+agent, handoff.ActionSessionsOf, agent)
	}
	return handoff.E("find output", subject, handoff.NotFound, errors.New(reason), hint)
}

// other returns an artifact as a session shows it. What handoff manages has a title, and
// what is stored under its ID no path.
func other(a handoff.Artifact) session.Other {
	o := session.Other{ID: a.ID, Channel: a.Channel, Path: a.Path, Title: a.Title}
	if a.IsManaged() {
		o.Title = a.DisplayName()
	}
	if a.IsStored() {
		o.Path = ""
	}
	return o
}
