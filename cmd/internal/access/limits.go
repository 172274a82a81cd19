package access

import (
	"io"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
)

// What one client may take from a server: a program that connects and does nothing
// must not keep others out.
const (
	headerTimeout  = 10 * time.Second
	bodyTimeout    = 30 * time.Second
	idleTimeout    = time.Minute
	maxConnections = 1000
)

// NewServer returns a server of h that closes connections whose client sends no
// header for 10 seconds, no complete body for 30, or no request for 60. The answer
// to a request may take any time.
func NewServer(h http.Handler, now func() time.Time) *http.Server {
	timed := func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			c := http.NewResponseController(w)
			if err := c.SetReadDeadline(now().Add(bodyTimeout)); err == nil {
				r.Body = &timedBody{r.Body, c}
			}
		}
		h.ServeHTTP(w, r)
	}
	return &http.Server{Handler: http.HandlerFunc(timed), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout}
}

// LimitConnections returns a listener with at most 1,000 connections at a time.
// Further ones wait until one of them ends.
func LimitConnections(l net.Listener) net.Listener { return netutil.LimitListener(l, maxConnections) }

// A timedBody removes the deadline of its connection when the body was read: the
// server reads on, to notice that a client leaves.
type timedBody struct {
	io.ReadCloser
	connection *http.ResponseController
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.connection.SetReadDeadline(time.Time{}) // the connection was closed otherwise
	}
	return n, err
}
