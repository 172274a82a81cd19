package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/workspace"

	"github.com/agent-handoff/handoff/workspace/sessions"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/preview"
)

// Limits of what the page of a session shows.
const (
	filesShown     = 2000
	filesCompared  = 50
	publishedShown = 500
	runsShown      = 200
	runDepth       = 6
)

// sessionPage is what the page of a session or run shows.
type sessionPage struct {
	session.Detail
	Older   int // artifacts of Published that the page does not list
	Tree    []*entry
	NoFiles string // why the files can't be listed
	Cut     bool   // there are more files
	Runs    []runNode
	Took    time.Duration
	Cost    *trace.Receipt // nil if it is not known
	Move    []shellCommand

	Timeline timeline
	Chain    chain
	Previous *session.Comparison // with the execution of the workflow before; nil for none
}

// An entry is a file or directory of a session's folder.
type entry struct {
	session.File
	Name     string
	Children []*entry
}

// A runNode is a run inside a session, with the runs inside it.
type runNode struct {
	session.View
	Runs []runNode
}

// session shows a session or run: what it left first.
func (s *Server) session(r *http.Request) (page, error) {
	p, err := s.sessionPage(r.Context(), r.PathValue("id"))
	if errors.Is(err, handoff.NotFound) {
		if list, ok := s.artifactsOf(r, r.PathValue("id")); ok {
			return list, nil
		}
	}
	if v, ok := p.Data.(sessionPage); ok {
		v.Move = storing(v.View)
		v.Older = max(0, len(v.Published)-publishedShown)
		v.Published = v.Published[:len(v.Published)-v.Older]
		p.Data = v
	}
	return p, err
}

// artifactsOf lists the artifacts of a session or run that is not recorded, such as that of an
// agent program, false if there are none.
func (s *Server) artifactsOf(r *http.Request, id string) (page, bool) {
	for _, field := range []string{"session", "run"} {
		inner, q := r.Clone(r.Context()), r.URL.Query()
		q.Set(field, id)
		q.Set("status", cmp.Or(q.Get("status"), "all"))
		inner.URL.RawQuery = q.Encode()
		p, err := s.artifacts(inner)
		if list, ok := p.Data.(artifactList); ok && err == nil && len(list.Artifacts) > 0 {
			p.Title = field + " " + id
			return p, true
		}
	}
	return page{}, false
}

func (s *Server) sessionPage(ctx context.Context, id string) (page, error) {
	shown, err := s.findSession(ctx, id)
	if errors.Is(err, handoff.NotFound) {
		if p, ok := s.unrecorded(ctx, id); ok {
			return p, nil
		}
	}
	if err != nil {
		return page{}, err
	}
	d := *shown.Session
	v := sessionPage{Detail: d}
	p := page{Name: "session", Title: d.LongName, Live: true, Section: "/sessions", Crumbs: s.above(ctx, d)}
	files, err := s.o.Source.Sessions.Files(ctx, d.ID)
	if err != nil {
		v.NoFiles = err.Error()
	}
	v.addFiles(files, s.changed(ctx))
	v.Runs, err = s.runsOf(ctx, d.ID, runDepth)
	p.warn(err)
	v.Cost = s.transcripts(&p, d.ID, func() workspace.Shown {
		one := d
		one.Conversations = nil // the page shows the receipt only
		shown.Session = &one
		return shown
	}).Receipt
	if end := d.ClosedAt; !d.OpenedAt.IsZero() {
		if end.IsZero() {
			end = s.o.Now()
		}
		v.Took = end.Sub(d.OpenedAt)
	}
	v.Timeline = s.sessionTimeline(ctx, v)
	if s.events != nil { // an exported page has no links to other sessions
		v.Chain = chainOf(v.Detail)
	}
	v.Previous, err = s.o.Source.Previous(ctx, d.ID)
	p.warn(err)
	p.Styles = []string{"thread.css"}
	p.Data = v
	return p, nil
}

