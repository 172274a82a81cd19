package program

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestServeStreams has 500 streams of events, which all hear of a publish, beside so many
// connections that the server accepts no more: the next one is answered when one ends.
func TestServeStreams(t *testing.T) {
	const streams, most = 500, 1000
	w := newWaiting(t)
	address := w.serve(t)
	dial := func(request string) (net.Conn, *bufio.Reader) {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		fmt.Fprintf(c, request, address)
		return c, bufio.NewReader(c)
	}
	reads := func(c net.Conn, r *bufio.Reader, text string, within time.Duration) error {
		_ = c.SetReadDeadline(time.Now().Add(within))
		for {
			line, err := r.ReadString('\n')
			if err != nil || strings.Contains(line, text) {
				return err
			}
		}
	}
	var conns []net.Conn
	var readers []*bufio.Reader
	for i := range streams {
		c, r := dial("GET /events HTTP/1.1\r\nHost: %s\r\n\r\n")
		if err := reads(c, r, ": connected", time.Minute); err != nil {
			t.Fatalf("stream %d: %v", i+1, err)
		}
		conns, readers = append(conns, c), append(readers, r)
	}
	if out, err := w.command(w.dir, "publish", "a.md", "--channel", "news", "--title", "t").CombinedOutput(); err != nil {
		t.Fatalf("publish: %v\n%s", err, out)
	}
	for i, c := range conns {
		if err := reads(c, readers[i], "event: change", time.Minute); err != nil {
			t.Fatalf("stream %d hears nothing of a publish: %v", i+1, err)
		}
	}
	const page = "GET /llms.txt HTTP/1.1\r\nHost: %s\r\n\r\n" // any answer will do
	for i := range most - streams {
		c, r := dial(page)
		if err := reads(c, r, "HTTP/1.1", time.Minute); err != nil {
			t.Fatalf("connection %d is not answered: %v", streams+i+1, err)
		}
	}
	c, r := dial(page)
	if err := reads(c, r, "HTTP/1.1", time.Second); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("connection %d: %v, want no answer", most+1, err)
	}
	conns[0].Close()
	if err := reads(c, r, "HTTP/1.1", time.Minute); err != nil {
		t.Errorf("connection %d is not answered after another one ended: %v", most+1, err)
	}
}

// serve starts a server, which ends with the test, and returns its address.
func (w *waiting) serve(t *testing.T) (address string) {
	c := w.command(w.dir, "serve", "--listen", "127.0.0.1:0", "--no-token")
	out, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGKILL)
		_ = c.Wait()
	})
	for lines := bufio.NewScanner(out); address == "" && lines.Scan(); {
		address = regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(lines.Text())
	}
	return address
}
