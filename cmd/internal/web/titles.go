package web

import (
	"context"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/cmd/internal/preview"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/threads"
)

// A subject is an artifact, session or thread by its title.
type subject struct{ Kind, Title, URL string }

// Limits of finding titles, which the reader of a page waits for while typing.
const (
	titlesShown = 20
	titlesWait  = 100 * time.Millisecond
	titlesRest  = 10 * time.Second
)

// titlesWith returns what has all words in its title, or the beginnings of words; known is false
// if the threads have not been read yet.
func (s *Server) titlesWith(ctx context.Context, p *page, text string) (list []subject, known bool) {
	words := strings.Fields(strings.ToLower(text))
	add := func(o subject) {
		title := strings.ToLower(o.Title)
		for _, word := range words {
			if !strings.Contains(title, word) {
				return
			}
		}
		if len(list) < titlesShown {
			list = append(list, o)
		}
	}
	titles, known := s.threadTitles(p, titlesWait)
	for _, t := range titles {
		add(t)
	}
	found, err := s.o.Source.Bodies.Search(ctx,
		workspace.SearchOptions{Text: strings.Join(words, "* ") + "*", Limit: kindShown})
	p.warn(err)
	for _, m := range found.Sessions {
		add(subject{"session", m.Session.LongName, sessionURL(m.Session.ID)})
	}
	for _, m := range found.Matches {
		add(subject{"artifact", m.Artifact.DisplayName(), artifactURL(m.Artifact.ID)})
	}
	return list, known
}

// threadTitles returns the threads of the repository as they were last read.
func (s *Server) threadTitles(p *page, wait time.Duration) (list []subject, known bool) {
	if s.o.Source.Threads == nil {
		return nil, true
	}
	list, known, err := s.titles.get(s, reading[[]subject]{wait: wait, least: titlesRest,
		read: func(ctx context.Context) (list []subject, err error) {
			found, err := s.o.Source.Conversations.List(ctx, threads.ListOptions{All: true})
			for _, t := range found.Threads {
				list = append(list, subject{"thread", preview.Title(t.Name()), threadURL(t.URI.String())})
			}
			return list, err
		}})
	p.warn(err)
	return list, known
}
