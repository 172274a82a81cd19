package gitlog

import (
	"crypto/rand"
	"io"
	"maps"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
)

func newIndex() handoff.Index { return logtest.NewReference() }

// httpServer serves a bare repository over HTTP, and returns the host and port, its
// path in a URL and its directory.
func httpServer(t testing.TB) (s *httptest.Server, path, dir string) {
	t.Helper()
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := filepath.Join(strings.TrimSpace(string(out)), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		t.Skip("git has no HTTP server here")
	}
	dir = server(t)
	git(t, dir, "config", "http.receivepack", "true")
	h := &cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(dir), "GIT_HTTP_EXPORT_ALL=1"},
		Stderr: io.Discard}
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reply := httptest.NewRecorder() // else git is killed with its client, and leaves a lock
		h.ServeHTTP(reply, r)
		maps.Copy(w.Header(), reply.Header())
		w.WriteHeader(reply.Code)
		_, _ = reply.Body.WriteTo(w)
	}))
	t.Cleanup(s.Close)
	return s, "/" + filepath.Base(dir), dir
}

// TestLostFirstReply loses the reply to the push that creates a log, and then the
// request that asks what is stored. The commit that is pushed again is the same one.
func TestLostFirstReply(t *testing.T) {
	t.Parallel()
	s, path, dir := httpServer(t)
	var lost, cut atomic.Bool
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if lost.Load() && r.Method == http.MethodGet && cut.CompareAndSwap(false, true) {
			panic(http.ErrAbortHandler)
		}
		s.Config.Handler.ServeHTTP(w, r)
		if strings.HasSuffix(r.URL.Path, "git-receive-pack") && r.Method == http.MethodPost &&
			lost.CompareAndSwap(false, true) {
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(front.Close)
	l := machine(t, front.URL+path)
	r := logtest.NewRecord("a.md")
	if seq, err := l.Append(t.Context(), r); err != nil || seq != 1 {
		t.Errorf("Append = %d, %v, want 1", seq, err)
	}
	if !cut.Load() {
		t.Fatal("no request was cut")
	}
	if got := logtest.Collect(t, machine(t, dir), 0); len(got) != 1 || got[0].ID != r.ID {
		t.Errorf("the log has %d records, want the one that was appended", len(got))
	}
}

// TestKilledWriters kills processes that append, over a server that delays, cuts
// connections and loses replies. The log has each record that was acknowledged, once
// and in order, and every reader has the same answers.
func TestKilledWriters(t *testing.T) {
	if logtest.Write(t, func(runtime string) handoff.Log {
		return Open(Options{Fetch: os.Getenv("GITLOG_WRITE_TO"), Name: "default", Runtime: runtime, Rand: rand.Reader})
	}) {
		return
	}
	t.Parallel()
	s, path, dir := httpServer(t)
	p := logtest.NewProxy(t, s.Listener.Addr().String())
	p.Delay.Store(int64(2 * time.Millisecond))
	p.Cut.Store(30)
	p.Lose.Store(12)
	url := "http://" + p.Addr() + path
	w := logtest.Writers{Test: "TestKilledWriters", Env: []string{"GITLOG_WRITE_TO=" + url}, Records: 20, Threads: 4}
	if os.Getenv("HANDOFF_LONG") != "" {
		w.Records, w.Threads = 5000, 128
	}
	h, failed := w.Kill(t)
	s.Close() // waits for requests of killed processes
	n := h.Check(t, newIndex, machine(t, dir), machine(t, dir), machine(t, dir))
	t.Logf("%d acknowledged, %d failed, %d stored in %s pushes; %d requests and %d replies were lost", h.Len(), failed, n,
		git(t, dir, "rev-list", "--count", ref), p.Cuts.Load(), p.Losses.Load())
	if report, err := machine(t, dir).Check(t.Context(), nil); err != nil || !report.OK() {
		t.Errorf("Check = %+v, %v", report, err)
	}
}
