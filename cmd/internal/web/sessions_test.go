package web_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/web"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/workspace/sessions"
)

// slowFolders are sessions whose folders take until the test ends.
type slowFolders struct {
	web.Sessions
	until <-chan struct{}
}

func (s slowFolders) Unrecorded(ctx context.Context) (sessions.Adoptions, error) {
	select {
	case <-s.until:
	case <-ctx.Done():
	}
	return sessions.Adoptions{}, ctx.Err()
}

// TestFoldersAreRead opens the list of sessions while their folders are read: it asks again, because
// nothing in the log shows when they are.
func TestFoldersAreRead(t *testing.T) {
	until := make(chan struct{})
	s := newSite(t)
	s.o.Source.Sessions = slowFolders{s.o.Source.Sessions, until}
	server, err := web.New(s.o)
	must(t, err)
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(until) })
	s.h = server.Handler()
	if page := s.get("/sessions"); !strings.Contains(page, "not recorded are being read") ||
		!strings.Contains(page, "data-poll=") {
		t.Errorf("the page does not ask for the folders again\n%s", page)
	}
}

// open opens a session of an agent that builds on others.
func (s *site) open(agent string, from ...string) string {
	s.t.Helper()
	o := session.OpenOptions{}
	o.Agent.Name, o.Workflow.Name, o.Links = agent, "w", from
	opened, err := s.ws.Sessions().Open(s.t.Context(), o)
	must(s.t, err)
	return opened.ID
}

// TestSessionPlaces lists archived sessions and those in the trash only where that is asked
// for.
func TestSessionPlaces(t *testing.T) {
	s := newSite(t)
	ids := map[string]string{"": s.open("alex"), "archive": s.open("alex"), "trash": s.open("alex")}
	for _, id := range ids {
		_, err := s.ws.Sessions().Close(t.Context(), id, session.Completed, "")
		must(t, err)
	}
	_, err := s.ws.Sessions().Archive(t.Context(), []string{ids["archive"]}, false)
	must(t, err)
	_, err = s.ws.Sessions().Delete(t.Context(), []string{ids["trash"]}, false)
	must(t, err)
	for place := range ids {
		page := s.get("/sessions?in=" + place)
		for of, id := range ids {
			if got := strings.Contains(page, id); got != (of == place) {
				t.Errorf("/sessions?in=%s shows the session in %q: %t", place, of, got)
			}
		}
	}
}

// counted counts how often the folder of a session is looked for.
type counted struct {
	web.Sessions
	files, opened int
}

func (c *counted) Files(ctx context.Context, id string) ([]session.File, error) {
	c.files++
	return c.Sessions.Files(ctx, id)
}

func (c *counted) OpenFile(ctx context.Context, id, name string) (*os.File, error) {
	c.opened++
	return c.Sessions.OpenFile(ctx, id, name)
}

// TestUnknownSession requests sessions that do not exist: no folder is read for that. A place
// that is none is refused.
func TestUnknownSession(t *testing.T) {
	s := newSite(t)
	c := &counted{Sessions: s.o.Source.Sessions}
	s.o.Source.Sessions = c
	server, err := web.New(s.o)
	must(t, err)
	t.Cleanup(server.Close)
	s.server, s.h = server, server.Handler()
	for path, want := range map[string]int{"/sessions/0b5ab1ad-6c9a-4b54-8d5a-0123456789ac": 404, "/sessions/x": 404,
		"/sessions/0b5ab1ad-6c9a-4b54-8d5a-0123456789ac/files/a.md": 404, "/sessions?in=other": 400,
		"/sessions?in=trash": 200} {
		if r, _ := s.do(request("GET", path)); r.StatusCode != want {
			t.Errorf("GET %s: got status %d, want %d", path, r.StatusCode, want)
		}
	}
	if c.files+c.opened > 0 {
		t.Errorf("folders were looked for %d times, and files %d times", c.files, c.opened)
	}
}

