package web

import (
	"context"
	"net/http"
	"runtime/debug"
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
	result checkPage
	err    error
}

// findingsShown is how many problems, and how many notes, the page of a check shows.
const findingsShown = 500

// checkPage is what the page of a check shows.
type checkPage struct {
	Records         int
	Problems, Notes findings
	At              time.Time
	Command         string // prints all
}

// findings are the first of some findings, and how many there are.
type findings struct {
	Shown []handoff.Finding
	Count int
}

func (f *findings) add(one handoff.Finding) {
	if f.Count++; f.Count <= findingsShown {
		f.Shown = append(f.Shown, one)
	}
}

// More returns how many there are besides those that are shown.
func (f findings) More() int { return f.Count - len(f.Shown) }

// check shows what is damaged.
func (s *Server) check(r *http.Request) (page, error) {
	v, err := s.checker.run(r.Context(), s.o.Source.Log, s.o.Now)
	v.Command = cli.CommandLine(handoff.ActionCheck)
	p := page{Name: "check", Title: "Check", Section: "/check", Data: v}
	p.warn(err)
	return p, nil
}

func (c *checker) run(ctx context.Context, log Log, now func() time.Time) (checkPage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := now(); !c.result.At.IsZero() && at.Sub(c.result.At) <= checkAge {
		return c.result, c.err
	}
	c.result = checkPage{}
	defer debug.SetGCPercent(debug.SetGCPercent(50)) // as of the command
	var report handoff.Report
	report, c.err = log.Check(ctx)
	c.result.Records = report.Records
	for _, f := range report.Findings {
		if f.Note {
			c.result.Notes.add(f)
		} else {
			c.result.Problems.add(f)
		}
	}
	if ctx.Err() == nil { // otherwise the next one checks again
		c.result.At = now()
	}
	return c.result, c.err
}
