package session

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
)

// A Query selects sessions as a reader sees them: Status is the one that
// StatusAt returns, including Stalled, and Failed for an abandoned session.
type Query struct {
	handoff.SessionQuery
	OutputType string // one of Types: sessions with an active output of this type
	Outputs    bool   // return the outputs of each session
	Archived   bool   // those in the archive only, with IncludeArchived
	Deleted    bool   // those in the trash only, with IncludeArchived

	Observer Observer
	Now      time.Time
}

// A View is a session as its reader sees it: with the status that StatusAt
// returns, and the names of that time. Its processes are those of a session that
// is running.
type View struct {
	handoff.Session
	DisplayName      string            `json:"displayName"`
	DisplayTimestamp string            `json:"displayTimestamp,omitempty"` // its start, as in the display name
	LongName         string            `json:"longName"`
	Outputs          []manifest.Output `json:"outputs,omitzero"` // if the query asked for them

	// Notices are what somebody should know of it, the worst first. Outputs that it did
	// not leave are among them if the query asked for outputs.
	Notices []handoff.Notice `json:"notices,omitempty"`
}

// View returns the view of a session at the time now, as the observer sees it.
func (ss *Sessions) View(ctx context.Context, s handoff.Session, o Observer, now time.Time) (View, error) {
	return view(ctx, ss.hub, s, o, now)
}

func view(ctx context.Context, reader handoff.Reader, s handoff.Session, o Observer, now time.Time) (View, error) {
	v := newView(s, o, now, time.Time{})
	if v.Status != Stalled {
		return v, nil
	}
	q := publishedIn(s)
	q.Limit = 1
	page, err := reader.Artifacts(ctx, q)
	for _, newest := range page.Artifacts {
		v = newView(s, o, now, newest.CreatedAt)
	}
	return v, err
}

func newView(s handoff.Session, o Observer, now, lastActivity time.Time) View {
	v := View{Session: s}
	if v.Status, v.Reason = StatusAt(s, o, now, lastActivity); v.Status != handoff.Running {
		v.Process, v.Child = handoff.Process{}, handoff.Process{}
	}
	v.SetNotices(nil)
	v.DisplayName, v.LongName = Name(s, v.Status, now), LongName(s, v.Status, now)
	if !s.OpenedAt.IsZero() {
		v.DisplayTimestamp = timestamp(s.OpenedAt, now)
	}
	return v
}

// A Detail is a session with its outputs, artifacts, threads and files, and the
// sessions that it builds on or that build on it.
type Detail struct {
	View
	Others       []Other    `json:"artifacts,omitempty"`
	Expectations []Expected `json:"expectedOutputs,omitempty"` // each of Expected
	Related      []Related  `json:"related,omitempty"`
	Read         []Other    `json:"read,omitempty"` // the newest artifacts that its work read
	// URIs of the threads of those who opened it, published in it or worked in it
	Threads []string `json:"threads,omitempty"`

	Conversations []Conversation `json:"conversations,omitempty"`
	Files         []Entry        `json:"files,omitempty"` // the result of List, if requested

	Published []handoff.Artifact `json:"-"` // newest first: what is outside the folder or withdrawn
}

// An Other is an active artifact of a session that is not one of its outputs: it
// was published outside the session's folder.
type Other struct {
	ID      string `json:"id"`
	Channel string `json:"channel"`
	Path    string `json:"path"`
	Title   string `json:"title,omitempty"`
}

// Related is a session that another one links to, or that links to it.
type Related struct {
	ID     string `json:"id"`
	Link   string `json:"link"`           // from: the session builds on it; into: it builds on the session
	Name   string `json:"name,omitempty"` // "" if it is not recorded here
	Status string `json:"status,omitempty"`
}

// maxRead is the number of artifacts in Detail.Read.
const maxRead = 50

// read returns the newest artifacts that the work of a session read.
func (ss *Sessions) read(ctx context.Context, id string) ([]Other, error) {
	page, err := ss.hub.Artifacts(ctx, handoff.ArtifactQuery{UsedBy: id, IncludeInactive: true, Limit: maxRead})
	var list []Other
	for _, a := range page.Artifacts {
		list = append(list, Other{a.ID, a.Channel, a.Path, a.Title})
	}
	return list, err
}

