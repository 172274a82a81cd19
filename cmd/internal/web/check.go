package web

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
)

// checkAge is how long the result of a check is shown to others who ask.
const checkAge = 10 * time.Second

// A checker checks the workspace, for one request at a time.
type checker struct {
	mu     sync.Mutex
	report handoff.Report
	err    error
	at     time.Time
}

// findingsShown is how many problems, and how many notes, the page of a check shows.
const findingsShown = 500

// checkPage is what the page of a check shows.
type checkPage struct {
	handoff.Report
	Problems, Notes []handoff.Finding
	At              time.Time
	Command         string // prints all
}

// ShownProblems and ShownNotes return the first of Problems and of Notes, MoreProblems and
// MoreNotes how many there are besides.
func (p checkPage) ShownProblems() []handoff.Finding {
	return p.Problems[:min(findingsShown, len(p.Problems))]
}

// ShownNotes is described at ShownProblems.
func (p checkPage) ShownNotes() []handoff.Finding { return p.Notes[:min(findingsShown, len(p.Notes))] }

// MoreProblems is described at ShownProblems.
func (p checkPage) MoreProblems() int { return len(p.Problems) - len(p.ShownProblems()) }

// MoreNotes is described at ShownProblems.
func (p checkPage) MoreNotes() int { return len(p.Notes) - len(p.ShownNotes()) }

// check shows what is damaged.
func (s *Server) check(r *http.Request) (page, error) {
	report, at, err := s.checker.run(r.Context(), s.o.Source.Log, s.o.Now)
	v := checkPage{Report: report, At: at, Command: cli.CommandLine(handoff.ActionCheck)}
	for _, f := range report.Findings {
		if f.Note {
			v.Notes = append(v.Notes, f)
		} else {
			v.Problems = append(v.Problems, f)
		}
	}
	p := page{Name: "check", Title: "Check", Section: "/check", Data: v}
	p.warn(err)
	return p, nil
}

func (c *checker) run(ctx context.Context, log Log, now func() time.Time) (handoff.Report, time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := now(); c.at.IsZero() || at.Sub(c.at) > checkAge {
		c.report, c.err = log.Check(ctx)
		c.at = now()
		if ctx.Err() != nil {
			c.at = time.Time{} // the next one checks again
		}
	}
	return c.report, c.at, c.err
}
