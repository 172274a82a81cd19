package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/preview"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/workspace/candidates"
)

// contentsShown is how many candidates a page shows the content of.
const contentsShown = 12

// comparison is what the page of candidates shows.
type comparison struct {
	candidates.CandidateList
	Groups  [][]side
	Reading bool   // they are being read
	Command string // prints the same
}

// A side is one of the candidates.
type side struct {
	candidates.Candidate
	Figures []textfmt.Figure
	Preview *preview.Preview // nil without content
	Problem string           // why there is none
}

// compared shows artifacts that compete side by side: those of the refs of the address, what
// competes with one ref, or all that compete.
func (s *Server) compared(r *http.Request) (page, error) {
	refs := r.URL.Query()["ref"]
	p := page{Name: "compared", Title: "Compare", Section: "/channels", Crumbs: []crumb{{"Channels", "/channels"}},
		Live: true, Poll: costRest, Styles: []string{previewStyle, "compare.css"}}
	at, _ := s.o.Source.Log.Position(r.Context(), "now")
	found, known, err := s.choices.of(fmt.Sprintf("%q", refs)).get(s, reading[candidates.CandidateList]{wait: costWait,
		of: int64(at), read: func(ctx context.Context) (candidates.CandidateList, error) {
			return s.o.Source.Choices(ctx, refs)
		}})
	if err != nil {
		return page{}, err
	}
	c := comparison{CandidateList: found, Reading: !known, Command: compareCommand(refs)}
	p.Warnings = slices.Clone(found.Warnings)
	group := 0
	for i, d := range found.Candidates {
		shown := side{Candidate: d, Figures: textfmt.Figures(d), Problem: "Open it to see its content."}
		if i < contentsShown {
			shown.Problem = ""
			if err := s.showSide(r, &p, &shown); err != nil {
				shown.Problem = err.Error()
			}
		}
		if d.Group != group {
			group, c.Groups = d.Group, append(c.Groups, nil)
		}
		c.Groups[len(c.Groups)-1] = append(c.Groups[len(c.Groups)-1], shown)
	}
	p.Data = c
	return p, nil
}

// showSide adds what a candidate published.
func (s *Server) showSide(r *http.Request, p *page, d *side) error {
	b, err := s.openBody(r.Context(), d.Artifact.ID)
	if err != nil {
		return err
	}
	defer b.Close()
	shown, err := p.preview(r, preview.Source{Body: b, Name: path.Base(d.Artifact.Path), MediaType: d.Artifact.MediaType,
		URL: bodyURL(d.Artifact.ID) + "?image"})
	if err == nil {
		d.Preview = &shown
	}
	return err
}

// compareCommand returns the command line that prints the same.
func compareCommand(refs []string) string {
	line := strings.TrimSuffix(cli.CommandLine(handoff.ActionCompare), " %")
	for _, ref := range refs {
		line += " " + textfmt.ShellWord(ref)
	}
	return line
}

// compareURL returns the URL of the page of what competes with an artifact.
func compareURL(ref string) string { return "/compare?ref=" + url.QueryEscape(ref) }