// Detail returns a session with its outputs and threads, at the time now. Error
// kind: NotFound.
func (ss *Sessions) Detail(ctx context.Context, id string, o Observer, now time.Time) (Detail, error) {
	s, err := ss.Session(ctx, id)
	if err != nil {
		return Detail{}, err
	}
	p, err := ss.Progress(ctx, s)
	if err != nil {
		return Detail{}, err
	}
	artifacts := p.Artifacts
	related, err := ss.related(ctx, s, o, now)
	if err != nil {
		return Detail{}, err
	}
	read, err := ss.read(ctx, id)
	if err != nil {
		return Detail{}, err
	}
	d := Detail{View: newView(s, o, now, p.ActiveAt), Read: read, Related: related, Threads: p.Threads,
		Conversations: p.Conversations}
	d.Outputs, d.Expectations = manifest.Outputs(s, artifacts), p.Expectations
	d.SetNotices(d.Expectations)
	for _, a := range slices.Backward(artifacts) {
		if _, inside := manifest.FileOf(s, a); inside && a.Status != handoff.Withdrawn {
			continue
		}
		d.Published = append(d.Published, a)
		if a.Status == handoff.Active {
			d.Others = append(d.Others, Other{a.ID, a.Channel, a.Path, a.Title})
		}
	}
	slices.Reverse(d.Published)
	return d, nil
}

// related returns the sessions that a session builds on, and those that build on
// it.
func (ss *Sessions) related(ctx context.Context, s handoff.Session, o Observer, now time.Time) ([]Related, error) {
	var list []Related
	add := func(s handoff.Session, link string) error {
		v, err := ss.View(ctx, s, o, now)
		list = append(list, Related{s.ID, link, v.LongName, v.Status})
		return err
	}
	for _, id := range s.Links {
		to, err := ss.Session(ctx, id)
		if errors.Is(err, handoff.NotFound) {
			list = append(list, Related{ID: id, Link: "from"})
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

// A Page is one page of a list of sessions, newest first.
type Page struct {
	Sessions []View `json:"sessions"`
	Cursor   string `json:"cursor,omitempty"`
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
func Find(ctx context.Context, reader handoff.Reader, q Query) (Page, error) {
	if err := q.check(); err != nil {
		return Page{}, err
	}
	recorded := []string{q.Status}
	switch q.Status {
	case Failed: // a session that is recorded as running may have been abandoned
		recorded = append(recorded, handoff.Running)
	case Stalled:
		recorded = []string{handoff.Running}
	}
	page := Page{Sessions: []View{}}
	for _, status := range recorded {
		if err := q.find(ctx, reader, status, &page); err != nil {
			return Page{}, err
		}
	}
	slices.SortFunc(page.Sessions, func(a, b View) int { return b.Order().Compare(a.Order()) })
	if q.Limit > 0 && len(page.Sessions) > q.Limit {
		page.Sessions = page.Sessions[:q.Limit]
		page.Cursor = page.Sessions[q.Limit-1].Order().Cursor()
	}
	for i, v := range page.Sessions {
		if !q.Outputs {
			break
		}
		artifacts, err := read(ctx, reader, v.Session)
		if err != nil {
			return Page{}, err
		}
		page.Sessions[i].Outputs = manifest.Outputs(v.Session, artifacts)
		page.Sessions[i].SetNotices(Expectations(v.Session, artifacts))
	}
	return page, nil
}

// find adds the sessions with a recorded status that q selects to a page, up to
// one more than the limit.
func (q Query) find(ctx context.Context, reader handoff.Reader, status string, into *Page) error {
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
		for _, s := range found.Sessions {
			v, err := view(ctx, reader, s, q.Observer, q.Now)
			ok := (q.Status == "" || v.Status == q.Status) && (!q.Archived || s.Archived && !s.Deleted) &&
				(!q.Deleted || s.Deleted)
			if ok && err == nil && q.OutputType != "" {
				var artifacts []handoff.Artifact
				artifacts, err = read(ctx, reader, s)
				ok = slices.ContainsFunc(artifacts, func(a handoff.Artifact) bool { return isOutput(s, a, q.OutputType) })
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

// WorkflowPattern compiles a regular expression for names of workflows, nil for
// "". Error kind: Invalid.
func WorkflowPattern(text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
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
	q := handoff.SessionQuery{Agent: agent, Workflow: workflow, Status: Completed, IncludeRuns: true,
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
			if s.Status != Completed {
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

// An Entry is one file or directory of a session's folder.
type Entry struct {
	Path     string    `json:"path"` // slash-separated, relative to the folder
	Type     string    `json:"type"` // file, directory, symlink or other
	Size     int64     `json:"sizeBytes"`
	Modified time.Time `json:"modifiedAt"`
	Internal bool      `json:"isInternal"` // written by handoff: the manifest or a temporary file
}
