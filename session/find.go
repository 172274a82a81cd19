package session

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
)

// A Query selects sessions as a person sees them: its status is the one that
// Look returns, which may be Stalled, or Failed with no record of it.
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
	Shown       string `json:"shown"` // the status, as Look returns it
	DisplayName string `json:"displayName"`
	LongName    string `json:"longName"`
}

// NewView returns a session as an observer sees it now.
func NewView(s handoff.Session, o Observer, now, lastSign time.Time) View {
	v := View{Session: s}
	v.Shown, v.Reason = Look(s, o, now, lastSign)
	v.DisplayName, v.LongName = Name(s, v.Shown, now), LongName(s, v.Shown, now)
	return v
}

// A Page is one page of a list of sessions, newest first.
type Page struct {
	Sessions []View `json:"sessions"`
	Cursor   string `json:"cursor,omitempty"`
}

// Find returns the sessions that q selects, newest first.
func Find(ctx context.Context, reader handoff.Reader, q Query) (Page, error) {
	inner := q.SessionQuery
	switch q.Status {
	case Failed, handoff.Running, Stalled: // a running one may be shown as each
		inner.Status = ""
	}
	var having map[string]bool
	if q.OutputType != "" {
		var err error
		if having, err = sessionsWith(ctx, reader, q.OutputType); err != nil {
			return Page{}, err
		}
	}
	page := Page{Sessions: []View{}}
	for {
		found, err := reader.Sessions(ctx, inner)
		if err != nil {
			return Page{}, err
		}
		for i, s := range found.Sessions {
			v := NewView(s, q.Observer, q.Now, time.Time{})
			if q.Status != "" && v.Shown != q.Status || having != nil && !having[s.ID] {
				continue
			}
			page.Sessions = append(page.Sessions, v)
			if q.Limit > 0 && len(page.Sessions) == q.Limit {
				if i+1 < len(found.Sessions) || found.Cursor != "" {
					page.Cursor = handoff.NewCursor(s.Opened)
				}
				return page, nil
			}
		}
		if inner.Cursor = found.Cursor; inner.Cursor == "" {
			return page, nil
		}
	}
}

// sessionsWith returns the sessions and runs that have an output of the given
// type that stands.
func sessionsWith(ctx context.Context, reader handoff.Reader, outputType string) (map[string]bool, error) {
	page, err := reader.Artifacts(ctx, handoff.ArtifactQuery{})
	having := map[string]bool{}
	for _, a := range page.Artifacts {
		if OutputType(a.Kind) == outputType {
			having[a.Producer.Session], having[a.Producer.RunID] = true, true
		}
	}
	return having, err
}

// LatestOutput returns the newest output of a type that stands, of the newest
// completed session of an agent whose workflow's name fits and that has one.
// An agent or type that is "" fits every one. Its kind is NotFound.
func LatestOutput(ctx context.Context, reader handoff.Reader, agent string, workflow *regexp.Regexp, outputType string) (handoff.Artifact, error) {
	none := refuse("find output", agent+" "+workflow.String()+" "+outputType, handoff.NotFound, "no completed session has such an output",
		"handoff session find --agent "+agent+" shows what there is; handoff session close --status completed ends a session")
	q := handoff.SessionQuery{Agent: agent, Workflow: workflow, Status: Completed, Runs: true}
	sessions, err := reader.Sessions(ctx, q)
	if err != nil {
		return handoff.Artifact{}, err
	}
	for _, s := range sessions.Sessions {
		slot := "session"
		if s.Parent != "" {
			slot = "run"
		}
		page, err := reader.Artifacts(ctx, handoff.ArtifactQuery{Producer: map[string]string{slot: s.ID}})
		if err != nil {
			return handoff.Artifact{}, err
		}
		for _, a := range page.Artifacts {
			inside := strings.HasPrefix(a.Path, s.Folder+"/") && a.Root == ""
			if inside && (outputType == "" || OutputType(a.Kind) == outputType) && a.Target != handoff.Missing {
				return a, nil
			}
		}
	}
	return handoff.Artifact{}, none
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
func (b *Book) List(ctx context.Context, id string) ([]Entry, error) {
	s, err := b.session(ctx, id)
	if err != nil {
		return nil, err
	}
	root, err := b.Files.OpenRoot(s.Folder)
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

// ManifestPath returns where a session's manifest is rendered, below the
// workspace.
func ManifestPath(s handoff.Session) string { return path.Join(s.Folder, ManifestName) }
