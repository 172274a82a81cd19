package web_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/workspace/sessions"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/web"
	"github.com/agent-handoff/handoff/workspace"
)

var errDisk = errors.New("the disk fails")

// An unreadable content fails when it is read.
type unreadable struct{ closed bool }

func (u *unreadable) Read([]byte) (int, error)       { return 0, errDisk }
func (u *unreadable) Seek(int64, int) (int64, error) { return 0, nil }
func (u *unreadable) Close() error                   { u.closed = true; return nil }

// A brokenBodies has content that can't be read.
type brokenBodies struct {
	web.Bodies
	content io.ReadSeekCloser
}

func (b brokenBodies) Read(context.Context, string, workspace.ReadOptions) (workspace.Body, error) {
	return workspace.Body{Content: handoff.Content{ReadSeekCloser: b.content}}, nil
}

// A brokenSessions can't find the runs inside one session.
type brokenSessions struct {
	web.Sessions
	parent string
}

func (b brokenSessions) Find(ctx context.Context, f sessions.Filter) (session.Page, error) {
	if f.Parent == b.parent {
		return session.Page{}, errDisk
	}
	return b.Sessions.Find(ctx, f)
}

// fail replaces a part of what a site shows.
func (s *site) fail(change func(*web.Source)) {
	s.t.Helper()
	o := s.o
	change(&o.Source)
	server, err := web.New(o)
	must(s.t, err)
	s.t.Cleanup(server.Close)
	s.h = server.Handler()
}

// TestUnreadableImage checks that content is closed if it can't be read.
func TestUnreadableImage(t *testing.T) {
	s, id, _, _ := furnished(t)
	content := &unreadable{}
	s.fail(func(src *web.Source) { src.Bodies = brokenBodies{content: content} })
	if r, body := s.do(request("GET", "/bodies/"+id+"?image")); r.StatusCode != 422 ||
		!strings.Contains(body, errDisk.Error()) {
		t.Errorf("got %d, want 422\n%s", r.StatusCode, body)
	}
	if !content.closed {
		t.Error("the content was not closed")
	}
}

// TestMissingRuns checks that the page of a session has a warning if the runs inside one
// of its runs can't be found, and those inside the next one can.
func TestMissingRuns(t *testing.T) {
	s, _, sess, _ := furnished(t)
	var newest string
	for range 2 {
		o, err := s.ws.Sessions().Open(t.Context(),
			session.OpenOptions{Parent: sess, Agent: handoff.SessionAgent{Name: "alex"}})
		must(t, err)
		newest = o.ID
	}
	s.fail(func(src *web.Source) { src.Sessions = brokenSessions{src.Sessions, newest} })
	if page := s.get("/sessions/" + sess); !strings.Contains(page, errDisk.Error()) {
		t.Errorf("the page has no warning\n%s", page)
	}
}
