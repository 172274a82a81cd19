package web

import (
	"html/template"
	"net/http"
	"path"

	"github.com/agent-handoff/handoff"
)

// artifactPage is what the page of an artifact shows.
type artifactPage struct {
	handoff.Artifact
	Ref      string // as it was asked for
	Content  template.HTML
	More     bool   // the content is longer
	Problem  string // why the content can't be shown
	History  []handoff.Artifact
	Revision int
}

// artifact shows an artifact by any ref.
func (s *Server) artifact(r *http.Request) (page, error) {
	ref := r.PathValue("ref")
	shown, err := s.o.Source.Artifacts.Show(r.Context(), ref, false)
	if err != nil {
		return page{}, err
	}
	if shown.Artifact == nil {
		return page{}, &handoff.Error{Op: "show", Name: ref, Kind: handoff.NotFound, Hint: handoff.Suggest("list every artifact", handoff.ActionListAll)}
	}
	a := artifactPage{Artifact: *shown.Artifact, Ref: ref}
	p := page{Name: "artifact", Title: titleOf(a.Artifact), Live: true, Crumbs: []crumb{{"Channels", "/channels"}, {a.Channel, channelURL(a.Channel)}}, Section: "/channels"}
	history, err := s.o.Source.Artifacts.History(r.Context(), a.ID)
	p.warn(err)
	a.History = history.Artifacts
	if err := s.showBody(r, &a); err != nil {
		a.Problem = err.Error()
	}
	p.Data = a
	return p, nil
}

func (s *Server) showBody(r *http.Request, a *artifactPage) error {
	b, err := s.openBody(r.Context(), a.ID)
	if err != nil {
		return err
	}
	defer b.Close()
	a.Content, a.More, err = preview(path.Base(a.Path), b)
	return err
}

// titleOf returns what an artifact is called.
func titleOf(a handoff.Artifact) string {
	if a.Title != "" {
		return a.Title
	}
	if a.Name != "" {
		return a.Name
	}
	return path.Base(a.Path)
}
