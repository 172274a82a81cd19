package bucketlog

import (
	"context"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
)

// newTransport returns the transport of the library, whose connections fail when
// nothing was sent or received for a time. The transfer of a complete body may take longer.
func newTransport(secure bool, limit time.Duration) (*http.Transport, error) {
	t, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, err
	}
	dial := t.DialContext
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		watched := &conn{Conn: c, limit: limit}
		watched.quiet = time.AfterFunc(limit, watched.fail)
		return watched, nil
	}
	return t, nil
}

// A clock is a transport that notes the time of the store.
type clock struct {
	http.RoundTripper
	latest atomic.Int64 // in seconds; 0 if the store sends none
}

// RoundTrip implements http.RoundTripper.
func (c *clock) RoundTrip(r *http.Request) (*http.Response, error) {
	reply, err := c.RoundTripper.RoundTrip(r)
	if err == nil {
		if at, err := http.ParseTime(reply.Header.Get("Date")); err == nil {
			c.latest.Store(at.Unix())
		}
	}
	return reply, err
}

// young reports whether an object that was created at a time is not older than a duration,
// at the time of the last reply of the store.
func (c *clock) young(created time.Time, age time.Duration) bool {
	at := c.latest.Load()
	return at > 0 && time.Unix(at, 0).Sub(created) < age
}

// A conn fails when nothing was sent or received for a time.
type conn struct {
	net.Conn
	limit  time.Duration
	quiet  *time.Timer
	failed atomic.Bool
}

func (c *conn) fail() {
	c.failed.Store(true)
	c.Conn.Close()
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) { return c.watch(c.Conn.Read, p) }

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) { return c.watch(c.Conn.Write, p) }

// watch transfers data. What is sent also gives the answer more time.
func (c *conn) watch(transfer func([]byte) (int, error), p []byte) (int, error) {
	c.quiet.Reset(c.limit)
	n, err := transfer(p)
	if err != nil && c.failed.Load() {
		err = os.ErrDeadlineExceeded
	}
	return n, err
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.quiet.Stop()
	return c.Conn.Close()
}
