package web

import (
	"net/http"
	"path"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/preview"
)

// artifactPage is what the page of an artifact shows.
type artifactPage struct {
	handoff.Artifact
	Ref      string // as it was asked for
	Preview  preview.Preview
	Download string // the URL of the content
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
	if err := s.showBody(r, &p, &a); err != nil {
		a.Problem = err.Error()
	}
	p.Data = a
	return p, nil
}

func (s *Server) showBody(r *http.Request, p *page, a *artifactPage) error {
	b, err := s.openBody(r.Context(), a.ID)
	if err != nil {
		return err
	}
	defer b.Close()
	a.Download = bodyURL(a.ID)
	a.Preview, err = p.preview(r, preview.Source{Body: b, Name: path.Base(a.Path), MediaType: a.MediaType, URL: a.Download + "?image"})
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
