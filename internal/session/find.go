package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/durable"
)

// A Query selects sessions as a reader sees them: Status is the one that
// StatusAt returns, including Stalled, and Failed for an abandoned session.
type Query struct {
	handoff.SessionQuery
	OutputType string // one of Types: sessions with an active output of this type

	Observer Observer
	Now      time.Time
}

// A View is a session with the values that are computed for its reader.
type View struct {
	handoff.Session
	Shown       string `json:"shown"` // the status that StatusAt returns
	DisplayName string `json:"displayName"`
	LongName    string `json:"longName"`
}

func newView(s handoff.Session, o Observer, now, lastActivity time.Time) View {
	v := View{Session: s}
	v.Shown, v.Reason = StatusAt(s, o, now, lastActivity)
	v.DisplayName, v.LongName = Name(s, v.Shown, now), LongName(s, v.Shown, now)
	return v
}

// A Detail is a session with its outputs, threads and files.
type Detail struct {
	View
	Outputs []Output `json:"outputs"`
	Threads []string `json:"threads,omitempty"` // URIs of the conversations of those who opened it or published in it
	Files   []Entry  `json:"files,omitempty"`   // the result of List, if requested
}

// Detail returns a session with its outputs and threads, at the time now. Error
// kind: NotFound.
func (ss *Sessions) Detail(ctx context.Context, id string, o Observer, now time.Time) (Detail, error) {
	s, artifacts, err := ss.Read(ctx, id)
	if err != nil {
		return Detail{}, err
	}
	var lastActivity time.Time
	var threads []string
	add := func(uri string) {
		if uri != "" && !slices.Contains(threads, uri) {
			threads = append(threads, uri)
		}
	}
	add(s.Producer.Thread)
	for _, a := range artifacts {
		add(a.Producer.Thread)
		if a.CreatedAt.After(lastActivity) {
			lastActivity = a.CreatedAt
		}
	}
	return Detail{View: newView(s, o, now, lastActivity), Outputs: Outputs(s, artifacts), Threads: threads}, nil
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
		return newError("find sessions", fmt.Sprint("limit ", q.Limit), handoff.Invalid, "limit is negative", handoff.Advice("use 0 to list all sessions"))
	}
	return checkOneOf("type", q.OutputType, Types)
}

func checkOneOf(field, value string, known []string) error {
	if value == "" || slices.Contains(known, value) {
		return nil
	}
	return newError("find sessions", "", handoff.Invalid, fmt.Sprintf("invalid %s %q", field, value), handoff.Advice("use one of "+strings.Join(known, ", ")))
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
	return page, nil
}

// find adds the sessions with a recorded status that q selects to a page, up to
// one more than the limit.
func (q Query) find(ctx context.Context, reader handoff.Reader, status string, into *Page) error {
	inner, remaining := q.SessionQuery, q.Limit+1
	inner.Status = status
	if q.OutputType != "" {
		inner.HasKind = hasType(q.OutputType)
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
			v := newView(s, q.Observer, q.Now, time.Time{})
			if q.Status != "" && v.Shown != q.Status {
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

// hasType returns a predicate for the artifact kinds that a manifest lists as
// outputs of the given type.
func hasType(outputType string) func(kind string) bool {
	return func(kind string) bool { return outputType == "" || OutputType(kind) == outputType }
}

// WorkflowPattern compiles a regular expression for names of workflows, nil for
// "". Error kind: Invalid.
func WorkflowPattern(text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, newError("find sessions", "", handoff.Invalid, fmt.Sprintf("workflow: invalid regular expression %q", text), handoff.Advice("write a regular expression (RE2), such as '^deep-dive-'"))
	}
	return re, nil
}

// LatestOutput returns the newest active output of a type, from the newest
// completed session that has one. The session is of the given agent and its
// workflow's name matches. An empty agent or type and a nil workflow match
// all. Error kinds: Invalid (the type), NotFound.
func LatestOutput(ctx context.Context, reader handoff.Reader, agent string, workflow *regexp.Regexp, outputType string) (handoff.Artifact, error) {
	if err := checkOneOf("type", outputType, Types); err != nil {
		return handoff.Artifact{}, err
	}
	subject := strings.TrimSpace(agent + " " + outputType)
	if workflow != nil {
		subject = agent + " " + workflow.String() + " " + outputType
	}
	none := newError("find output", subject, handoff.NotFound, "no completed session has such an output",
		handoff.Suggest("list the sessions and their status", handoff.ActionSessions))
	q := handoff.SessionQuery{Agent: agent, Workflow: workflow, Status: Completed, IncludeRuns: true, HasKind: hasType(outputType), Limit: 16}
	for {
		sessions, err := reader.Sessions(ctx, q)
		if err != nil {
			return handoff.Artifact{}, err
		}
		for _, s := range sessions.Sessions {
			a, ok, err := latestOf(ctx, reader, s, outputType)
			if err != nil || ok {
				return a, err
			}
		}
		if q.Cursor = sessions.Cursor; q.Cursor == "" {
			return handoff.Artifact{}, none
		}
	}
}

// latestOf returns the newest active output of a type in a session.
func latestOf(ctx context.Context, reader handoff.Reader, s handoff.Session, outputType string) (handoff.Artifact, bool, error) {
	field := "session"
	if s.Parent != "" {
		field = "run"
	}
	page, err := reader.Artifacts(ctx, handoff.ArtifactQuery{Producer: map[string]string{field: s.ID}})
	if err != nil {
		return handoff.Artifact{}, false, err
	}
	for _, a := range page.Artifacts {
		if _, inside := inFolder(s, a); inside && hasType(outputType)(a.Kind) && a.Target != handoff.Missing {
			return a, true, nil
		}
	}
	return handoff.Artifact{}, false, nil
}

// An Entry is one file or directory of a session's folder.
type Entry struct {
	Path     string    `json:"path"` // slash-separated, relative to the folder
	Type     string    `json:"type"` // file, directory, symlink or other
	Size     int64     `json:"sizeBytes"`
	Modified time.Time `json:"modifiedAt"`
	Internal bool      `json:"isInternal"` // written by handoff: the manifest or a temporary file
}

// List returns the contents of a session's folder, sorted by path. Links are
// listed and not followed. Error kinds: NotFound, Unavailable.
func (ss *Sessions) List(ctx context.Context, id string) ([]Entry, error) {
	s, err := ss.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	root, err := ss.Files.OpenRoot(s.Folder)
	if err != nil {
		kind := handoff.Unavailable
		if errors.Is(err, fs.ErrNotExist) {
			kind = handoff.NotFound
		}
		return nil, newError("list session", id, kind, fmt.Sprintf("folder %s: %v", s.Folder, durable.Reason(err)), handoff.Advice("the folder may be on the machine where the session ran"))
	}
	defer root.Close()
	entries := []Entry{}
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) || name == "." {
			return nil
		}
		if err != nil {
			return err
		}
		entries = append(entries, Entry{filepath.ToSlash(name), typeOf(info.Mode()), info.Size(), info.ModTime().UTC(), isInternal(name)})
		return nil
	})
	if err != nil {
		return nil, newFileError("list session", id, handoff.Unavailable, err, handoff.Advice("make the folder readable"))
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	return entries, nil
}

func typeOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "directory"
	case m.IsRegular():
		return "file"
	case m&fs.ModeSymlink != 0:
		return "symlink"
	}
	return "other"
}
