package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
)

func TestPreview(t *testing.T) {
	s := newSite(t)
	publish := func(name, content string) string {
		return s.publish(handoff.Draft{Body: strings.NewReader(content), Filename: name, Channel: "design"}).ID
	}
	page := s.get("/artifacts/" + publish("plan.md", "# Plan\n\n<script>alert(1)</script>\n\n```mermaid\ngraph TD\n```\n"))
	for _, want := range []string{`<h2 id="md-plan">Plan</h2>`, "&lt;script&gt;", "data-diagram", "preview.js",
		`href="?plain"`} {
		if !strings.Contains(page, want) {
			t.Errorf("Markdown: the page does not contain %s\n%s", want, page)
		}
	}
	log := publish("build.log", strings.Repeat("a line of a log\n", 20_000))
	page = s.get("/artifacts/" + log)
	if !strings.Contains(page, `href="?offset=131072" rel="next"`) {
		t.Errorf("log: the page does not link to the next part\n%s", page[len(page)-3000:])
	}
	if page = s.get("/artifacts/" + log + "?offset=131072"); !strings.Contains(page, `rel="prev"`) {
		t.Error("log: the second part does not link to the first")
	}
	if page = s.get("/artifacts/" + publish("a.bin", "\x00\x01")); !strings.Contains(page, "is binary") ||
		!strings.Contains(page, "/bodies/") {
		t.Errorf("binary: the page does not offer a download\n%s", page)
	}
}

// Only images are served with their type. Everything else, whatever it is called,
// is a download.
func TestImageType(t *testing.T) {
	s := newSite(t)
	for _, c := range []struct{ name, content, want string }{
		{"a.svg", "\x89PNG\r\n\x1a\nrest", "image/png"},
		{"a.png", "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "application/octet-stream"},
		{"a.html", "<script>alert(1)</script>", "application/octet-stream"},
		{"a.gif", "", "application/octet-stream"},
	} {
		done := s.publish(handoff.Draft{Body: strings.NewReader(c.content), Filename: c.name, Channel: "design"})
		r, _ := s.do(request("GET", "/bodies/"+done.ID+"?image"))
		if got := r.Header.Get("Content-Type"); got != c.want || r.StatusCode != http.StatusOK {
			t.Errorf("%s: got %d %s, want %s", c.name, r.StatusCode, got, c.want)
		}
		if shown := r.Header.Get("Content-Disposition") == ""; shown != (c.want == "image/png") ||
			r.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: got the headers %v", c.name, r.Header)
		}
	}
}

func TestDiagramFrame(t *testing.T) {
	s := newSite(t)
	r, body := s.do(request("GET", "/diagram"))
	policy := r.Header.Get("Content-Security-Policy")
	for _, want := range []string{"sandbox allow-scripts;", "default-src 'none'", "script-src 'sha256-",
		"frame-ancestors 'self'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("got the policy %s, want %s", policy, want)
		}
	}
	if strings.Count(body, "</script>") != 2 || !strings.Contains(body, "mermaid.render") {
		t.Errorf("the frame has %d bytes and not the two scripts", len(body))
	}
}
