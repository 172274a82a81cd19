package web_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/session"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/web"
	"github.com/agent-handoff/handoff/workspace"
)

// export returns the exported page of a session.
func (s *site) export(session string) string {
	s.t.Helper()
	var page bytes.Buffer
	must(s.t, web.Export(s.t.Context(), web.NewSource(s.ws, nil), time.Now(), session, &page))
	return page.String()
}

// An exported page has nothing that runs or loads, whatever the session contains,
// and its policy permits its style only.
func TestExport(t *testing.T) {
	texts := []string{"<script>alert(1)</script>", "</style><script>alert(1)</script>", `"><img src=x onerror=alert(1)>`,
		"javascript:alert(1)", "a\u202eb"}
	s := newSite(t)
	o, err := s.ws.Sessions().Open(t.Context(),
		session.OpenOptions{Agent: handoff.SessionAgent{Name: texts[0], Title: texts[1]},
			Workflow: handoff.SessionWorkflow{Name: texts[2]}})
	must(t, err)
	as := s.ws.As(workspace.Caller{Dir: s.ws.Root(), Producer: handoff.Producer{Session: o.ID}})
	for i, text := range texts {
		for _, name := range []string{"a.md", "a.html", "a.svg", "a.csv"} {
			_, err := as.Publish(t.Context(), handoff.Draft{Body: strings.NewReader(text), Filename: name,
				Channel: "design", Title: texts[(i+1)%3]})
			must(t, err)
		}
	}
	_, err = as.Publish(t.Context(), handoff.Draft{Body: strings.NewReader("\x89PNG\r\n\x1a\nrest"),
		Filename: "a.svg", Channel: "design"})
	must(t, err)
	page := s.export(o.ID)
	if bad := regexp.MustCompile(
		`(?i)<(script|iframe|object|embed|link|form|base)|<[^>]* on[a-z]+=|(href|src)="(javascript|http:|/)|url\(|\x{202e}`).
		FindString(page); bad != "" {
		t.Errorf("the page contains %s", bad)
	}
	if !strings.Contains(page, `src="data:image/png;base64,`) {
		t.Error("the page does not contain the image")
	}
	_, style, _ := strings.Cut(page, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	sum := sha256.Sum256([]byte(style))
	if want := "style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'"; !strings.Contains(html.UnescapeString(page), want) {
		t.Errorf("the policy does not contain %s", want)
	}
}

// Content that is damaged or gone is named; the rest of the page is there.
func TestExportDamaged(t *testing.T) {
	s, _, session, folder := furnished(t)
	as := s.ws.As(workspace.Caller{Dir: s.ws.Root(), Producer: handoff.Producer{Session: session}})
	kept, err := as.Publish(t.Context(), handoff.Draft{Body: strings.NewReader("a kept body"), Channel: "design"})
	must(t, err)
	moved, err := as.Publish(t.Context(), handoff.Draft{Path: filepath.Join(folder, "notes.md"), Channel: "notes",
		Keep: handoff.KeepNever})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(folder, "notes.md"), []byte("changed"), 0o644))
	must(t, os.WriteFile(filepath.Join(folder, "manifest.json"), []byte(`{"torn`), 0o644))
	must(t, filepath.WalkDir(s.ws.Root(), func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.Contains(name, kept.Digest.Value) {
			return os.Remove(name)
		}
		return err
	}))
	must(t, os.RemoveAll(kept.File))
	page := s.export(session)
	for _, want := range []string{kept.ID, moved.ID, "note bad"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %s", want)
		}
	}
	for _, path := range []string{"/artifacts/" + kept.ID, "/artifacts/" + moved.ID, "/graph?focus=" + kept.ID,
		"/graph?focus=" + session, "/sessions/" + session} {
		if r, body := s.do(request("GET", path)); r.StatusCode != 200 {
			t.Errorf("%s: got %d\n%s", path, r.StatusCode, body)
		}
	}
}