// unrecorded shows the files in a folder that is not recorded, false if there is none.
func (s *Server) unrecorded(ctx context.Context, id string) (page, bool) {
	if !s.isUnrecorded(id) {
		return page{}, false
	}
	files, err := s.o.Source.Sessions.Files(ctx, id)
	v := sessionPage{}
	v.ID = id
	v.addFiles(files, nil)
	return page{Name: "folder", Title: id, Section: "/sessions", Crumbs: []crumb{{"Sessions", "/sessions"}}, Data: v},
		err == nil
}

// addFiles adds the files in the folder that are not listed as outputs. An output that was
// changed since then is among the files, too.
func (v *sessionPage) addFiles(files []session.File, isChanged func(session.File, handoff.Artifact) bool) {
	outputs := map[string]*handoff.Artifact{}
	for _, o := range v.Outputs {
		outputs[o.File] = o.Artifact
	}
	listed, kept := map[string]bool{}, map[string]bool{} // directories with outputs, and with other files
	files = slices.DeleteFunc(files, func(f session.File) bool {
		output := outputs[f.Path]
		isOutput := output != nil && !isChanged(f, *output)
		for dir := path.Dir(f.Path); dir != "." && dir != "/" && f.Type != "directory"; dir = path.Dir(dir) {
			listed[dir], kept[dir] = listed[dir] || isOutput, kept[dir] || !isOutput
		}
		return isOutput
	})
	files = slices.DeleteFunc(files, func(f session.File) bool { return listed[f.Path] && !kept[f.Path] })
	v.Cut = len(files) > filesShown
	v.Tree = treeOf(files[:min(len(files), filesShown)])
}

// changed returns a function that reports whether a file is no longer what was published. The
// content of one of the same size is compared if it was written later; of few that are small.
func (s *Server) changed(ctx context.Context) func(session.File, handoff.Artifact) bool {
	compared := 0
	return func(f session.File, a handoff.Artifact) bool {
		if f.Size != value(a.SizeBytes) || !f.Modified.After(a.CreatedAt) || f.Size > compareLimit {
			return f.Size != value(a.SizeBytes)
		}
		if compared++; compared > filesCompared {
			return false
		}
		now, err := s.o.Source.Records.Artifact(ctx, a.ID)
		return err == nil && now.Target == handoff.Modified
	}
}

// transcriptRest is how long what transcripts show of a session or artifact is not read
// again.
const transcriptRest = 5 * time.Second

// transcripts returns a session or artifact with what transcripts show of it, as they were
// last read; the zero value if that is not known. known returns what they are added to. An
// exported page, and one where threads are not served, have none.
func (s *Server) transcripts(p *page, id string, known func() workspace.Shown) workspace.Shown {
	set := s.o.Source.Threads
	if set == nil {
		return workspace.Shown{}
	}
	shown, _, err := s.shown.of(id).get(s,
		reading[workspace.Shown]{wait: threadWait, least: transcriptRest,
			read: func(ctx context.Context) (workspace.Shown, error) {
				shown := known()
				err := s.o.Source.Bodies.AddTranscripts(ctx, set, &shown)
				if shown.Receipt != nil {
					shown.Receipt.Published = nil // the page shows it itself
				}
				return shown, err
			}})
	p.warn(err)
	return shown
}

// storing returns the commands that archive, delete and restore a session, for people to
// copy: the viewer changes nothing.
func storing(v session.View) []shellCommand {
	id := textfmt.ShellWord(v.ID)
	archive, trash := shellCommand{"archive it", cli.Name() + " session archive " + id, ""}, shellCommand{
		"put it in the trash", cli.Name() + " session delete " + id, ""}
	switch {
	case v.Parent != "", v.Status == handoff.Running, v.Status == sessions.Stalled:
		return nil
	case v.Deleted:
		return []shellCommand{{"take it out of the trash", cli.Name() + " session delete --undo " + id, ""}}
	case v.Archived:
		return []shellCommand{{"take it out of the archive", cli.Name() + " session archive --undo " + id, ""}, trash}
	}
	return []shellCommand{archive, trash}
}

