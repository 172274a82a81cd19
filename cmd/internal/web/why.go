package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path/filepath"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/trace"
)

// whyPage is what the page of where something comes from shows.
type whyPage struct {
	trace.Origin
	Of      string
	Reading bool
	Command string // prints the same
}

// why shows where a file of the workspace, or an artifact, comes from and who has used it.
func (s *Server) why(r *http.Request) (page, error) {
	if s.o.Source.Threads == nil {
		return page{}, errNoThreads
	}
	v := whyPage{Of: r.URL.Query().Get("of")}
	if !filepath.IsLocal(v.Of) {
		return page{}, pathError{errors.New("the file is not named by a path in the workspace")}
	}
	p := page{Name: "why", Title: v.Of, Section: "/threads",
		Crumbs: []crumb{{"Threads", "/threads"}, {"Changed files", "/files"}}}
	found, known, err := s.origins.of(v.Of).get(s, reading[trace.Origin]{wait: costWait, least: costRest,
		read: func(ctx context.Context) (trace.Origin, error) { return s.o.Source.Why(ctx, v.Of) }})
	if err != nil {
		return page{}, err
	}
	v.Origin, v.Reading, v.Command = found, !known, cli.CommandLine(handoff.ActionWhy, v.Of)
	p.Warnings, p.Live = found.Warnings, !known
	p.Data = v
	return p, nil
}

// HopURL returns the URL of what a hop is about, "" if it has no page.
func (v whyPage) HopURL(h trace.Hop) string {
	switch h.Kind {
	case trace.HopSession:
		return sessionURL(h.Ref)
	case trace.HopPublished, trace.HopWrote, trace.HopCommitted, trace.HopParent:
		if uri := parsed(h.Ref); uri.Thread != "" {
			return messageURL(uri)
		}
	}
	if handoff.IsArtifactID(h.Ref) {
		return artifactURL(h.Ref)
	}
	return ""
}

// whyURL returns the URL of the page of where a file of the workspace comes from.
func whyURL(name string) string { return "/why?of=" + url.QueryEscape(name) }
