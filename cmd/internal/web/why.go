package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"path/filepath"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
)

// whyPage is what the page of where something comes from shows.
type whyPage struct {
	trace.Origin
	Hops    []hop
	Of      string
	Reading bool
	Missing bool   // nothing has the name now, such as a file that was removed
	Command string // prints the same
}

// why shows where a file of the workspace, or an artifact, comes from and who has used it.
func (s *Server) why(r *http.Request) (page, error) {
	if s.o.Source.Threads == nil {
		return page{}, errNoThreads
	}
	v := whyPage{Of: r.URL.Query().Get("of")}
	if !s.isTraced(v.Of) {
		return page{}, pathError{errors.New("the file is not in a worktree of the repository")}
	}
	p := page{Name: "why", Title: v.Of, Section: "/files",
		Crumbs: []crumb{{"Changed files", "/files"}}}
	found, known, err := s.origins.of(v.Of).get(s, reading[trace.Origin]{wait: costWait, least: costRest,
		read: func(ctx context.Context) (trace.Origin, error) { return s.o.Source.Why(ctx, v.Of) }})
	if v.Missing = errors.Is(err, handoff.NotFound); err != nil && !v.Missing {
		return page{}, err
	}
	v.Hops = s.hopsOf(found.Hops)
	v.Origin, v.Reading, v.Command = found, !known, cli.CommandLine(handoff.ActionWhy, v.Of)
	p.Warnings, p.Live = found.Warnings, !known
	p.Data = v
	return p, nil
}

// isTraced reports whether a name may be of a file that pages show the origin of: one in a worktree
// of the repository. A line of any other file would be shown, too.
func (s *Server) isTraced(name string) bool {
	return filepath.IsLocal(name) ||
		filepath.IsAbs(name) && filepath.Clean(name) == name && s.o.Source.Conversations.InRepository(name)
}

// A hop is a step of an origin with what its row shows.
type hop struct {
	trace.Hop
	Title string
	URL   string // of its page, "" if it has none
	ID    string // "" if its ref is a path or a URI
}

// hopsOf returns the rows of an origin.
func (s *Server) hopsOf(list []trace.Hop) (rows []hop) {
	for _, h := range list {
		row := hop{Hop: h, Title: cmp.Or(h.Text, h.Ref)}
		switch h.Kind {
		case trace.HopFile, trace.HopLine:
			row.Title = s.relative(row.Title)
		case trace.HopPublished, trace.HopWrote, trace.HopCommitted, trace.HopParent:
			if uri, err := thread.ParseURI(h.Ref); err == nil {
				row.Title, row.URL = titled("thread", row.Title), messageURL(uri)
			}
		case trace.HopSession:
			row.URL, row.ID = sessionURL(h.Ref), h.Ref
		case trace.HopCommit:
			row.ID = h.Ref
		}
		if handoff.IsArtifactID(h.Ref) {
			row.URL, row.ID = artifactURL(h.Ref), h.Ref
		}
		rows = append(rows, row)
	}
	return rows
}

// whyURL returns the URL of the page of where a file of the repository comes from.
func whyURL(name string) string { return "/why?of=" + url.QueryEscape(name) }
