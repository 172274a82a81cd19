package access_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/cmd/internal/access"
)

func serve(t *testing.T, h http.HandlerFunc, now func() time.Time) string {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.Config = access.NewServer(h, now)
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

// TestSlowBody sends a body that does not end. Its deadline has passed when the
// request comes, so that the test does not wait.
func TestSlowBody(t *testing.T) {
	late := func() time.Time { return time.Now().Add(-time.Hour) }
	failed := make(chan error, 1)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		failed <- err
	}, late)
	body, end := io.Pipe()
	defer end.Close()
	go end.Write([]byte("the first part"))
	go func() {
		if answer, err := http.Post(url, "text/plain", body); err == nil {
			answer.Body.Close()
		}
	}()
	if err := <-failed; err == nil {
		t.Error("a body that never ended was read")
	}
	if answer, err := http.Get(url); err != nil {
		t.Errorf("a request without a body: %v", err)
	} else {
		answer.Body.Close()
	}
}

// TestBodyDeadlineEnds reads a body in time and answers after the deadline of the
// body: the request must not be cancelled.
func TestBodyDeadlineEnds(t *testing.T) {
	soon := func() time.Time { return time.Now().Add(200*time.Millisecond - 30*time.Second) }
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		waiting, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		<-waiting.Done()
		if r.Context().Err() != nil {
			t.Error("the request was cancelled when the deadline of its body passed")
		}
	}, soon)
	answer, err := http.Post(url, "text/plain", strings.NewReader("all of it"))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
}

// TestConnections opens more connections than a server accepts.
func TestConnections(t *testing.T) {
	const limit = 1000
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limited := access.LimitConnections(l)
	defer limited.Close()
	var accepted atomic.Int32
	conns := make(chan net.Conn, 2*limit)
	go func() {
		for c, err := limited.Accept(); err == nil; c, err = limited.Accept() {
			accepted.Add(1)
			conns <- c
		}
	}()
	for range limit + 5 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	for range limit {
		defer (<-conns).Close()
	}
	if n := accepted.Load(); n != limit {
		t.Errorf("%d connections were accepted, want %d", n, limit)
	}
}