// A page has everything that a session published, as it was published.
func TestExportAll(t *testing.T) {
	s, _, session, folder := furnished(t)
	as := s.ws.As(workspace.Caller{Dir: s.ws.Root(), Producer: handoff.Producer{Session: session}})
	notes := filepath.Join(folder, "notes.md")
	first, err := as.Publish(t.Context(), handoff.Draft{Path: notes, Channel: "notes", Keep: handoff.KeepAlways})
	must(t, err)
	must(t, os.WriteFile(notes, []byte("edited later"), 0o644))
	const others = 120
	for i := range others {
		_, err := as.Publish(t.Context(), handoff.Draft{Body: strings.NewReader(fmt.Sprintf("body %d.", i)),
			Channel: "design"})
		must(t, err)
	}
	var same []handoff.Published
	for range 2 {
		p, err := as.Publish(t.Context(), handoff.Draft{Body: strings.NewReader("# Same\n\n[up](#same)\n"),
			Filename: "a.md", Channel: "design"})
		must(t, err)
		same = append(same, p)
	}
	gone, err := as.Publish(t.Context(), handoff.Draft{Body: strings.NewReader("a withdrawn text"),
		Channel: "design"})
	must(t, err)
	_, err = as.Withdraw(t.Context(), gone.ID, "wrong customer")
	must(t, err)
	page := s.export(session)
	for i := range others {
		if !strings.Contains(page, fmt.Sprintf("body %d.", i)) {
			t.Errorf("the page does not contain body %d", i)
		}
	}
	content := page[strings.Index(page, `class="exported"`):]
	for _, want := range []string{`href="#` + first.ID, "<p>notes</p>", "withdrawn: wrong customer"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
	for _, bad := range []string{"edited later", "a withdrawn text"} {
		if strings.Contains(content, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	for _, p := range same {
		if want := `id="md-` + p.ID + `-same"`; !strings.Contains(content, want) ||
			!strings.Contains(content, strings.Replace(want, `id="`, `href="#`, 1)) {
			t.Errorf("the page does not contain %s with a link to it", want)
		}
	}
	_, shown := s.do(request("GET", "/sessions/"+session))
	for _, want := range []string{`Published <span class="count">123<`, `href="/artifacts/` + first.ID + `">notes.md`} {
		if !strings.Contains(shown, want) {
			t.Errorf("the page of the session does not contain %s", want)
		}
	}
}

// A page has the content of 200 outputs, and says how many more there are.
func TestExportLimit(t *testing.T) {
	s := newSite(t)
	o, err := s.ws.Sessions().Open(t.Context(), session.OpenOptions{Agent: handoff.SessionAgent{Name: "coder"},
		Workflow: handoff.SessionWorkflow{Name: "build"}})
	must(t, err)
	as := s.ws.As(workspace.Caller{Dir: s.ws.Root(), Producer: handoff.Producer{Session: o.ID}})
	const outputs = 203
	for i := range outputs {
		_, err := as.Publish(t.Context(), handoff.Draft{Body: strings.NewReader(fmt.Sprintf("body %d.", i)),
			Channel: "design"})
		must(t, err)
	}
	page := s.export(o.ID)
	if n := len(regexp.MustCompile(`body \d+\.`).FindAllString(page, -1)); n != 200 {
		t.Errorf("the page has the content of %d outputs, want 200", n)
	}
	if !strings.Contains(page, "Not on this page: 3 more outputs") {
		t.Error("the page does not say that 3 outputs are missing")
	}
}

// A link that needs a server leads to a note, also those to related sessions.
func TestExportRelated(t *testing.T) {
	s := newSite(t)
	page := s.export(s.open("bob", s.open("ann")))
	if !strings.Contains(page, "Related sessions") {
		t.Errorf("the page has no related sessions\n%s", page)
	}
	if bad := regexp.MustCompile(`(href|src)="/[^"]*`).FindString(page); bad != "" {
		t.Errorf("the page contains %s", bad)
	}
}
