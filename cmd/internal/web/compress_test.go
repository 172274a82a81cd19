package web_test

import (
	"compress/gzip"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
)

// TestCompressed asks for pages and assets with and without compression.
func TestCompressed(t *testing.T) {
	s := newSite(t)
	s.publish(handoff.Draft{Body: strings.NewReader("a"), Channel: "design", Title: "The plan"})
	for _, path := range []string{"/artifacts", "/channels/design", "/assets/app.css", "/artifacts/none"} {
		plain, text := s.do(request("GET", path))
		if got := plain.Header.Get("Content-Encoding"); got != "" {
			t.Errorf("%s: got encoding %q for a client that accepts none", path, got)
		}
		for accept, want := range map[string]string{"gzip": "gzip", "br, gzip;q=0.5": "gzip", "gzip;q=0": "", "br": "",
			"identity": ""} {
			for _, method := range []string{"GET", "HEAD"} {
				r := request(method, path)
				r.Header.Set("Accept-Encoding", accept)
				answer, body := s.do(r)
				if got := answer.Header.Get("Content-Encoding"); got != want {
					t.Errorf("%s %s with %q: got encoding %q, want %q", method, path, accept, got, want)
				}
				if answer.Header.Get("Vary") != "Accept-Encoding" || answer.StatusCode != plain.StatusCode {
					t.Errorf("%s %s with %q: got %s, Vary %q", method, path, accept, answer.Status, answer.Header.Get("Vary"))
				}
				if method == "HEAD" {
					if body != "" {
						t.Errorf("HEAD %s with %q: got a body of %d bytes", path, accept, len(body))
					}
					continue
				}
				if got := answer.Header.Get("Content-Length"); got != strconv.Itoa(len(body)) {
					t.Errorf("%s with %q: got length %s, want %d", path, accept, got, len(body))
				}
				if want == "gzip" {
					z, err := gzip.NewReader(strings.NewReader(body))
					must(t, err)
					b, err := io.ReadAll(z)
					must(t, err)
					body = string(b)
				}
				if body != text {
					t.Errorf("%s with %q: got another text\n%s", path, accept, body)
				}
			}
		}
	}
}
