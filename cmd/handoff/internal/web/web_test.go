package web_test

import (
	"crypto/rand"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/access"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/web"
	"github.com/agent-handoff/handoff/workspace"
)

const token = "a-token-for-tests-only"

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A site is a viewer of a new workspace.
type site struct {
	t      testing.TB
	ws     *workspace.Workspace
	server *web.Server
	h      http.Handler
}

func newSite(t testing.TB, change ...func(*web.Options)) *site {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, ".git"), 0o755))
	return siteIn(t, dir, change...)
}

func siteIn(t testing.TB, dir string, change ...func(*web.Options)) *site {
	t.Helper()
	ws, err := workspace.Open(dir, workspace.Options{})
	must(t, err)
	t.Cleanup(func() { ws.Close() })
	o := web.Options{Source: web.NewSource(ws, nil), Now: time.Now, Token: token, Secret: rand.Text,
		Hosts: access.NewHosts("127.0.0.1:7420", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7420})}
	for _, c := range change {
		c(&o)
	}
	server, err := web.New(o)
	must(t, err)
	t.Cleanup(server.Close)
	return &site{t, ws, server, server.Handler()}
}

// request returns a request with the token.
func request(method, path string) *http.Request {
	r := httptest.NewRequest(method, "http://127.0.0.1:7420/", nil)
	r.URL.Path, r.URL.RawQuery, _ = strings.Cut(path, "?")
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

// do answers a request and returns the body, too.
func (s *site) do(r *http.Request) (*http.Response, string) {
	s.t.Helper()
	w := httptest.NewRecorder()
	s.h.ServeHTTP(w, r)
	b, err := io.ReadAll(w.Result().Body)
	must(s.t, err)
	return w.Result(), string(b)
}

// get returns the page at a path, which must exist.
func (s *site) get(path string) string {
	s.t.Helper()
	r, body := s.do(request("GET", path))
	if r.StatusCode != http.StatusOK {
		s.t.Fatalf("GET %s: got status %d, want 200\n%s", path, r.StatusCode, body)
	}
	return body
}

func (s *site) publish(p workspace.Publication) handoff.Published {
	s.t.Helper()
	done, err := s.ws.Publish(s.t.Context(), p)
	must(s.t, err)
	return done
}

func TestFirstPage(t *testing.T) {
	s := newSite(t)
	if page := s.get("/"); !strings.Contains(page, "handoff publish FILE") {
		t.Errorf("the page of an empty workspace does not say how to publish\n%s", page)
	}
	done := s.publish(workspace.Publication{Body: strings.NewReader("hello"), Channel: "design", Title: "The <b>plan</b>"})
	page := s.get("/")
	for _, want := range []string{done.ID, "The &lt;b&gt;plan&lt;/b&gt;", `href="/channels/design"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %s\n%s", want, page)
		}
	}
	if body := s.get("/artifacts/" + done.ID); !strings.Contains(body, "hello") {
		t.Errorf("the page does not show the content\n%s", body)
	}
}
