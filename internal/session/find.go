package session

import (
	"cmp"
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
)

// A Query selects sessions as a person sees them: its status is the one that
// StatusAt returns, which may be Stalled, or Failed with no record of it.
type Query struct {
	handoff.SessionQuery
	OutputType string // one of Types: it has an output of this type that stands

	Observer Observer
	Now      time.Time
}

// A View is a session as it is shown: what is recorded, and what is computed
// for a reader now.
type View struct {
	handoff.Session
	Shown       string `json:"shown"` // the status, as StatusAt returns it
	DisplayName string `json:"displayName"`
	LongName    string `json:"longName"`
}

// newView returns a session as an observer sees it now.
func newView(s handoff.Session, o Observer, now, lastSign time.Time) View {
	v := View{Session: s}
	v.Shown, v.Reason = StatusAt(s, o, now, lastSign)
	v.DisplayName, v.LongName = Name(s, v.Shown, now), LongName(s, v.Shown, now)
	return v
}

// A Detail is a session as it is shown by itself.
type Detail struct {
	View
	Outputs []Output `json:"outputs"`
	Threads []string `json:"threads,omitempty"` // URIs of the conversations of who opened it, and of who published in it
	Files   []Entry  `json:"files,omitempty"`   // what List returned, where it was asked
}

// Detail returns a session with its outputs, as an observer sees it now. Its
// kind is NotFound.
func (ss *Sessions) Detail(ctx context.Context, id string, o Observer, now time.Time) (Detail, error) {
	s, artifacts, err := ss.Read(ctx, id)
	if err != nil {
		return Detail{}, err
	}
	var lastSign time.Time
	var threads []string
	add := func(uri string) {
		if uri != "" && !slices.Contains(threads, uri) {
			threads = append(threads, uri)
		}
	}
	add(s.Producer.Thread)
	for _, a := range artifacts {
		add(a.Producer.Thread)
		if a.CreatedAt.After(lastSign) {
			lastSign = a.CreatedAt
		}
	}
	return Detail{View: newView(s, o, now, lastSign), Outputs: Outputs(s, artifacts), Threads: threads}, nil
}

// A Page is one page of a list of sessions, newest first.
type Page struct {
	Sessions []View `json:"sessions"`
	Cursor   string `json:"cursor,omitempty"`
}

// check refuses words that nothing could fit.
func (q Query) check() error {
	if err := oneOf("status", q.Status, Statuses); err != nil {
		return err
	}
	if q.Limit < 0 {
		return refuse("find sessions", fmt.Sprint("limit ", q.Limit), handoff.Invalid, "is negative", "0 lists all")
	}
	return oneOf("type", q.OutputType, Types)
}

func oneOf(what, word string, known []string) error {
	if word == "" || slices.Contains(known, word) {
		return nil
	}
	return refuse("find sessions", what+" "+word, handoff.Invalid, "is none of those known", "write one of "+strings.Join(known, ", "))
}

// Find returns the sessions that q selects, newest first. Its kind is Invalid:
// a word or the cursor.
func Find(ctx context.Context, reader handoff.Reader, q Query) (Page, error) {
	if err := q.check(); err != nil {
		return Page{}, err
	}
	recorded := []string{q.Status}
	switch q.Status {
	case Failed: // one that is recorded as running may be shown so
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
	slices.SortFunc(page.Sessions, func(a, b View) int { return cmp.Compare(b.Opened, a.Opened) })
	if q.Limit > 0 && len(page.Sessions) > q.Limit {
		page.Sessions = page.Sessions[:q.Limit]
		page.Cursor = handoff.NewCursor(page.Sessions[q.Limit-1].Opened)
	}
	return page, nil
}

// find adds those that q selects of the sessions with a recorded status, up to
// one more than the page has room for.
func (q Query) find(ctx context.Context, reader handoff.Reader, status string, into *Page) error {
	inner, room := q.SessionQuery, q.Limit+1
	inner.Status = status
	if q.OutputType != "" {
		inner.Kinds = kindsOf(q.OutputType)
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
			if room--; room == 0 && q.Limit > 0 {
				return nil
			}
		}
		if inner.Cursor = found.Cursor; inner.Cursor == "" {
			return nil
		}
	}
}

// kindsOf returns whether an artifact's kind makes it an output of a type.
func kindsOf(outputType string) func(kind string) bool {
	return func(kind string) bool { return outputType == "" || OutputType(kind) == outputType }
}

// LatestOutput returns the newest output of a type that stands, of the newest
// completed session of an agent whose workflow's name fits and that has one.
// An agent or type that is "", and no workflow, fit every one. Its kinds are
// Invalid (the type) and NotFound.
func LatestOutput(ctx context.Context, reader handoff.Reader, agent string, workflow *regexp.Regexp, outputType string) (handoff.Artifact, error) {
	if err := oneOf("type", outputType, Types); err != nil {
		return handoff.Artifact{}, err
	}
	asked := strings.TrimSpace(agent + " " + outputType)
	if workflow != nil {
		asked = agent + " " + workflow.String() + " " + outputType
	}
	none := refuse("find output", asked, handoff.NotFound, "no completed session has such an output",
		"handoff session find --agent "+agent+" shows what there is; handoff session close --status completed ends a session")
	q := handoff.SessionQuery{Agent: agent, Workflow: workflow, Status: Completed, Runs: true, Kinds: kindsOf(outputType), Limit: 16}
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

// latestOf returns the newest output of a type that stands in a session.
func latestOf(ctx context.Context, reader handoff.Reader, s handoff.Session, outputType string) (handoff.Artifact, bool, error) {
	slot := "session"
	if s.Parent != "" {
		slot = "run"
	}
	page, err := reader.Artifacts(ctx, handoff.ArtifactQuery{Producer: map[string]string{slot: s.ID}})
	if err != nil {
		return handoff.Artifact{}, false, err
	}
	for _, a := range page.Artifacts {
		if _, inside := inFolder(s, a); inside && kindsOf(outputType)(a.Kind) && a.Target != handoff.Missing {
			return a, true, nil
		}
	}
	return handoff.Artifact{}, false, nil
}

// An Entry is one file or directory of a session's folder.
type Entry struct {
	Path     string    `json:"path"` // slash-separated, below the folder
	Type     string    `json:"type"` // file, directory, symlink or other
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	Internal bool      `json:"isInternal"` // handoff's own: the manifest at the top of the folder
}

// List returns what lies in a session's folder, by path. Links are listed, and
// not followed. Its kinds are NotFound and Unavailable.
func (ss *Sessions) List(ctx context.Context, id string) ([]Entry, error) {
	s, err := ss.session(ctx, id)
	if err != nil {
		return nil, err
	}
	root, err := ss.Files.OpenRoot(s.Folder)
	if err != nil {
		kind := handoff.Unavailable
		if errors.Is(err, fs.ErrNotExist) {
			kind = handoff.NotFound
		}
		return nil, refuse("list session", id, kind, "folder "+s.Folder+": "+reason(err), "the folder may be on the machine where the session ran")
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
		entries = append(entries, Entry{filepath.ToSlash(name), kindOf(info.Mode()), info.Size(), info.ModTime().UTC(), isInternal(name)})
		return nil
	})
	if err != nil {
		return nil, refuse("list session", id, handoff.Unavailable, reason(err), "make the folder readable")
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	return entries, nil
}

func kindOf(m fs.FileMode) string {
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