// A shellCommand is a command, and what it does. The key of the keyboard copies it.
type shellCommand struct{ What, Line, Key string }

// findSession returns the session that a ref names.
func (s *Server) findSession(ctx context.Context, id string) (workspace.Shown, error) {
	shown, err := s.o.Source.Artifacts.Show(ctx, id, false)
	if err == nil && shown.Session == nil {
		err = handoff.E("show", id, handoff.NotFound, errors.New("not a session"),
			handoff.Suggest("list the sessions", handoff.ActionSessions))
	}
	return shown, err
}

// above returns what a session or run is in.
func (s *Server) above(ctx context.Context, d session.Detail) []crumb {
	crumbs := []crumb{{"Sessions", "/sessions"}}
	if d.Parent == "" {
		return crumbs
	}
	name := d.Parent
	if parent, err := s.o.Source.Records.Session(ctx, d.Parent); err == nil {
		name = cmp.Or(parent.Name, parent.Agent.Title, parent.Agent.Name, d.Parent)
	}
	return append(crumbs, crumb{name, sessionURL(d.Parent)})
}

// treeOf returns files as a tree. Handoff's own files in it are left out.
func treeOf(files []session.File) []*entry {
	root := &entry{}
	dirs := map[string]*entry{".": root}
	for _, f := range files {
		if f.Internal {
			continue
		}
		e := &entry{File: f, Name: path.Base(f.Path)}
		parent := dirs[path.Dir(f.Path)]
		if parent == nil {
			parent = root
			e.Name = f.Path
		}
		parent.Children = append(parent.Children, e)
		if f.Type == "directory" {
			dirs[f.Path] = e
		}
	}
	return root.Children
}

// runsOf returns the runs in a session or run, as a tree.
func (s *Server) runsOf(ctx context.Context, id string, depth int) ([]runNode, error) {
	found, err := s.o.Source.Sessions.Find(ctx, sessions.Filter{Parent: id, Limit: runsShown})
	var list []runNode
	for _, v := range found.Sessions {
		node := runNode{View: v}
		if depth > 1 && v.ID != id {
			var failed error
			node.Runs, failed = s.runsOf(ctx, v.ID, depth-1)
			err = cmp.Or(err, failed)
		}
		list = append(list, node)
	}
	return list, err
}

// filePage is what the page of a file shows.
type filePage struct {
	ID, Path string
	Preview  preview.Preview
	Download string
	Query    url.Values // see viewOf
}

// fileOf shows a file of a session's folder.
func (s *Server) fileOf(r *http.Request) (page, error) {
	ctx, id, name := r.Context(), r.PathValue("id"), r.PathValue("path")
	f, err := s.openFile(r)
	if err != nil {
		return page{}, err
	}
	defer f.Close()
	d, err := s.o.Source.Records.Session(ctx, id)
	if errors.Is(err, handoff.NotFound) { // a folder that is not recorded
		d, err = handoff.Session{ID: id}, nil
	}
	if err != nil {
		return page{}, err
	}
	v := filePage{ID: d.ID, Path: name, Download: "/files/" + url.PathEscape(id) + "/" + escape(name), Query: viewOf(r)}
	p := page{Name: "file", Title: path.Base(name), Section: "/sessions", Styles: []string{previewStyle}}
	if v.Preview, err = p.preview(r, preview.Source{Body: f, Name: path.Base(name),
		URL: v.Download + "?image"}); err != nil {
		return page{}, err
	}
	p.Data = v
	p.Crumbs = []crumb{{"Sessions", "/sessions"}, {cmp.Or(d.Name, d.Agent.Title, d.Agent.Name, id), sessionURL(id)}}
	if dir := path.Dir(name); dir != "." {
		p.Crumbs = append(p.Crumbs, crumb{strings.ReplaceAll(dir, "/", " / "), sessionURL(id)})
	}
	return p, nil
}