// TestUnrecordedFolder browses a folder without a manifest.
func TestUnrecordedFolder(t *testing.T) {
	s := newSite(t)
	const id = "0b5ab1ad-6c9a-4b54-8d5a-0123456789ab"
	dir := filepath.Join(s.ws.Root(), "docs/agent-outputs", id, "deep")
	must(t, os.MkdirAll(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "notes.md"), []byte("# What was left"), 0o644))
	s.eventually("/sessions", `href="/sessions/`+id+`"`)
	file := "/sessions/" + id + "/files/deep/notes.md"
	if page := s.get("/sessions/" + id); !strings.Contains(page, file) || !strings.Contains(page, "not recorded") {
		t.Errorf("the page of the folder does not lead to %s\n%s", file, page)
	}
	if page := s.get(file); !strings.Contains(page, "What was left") {
		t.Errorf("the page of the file does not have its content\n%s", page)
	}
	for _, path := range []string{"/sessions/" + id[:8], "/sessions/0b5ab1ad-6c9a-4b54-8d5a-0123456789ac",
		"/sessions/" + id + "/files/../../x"} {
		if r, _ := s.do(request("GET", path)); r.StatusCode == http.StatusOK {
			t.Errorf("GET %s: got status 200", path)
		}
	}
}

// TestChain draws the sessions that build on each other.
func TestChain(t *testing.T) {
	s := newSite(t)
	first := s.open("ann")
	second := s.open("bob", first)
	third := s.open("cleo", second)
	page := s.get("/graph?focus=" + second + "&sessions")
	for _, want := range []string{`"edges": [{"from":`, "builds on", `href="/sessions/` + first,
		`href="/sessions/` + third, `href="/graph?focus=` + second} {
		if !strings.Contains(page, want) {
			t.Errorf("the graph of sessions does not have %q\n%s", want, page)
		}
	}
	if page := s.get("/sessions/" + second); !strings.Contains(page, "/graph?focus="+second+"&amp;sessions") {
		t.Errorf("the page of the session has no link to the graph\n%s", page)
	}
}

// TestChainColumns draws no empty column before the first session.
func TestChainColumns(t *testing.T) {
	s := newSite(t)
	first := s.open("ann")
	second := s.open("bob", first)
	for id, want := range map[string]string{first: `viewBox="0 0 627 `, second: `viewBox="0 0 627 `} {
		if page := s.get("/sessions/" + id); !strings.Contains(page, want) || !strings.Contains(page, `<svg x="0"`) {
			t.Errorf("the chain of session %s has an empty column\n%s", id, page)
		}
	}
}

// TestLinkedIDs links each ID of an artifact in a notice.
func TestLinkedIDs(t *testing.T) {
	s := newSite(t)
	publish := func(title string, replaces, parents []string) string {
		return s.publish(handoff.Draft{Body: strings.NewReader(title), Channel: "design", Title: title, Replaces: replaces,
			Parents: parents}).ID
	}
	old := publish("old", nil, nil)
	stale := publish("made", nil, []string{old})
	one, two := publish("one", []string{old}, nil), publish("two", []string{old}, nil)
	page := s.get("/artifacts/" + stale)
	notice := page[max(0, strings.LastIndex(page, "was replaced")):] // the first is the title of the mark
	for _, id := range []string{one, two} {
		if !strings.Contains(notice, `href="/artifacts/`+id) {
			t.Errorf("the notice has no link to %s: %s", id, notice)
		}
	}
}

// TestGraphWithoutLinks has a list of edges, which the script reads.
func TestGraphWithoutLinks(t *testing.T) {
	s := newSite(t)
	s.publish(handoff.Draft{Body: strings.NewReader("a"), Channel: "design", Title: "Alone"})
	if page := s.get("/graph"); !strings.Contains(page, `"edges": []`) {
		t.Errorf("the graph has no empty list of edges\n%s", page)
	}
}

// TestAttestation shows the command, how it ended, when and on which tree.
func TestAttestation(t *testing.T) {
	s := newSite(t)
	done, err := s.ws.Claims(nil).Attest(t.Context(), []string{"go", "test", "./a b"}, false,
		func(w io.Writer) (session.Exit, error) {
			io.WriteString(w, "FAIL")
			return session.Exit{Code: 7}, nil
		})
	must(t, err)
	page := s.get("/artifacts/" + done.ID)
	for _, want := range []string{"<dt>Command</dt><dd class=\"mono\">go test &#39;./a b&#39;</dd>", "exit status 7",
		`data-notice="attest_failed"`, "n-problem", "<dt>Started</dt>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q\n%s", want, page)
		}
	}
}
