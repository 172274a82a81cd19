package web_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/session"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/web"
)

// routes are the paths of every page and file, in a workspace with an artifact and
// a session.
func routes(id, session string) []string {
	return []string{
		"/", "/sessions", "/sessions/" + session, "/sessions/" + session + "/files/notes.md", "/files/" + session +
			"/notes.md", "/artifacts/" + id,
		"/bodies/" + id, "/channels", "/channels/design", "/search?q=plan", "/check", "/graph?focus=" +
			id, "/compare?ref=" + id, "/pipelines", "/pipelines/42", "/threads", "/files", "/why?of=notes.md",
		"/threads/codex/x", "/nothing", "/events",
	}
}

// furnished returns a viewer of a workspace with an artifact and a session.
func furnished(t *testing.T, change ...func(*web.Options)) (s *site, id, sess, folder string) {
	t.Helper()
	s = newSite(t, change...)
	id = s.publish(handoff.Draft{Body: strings.NewReader("the plan"), Channel: "design", Title: "Plan"}).ID
	o, err := s.ws.Sessions().Open(t.Context(),
		session.OpenOptions{Agent: handoff.SessionAgent{Name: "alex"},
			Workflow: handoff.SessionWorkflow{Name: "intake"}})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(o.Folder, "notes.md"), []byte("notes"), 0o644))
	return s, id, o.ID, o.Folder
}

// TestRejectedRequests sends what another program or a page of another site could.
func TestRejectedRequests(t *testing.T) {
	s, id, session, _ := furnished(t)
	for _, tt := range []struct {
		name   string
		change func(*http.Request)
		want   int
		code   string
	}{
		{"no token and no cookie", func(r *http.Request) { r.Header.Del("Authorization") }, 401, "link_required"},
		{"another token", func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }, 401, "link_required"},
		{"an empty token", func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") }, 401, "link_required"},
		{"another cookie", func(r *http.Request) {
			r.Header.Set("Authorization", "")
			r.AddCookie(&http.Cookie{Name: "handoff7420", Value: "x"})
		}, 401, "link_required"},
		{"another host", func(r *http.Request) { r.Host = "evil.example" }, 403, "origin_not_allowed"},
		{"another host with the port", func(r *http.Request) { r.Host = "evil.example:7420" }, 403, "origin_not_allowed"},
		{"a host that begins like ours", func(r *http.Request) { r.Host = "127.0.0.1.evil.example" }, 403,
			"origin_not_allowed"},
		{"no host", func(r *http.Request) { r.Host = "" }, 403, "origin_not_allowed"},
		{"another origin", func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, 403,
			"origin_not_allowed"},
		{"a sandboxed origin", func(r *http.Request) { r.Header.Set("Origin", "null") }, 403, "origin_not_allowed"},
		{"a picture of another site", func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Sec-Fetch-Mode", "no-cors")
		}, 403, "origin_not_allowed"},
		{"a frame of another server on this machine", func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "same-site")
			r.Header.Set("Sec-Fetch-Mode", "cors")
		}, 403, "origin_not_allowed"},
		{"POST", func(r *http.Request) { r.Method = "POST" }, 405, "method_not_allowed"},
		{"PUT", func(r *http.Request) { r.Method = "PUT" }, 405, "method_not_allowed"},
		{"DELETE", func(r *http.Request) { r.Method = "DELETE" }, 405, "method_not_allowed"},
		{"PATCH", func(r *http.Request) { r.Method = "PATCH" }, 405, "method_not_allowed"},
		{"OPTIONS", func(r *http.Request) { r.Method = "OPTIONS" }, 405, "method_not_allowed"},
		{"TRACE", func(r *http.Request) { r.Method = "TRACE" }, 405, "method_not_allowed"},
	} {
		for _, path := range routes(id, session) {
			r := request("GET", path)
			tt.change(r)
			answer, body := s.do(r)
			if answer.StatusCode != tt.want || answer.Header.Get("Handoff-Error") != tt.code {
				t.Errorf("%s, %s: got status %d, code %q; want %d, %q", tt.name, path, answer.StatusCode,
					answer.Header.Get("Handoff-Error"), tt.want, tt.code)
			}
			if tt.want == 405 && answer.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s, %s: got Allow %q, want GET, HEAD", tt.name, path, answer.Header.Get("Allow"))
			}
			if strings.Contains(body, "Plan") || strings.Contains(body, "notes") ||
				strings.Contains(body, filepath.Base(s.ws.Root())) {
				t.Errorf("%s, %s: the answer shows something of the workspace", tt.name, path)
			}
		}
	}
}

// TestLink checks that a link lets one browser in, once.
func TestLink(t *testing.T) {
	var next string
	s, id, _, _ := furnished(t, func(o *web.Options) { o.Linked = func(path string) { next = path } })
	link := s.server.Link()
	open := func(method, path string) *http.Response {
		r := request(method, path)
		r.Header.Del("Authorization")
		answer, _ := s.do(r)
		return answer
	}
	if answer := open("HEAD", link); answer.StatusCode != http.StatusSeeOther || len(answer.Cookies()) != 0 {
		t.Errorf("HEAD: got status %d, %d cookies; want 303, none", answer.StatusCode, len(answer.Cookies()))
	}
	answer := open("GET", link)
	if answer.StatusCode != http.StatusSeeOther || answer.Header.Get("Location") != "/" || len(answer.Cookies()) != 1 {
		t.Fatalf("GET: got status %d, location %q, %d cookies; want 303, /, 1", answer.StatusCode,
			answer.Header.Get("Location"), len(answer.Cookies()))
	}
	c := answer.Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode {
		t.Errorf("got cookie %v, want HttpOnly and SameSite", c)
	}
	r := request("GET", "/artifacts/"+id)
	r.Header.Del("Authorization")
	r.AddCookie(c)
	if answer, _ := s.do(r); answer.StatusCode != http.StatusOK {
		t.Errorf("with the cookie: got status %d, want 200", answer.StatusCode)
	}
	if answer := open("GET", link); answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("the link a second time: got status %d, want 401", answer.StatusCode)
	}
	if next == "" || next == link || open("GET", next).StatusCode != http.StatusSeeOther {
		t.Errorf("the next link %q does not work", next)
	}
	if answer := open("GET", "/open?key="); answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("an empty key: got status %d, want 401", answer.StatusCode)
	}
}

// TestWithoutToken checks that pages need nothing if the user wants that, and are
// still kept from other sites.
func TestWithoutToken(t *testing.T) {
	s, id, _, _ := furnished(t, func(o *web.Options) { o.Secret = nil })
	r := request("GET", "/artifacts/"+id)
	r.Header.Del("Authorization")
	if answer, _ := s.do(r); answer.StatusCode != http.StatusOK {
		t.Errorf("got status %d, want 200", answer.StatusCode)
	}
	r.Host = "evil.example"
	if answer, _ := s.do(r); answer.StatusCode != http.StatusForbidden {
		t.Errorf("another host: got status %d, want 403", answer.StatusCode)
	}
}

// TestPolicy checks the headers of every answer.
func TestPolicy(t *testing.T) {
	s, id, session, _ := furnished(t)
	for _, path := range append(routes(id, session), "/assets/app.css", "/assets/app.js") {
		answer, body := s.do(request("HEAD", path))
		policy := answer.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") ||
			answer.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: got policy %q, nosniff %q", path, policy, answer.Header.Get("X-Content-Type-Options"))
		}
		if answer.StatusCode >= 500 || body != "" {
			t.Errorf("%s: got status %d and %d bytes for HEAD", path, answer.StatusCode, len(body))
		}
	}
}

// TestPaths asks for what is outside the folders that the viewer shows.
func TestPaths(t *testing.T) {
	s, id, session, folder := furnished(t)
	root := s.ws.Root()
	must(t, os.WriteFile(filepath.Join(root, "secret.md"), []byte("SECRET"), 0o644))
	must(t, os.Mkdir(filepath.Join(folder, "sub"), 0o755))
	must(t, os.WriteFile(filepath.Join(folder, "sub", "manifest.json"), []byte(`{"a":"package"}`), 0o644))
	must(t, os.WriteFile(filepath.Join(folder, "a..b.md"), []byte("dots"), 0o644))
	for name, target := range map[string]string{
		"file-out": filepath.Join(root, "secret.md"), "relative-out": "../../../secret.md", "dir-out": root,
		"file-in": "notes.md", "dir-in": "sub", "loop": "loop", "dangling": "nothing",
	} {
		must(t, os.Symlink(target, filepath.Join(folder, name)))
	}
	server := httptest.NewServer(s.h)
	defer server.Close()
	get := func(path string) (int, string, string) {
		r, err := http.NewRequest("GET", server.URL, nil)
		must(t, err)
		r.URL.Opaque = "//" + r.URL.Host + path // as it is
		r.Host = "127.0.0.1:7420"
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			return http.StatusForbidden, "path_not_allowed", "" // not a request
		}
		defer answer.Body.Close()
		b, err := io.ReadAll(answer.Body)
		must(t, err)
		return answer.StatusCode, answer.Header.Get("Handoff-Error"), string(b)
	}
	const forbidden = "403 path_not_allowed"
	long := strings.Repeat("n", 300)
	for path, want := range map[string]string{
		"notes.md": "200 ", "a..b.md": "200 ", "sub/manifest.json": "200 ",
		"/etc/passwd": forbidden, "%2fetc%2fpasswd": forbidden, "%2Fetc%2Fpasswd": forbidden, "..": forbidden,
		"../../../secret.md": forbidden, "%2e%2e/%2e%2e/%2e%2e/secret.md": forbidden,
		"sub/../../../../secret.md": forbidden, "..%2f..%2f..%2fsecret.md": forbidden, `..\..\..\secret.md`: forbidden,
		"..%5c..%5csecret.md": forbidden, "notes.md%00": forbidden,
		"notes.md%00.png": forbidden, "./notes.md": forbidden, "sub//manifest.json": forbidden, long: forbidden,
		"file-out": forbidden, "relative-out": forbidden, "file-in": forbidden, "dir-out/secret.md": forbidden,
		"dir-out/made-up": forbidden, "dir-in/manifest.json": forbidden,
		"loop": forbidden, "loop/x": forbidden, "dangling": forbidden, "sub": forbidden, "manifest.json": forbidden,
		".handoff-1234": forbidden,
		"NOTES.md":      "404 not_found", "missing.md": "404 not_found", "%252e%252e/secret.md": "404 not_found",
	} {
		for _, route := range []string{"/sessions/" + session + "/files/", "/files/" + session + "/"} {
			status, code, body := get(route + path)
			if got := fmt.Sprint(status, " ", code); got != want {
				t.Errorf("%s%s: got %s, want %s", route, path, got, want)
			}
			if strings.Contains(body, "SECRET") {
				t.Errorf("%s%s: shows a file outside the session", route, path)
			}
		}
	}
	for _, route := range []string{"/artifacts/", "/bodies/", "/sessions/", "/channels/", "/pipelines/", "/threads/",
		"/assets/", "/"} {
		for _, path := range []string{"../secret.md", "%2e%2e/secret.md", "..%2fsecret.md", `..\secret.md`, "..%5csecret.md",
			"x%00", "/etc/passwd", "%2fetc%2fpasswd", id + "/../../secret.md"} {
			if status, code, _ := get(route + path); status != http.StatusForbidden || code != "path_not_allowed" {
				t.Errorf("%s%s: got %d %s, want %s", route, path, status, code, forbidden)
			}
		}
	}
	for _, path := range []string{"/artifacts/secret.md", "/bodies/secret.md", "/artifacts/.handoff/config.yaml",
		"/assets/../web.go", "/assets/templates/layout.html"} {
		if status, _, body := get(path); status < 400 || status >= 500 || strings.Contains(body, "SECRET") {
			t.Errorf("%s: got status %d", path, status)
		}
	}
}

// TestFolderOutsideOutputs checks that a session whose record names another folder
// of the workspace does not open it.
func TestFolderOutsideOutputs(t *testing.T) {
	s, _, _, _ := furnished(t)
	must(t, os.MkdirAll(filepath.Join(s.ws.Root(), "private"), 0o755))
	must(t, os.WriteFile(filepath.Join(s.ws.Root(), "private", "key.md"), []byte("SECRET"), 0o644))
	for i, folder := range []string{"private", "docs", "docs/agent-outputs", "docs/agent-outputs-evil"} {
		session := fmt.Sprintf("a3f2c9d1-4b5e-4789-81ab-cdef1234567%d", i)
		_, _, err := s.ws.Hub().Record(t.Context(),
			&handoff.SessionOpened{SessionID: session, Agent: handoff.SessionAgent{Name: "x"},
				Workflow: handoff.SessionWorkflow{Name: "x"}, Folder: folder})
		must(t, err)
		if page := s.get("/sessions/" + session); strings.Contains(page, "key.md") {
			t.Errorf("%s: the page lists the files", folder)
		}
		if answer, body := s.do(request("GET", "/files/"+session+"/key.md")); answer.StatusCode != http.StatusForbidden ||
			strings.Contains(body, "SECRET") {
			t.Errorf("%s: got status %d, want 403", folder, answer.StatusCode)
		}
	}
}

// hostileTexts are titles, names and contents that try to be more than text.
var hostileTexts = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `'onmouseover='alert(1)`, `javascript:alert(1)`,
	`{{.}}{{template "layout.html"}}`, `</title><script>alert(1)</script>`,
	`[x](javascript:alert(1))`, `<svg onload=alert(1)>`, `data:text/html,<script>alert(1)</script>`, "\x1b[31mred\x1b[0m",
	"left \u202e right", "=cmd|' /C calc'!A0", "a\u2028b", "`${alert(1)}`",
}

var executable = regexp.MustCompile(
	`(?i)<script[^>]*>[^<]|<[a-z][^>]*\son[a-z]+=|<(svg|iframe|object|embed|base|meta http)[^>]*(onload|src=["']?(data|javascript))|(href|src|action)=["']?\s*(javascript|data|vbscript):|\sstyle=`)

// titles are the values of attributes that are text in any case.
var titles = regexp.MustCompile(` title="[^"<>]*"`)

// TestHostileTexts publishes texts that must stay texts, and looks at each page
// that shows them.
func TestHostileTexts(t *testing.T) {
	s := newSite(t)
	var paths []string
	for _, text := range hostileTexts {
		title := strings.Map(func(c rune) rune {
			if c < ' ' {
				return -1
			}
			return c
		}, text)
		done, err := s.ws.Publish(t.Context(),
			handoff.Draft{Body: strings.NewReader(text), Channel: "design", Title: title, Summary: title,
				Metadata: map[string]any{title: title}})
		if err != nil {
			done = s.publish(handoff.Draft{Body: strings.NewReader(text), Channel: "design"})
		}
		paths = append(paths, "/artifacts/"+done.ID, "/compare?ref="+done.ID)
		name := strings.NewReplacer("/", "_", "\x1b", "_").Replace(text)
		o, err := s.ws.Sessions().Open(t.Context(),
			session.OpenOptions{Agent: handoff.SessionAgent{Name: title, Title: title},
				Workflow: handoff.SessionWorkflow{Name: title, Description: title},
				User:     title, Inputs: map[string]any{title: title}, Expected: []string{title}})
		if err != nil {
			continue // it is not accepted
		}
		must(t, os.WriteFile(filepath.Join(o.Folder, name+".html"), []byte(text), 0o644))
		paths = append(paths, "/sessions/"+o.ID)
	}
	paths = append(paths, "/", "/sessions", "/channels", "/channels/design", "/search?q=alert", "/check",
		"/search?q=%3Cscript%3Ealert(1)%3C/script%3E", "/sessions?agent=%22%3E%3Cscript%3Ealert(1)%3C/script%3E", "/compare?ref=%22%3E%3Cscript%3Ealert(1)%3C/script%3E",
		"/<script>alert(1)<")
	for _, path := range paths {
		s.harmless(path)
	}
}

// harmless reports what a page contains that is executed or is a control character.
func (s *site) harmless(path string) {
	s.t.Helper()
	answer, body := s.do(request("GET", path))
	if answer.StatusCode >= 500 {
		s.t.Errorf("%s: got status %d", path, answer.StatusCode)
	}
	for _, found := range executable.FindAllString(titles.ReplaceAllString(body, ""), -1) {
		s.t.Errorf("%s: the page contains %q", path, found)
	}
	if strings.ContainsAny(body, "\x1b\u202e") {
		s.t.Errorf("%s: the page contains a control character", path)
	}
}

// TestHostileBodies shows hostile texts as every form of content.
func TestHostileBodies(t *testing.T) {
	s := newSite(t)
	long := os.Getenv("HANDOFF_LONG") != ""
	for i, text := range hostileTexts {
		line := strings.ReplaceAll(text, "\n", " ")
		quoted := `"` + strings.ReplaceAll(line, `"`, `""`) + `"`
		encoded, err := handoff.EncodeJSON(map[string]any{text: []any{text, 1}})
		must(t, err)
		for name, body := range map[string]string{
			"a.md": "# " + line + "\n\n" + text + "\n\n- [ ] " + line + "\n\n[" + line + "](" + line + ") ![" + line + "](" +
				line + ")\n\n| " + line + " |\n|---|\n| " + line + " |\n",
			"b.md": "```mermaid\ngraph TD; A[\"" + line + "\"]-->B;\nclick A href \"" + line + "\"\n```\n\n```" + line +
				"\n" + line + "\n```\n",
			"a.csv":  quoted + ",=1+1\n" + quoted + ",@SUM(A1)\n+1,-1\n",
			"a.json": string(encoded),
			"a.diff": "diff --git a/" + line + " b/" + line + "\n--- a/x\n+++ b/x\n@@ -1 +1 @@ " + line + "\n-" + line +
				"\n+" + line + "\ndiff --git a/b b/b\n--- a/b\n+++ b/" + line + "\n@@ -1 +1 @@\n-" + line + "\n",
			"a.log":    "\x1b[31m" + text + "\x1b[0m\x1b]8;;" + line + "\x07link\x1b]8;;\x07\n\x1b[2J\x1b]0;" + line + "\x07\n",
			"a.svg":    `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>` + text + `</script></svg>`,
			"a.html":   "<!doctype html><title>" + text + "</title><script>" + text + "</script>",
			"a.go":     "package main // " + line + "\n",
			"none.txt": text,
		} {
			id := s.publish(handoff.Draft{Body: strings.NewReader(body), Filename: name, Channel: "design"}).ID
			s.harmless("/artifacts/" + id)
			if (i+len(name))%3 > 0 && !long {
				continue // the other views of a third
			}
			s.harmless("/artifacts/" + id + "?plain")
			s.harmless("/artifacts/" + id + "?view=split&lines=" + url.QueryEscape(text))
		}
	}
}

// TestHostileManifests shows session folders with hostile manifests: before and
// after they are adopted.
func TestHostileManifests(t *testing.T) {
	s, _, _, folder := furnished(t)
	var paths []string
	for i, text := range hostileTexts {
		id := fmt.Sprintf("b3f2c9d1-4b5e-4789-81ab-%012d", i)
		dir := filepath.Join(filepath.Dir(folder), id)
		must(t, os.Mkdir(dir, 0o755))
		b, err := handoff.EncodeJSON(map[string]any{
			"version": "1.0.0", "session_id": id, "agent": map[string]any{
				"name": text, "title": text}, "workflow": map[string]any{"name": text, "description": text},
			"execution": map[string]any{"started_at": "2026-10-05T14:30:00Z", "status": "completed", "user": text},
			"inputs":    map[string]any{text: text},
			"outputs": []any{map[string]any{"file": text, "type": "document", "description": text,
				"created_at": "2026-10-05T14:30:00Z"}}, "related_sessions": []any{text}, "metadata": map[string]any{text: text}})
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, "manifest.json"), b, 0o644))
		paths = append(paths, "/sessions/"+id, "/sessions/"+id+"/files/manifest.json")
	}
	s.eventually("/sessions", "b3f2c9d1-4b5e-4789-81ab-")
	s.harmless("/sessions")
	done, err := s.ws.Sessions().Adopt(t.Context(), filepath.Dir(folder), session.AdoptOptions{Lenient: true})
	must(t, err)
	adopted := 0
	for _, one := range done.Sessions {
		if one.Status == session.Adopted {
			adopted++
		}
	}
	if adopted == 0 {
		t.Fatalf("no session is adopted: %+v", done)
	}
	for _, path := range append(paths, "/", "/sessions", "/search?q=alert", "/channels") {
		s.harmless(path)
	}
}

// TestNeverServedAsPage checks that a browser never treats what was published as a
// page or a picture with scripts.
func TestNeverServedAsPage(t *testing.T) {
	s := newSite(t)
	for name, text := range map[string]string{
		"page.html":   "<!doctype html><script>alert(1)</script>",
		"picture.svg": `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`,
		"page.xhtml":  `<html xmlns="http://www.w3.org/1999/xhtml"><script>alert(1)</script></html>`, "script.js": "alert(1)",
		"fake.png": "GIF89a/*<svg/onload=alert(1)>*/=alert(1)//",
	} {
		done := s.publish(handoff.Draft{Body: strings.NewReader(text), Filename: name, Channel: "design"})
		for _, query := range []string{"", "?image", "?image=1"} {
			answer, body := s.do(request("GET", "/bodies/"+done.ID+query))
			kind := answer.Header.Get("Content-Type")
			if kind != "application/octet-stream" && kind != "image/gif" ||
				answer.Header.Get("X-Content-Type-Options") != "nosniff" ||
				!strings.HasPrefix(answer.Header.Get("Content-Security-Policy"), "sandbox") {
				t.Errorf("%s%s: got headers %v", name, query, answer.Header)
			}
			if body != text {
				t.Errorf("%s%s: got %q, want the content unchanged", name, query, body)
			}
		}
	}
}

// TestDamage looks at pages about data that is not as it should be.
func TestDamage(t *testing.T) {
	s, id, session, folder := furnished(t)
	must(t, os.WriteFile(filepath.Join(s.ws.Root(), "plan.md"), []byte("a plan"), 0o644))
	gone := s.publish(handoff.Draft{Path: filepath.Join(s.ws.Root(), "plan.md"), Channel: "design",
		Keep: handoff.KeepNever}).ID
	must(t, os.Remove(filepath.Join(s.ws.Root(), "plan.md")))
	must(t, os.WriteFile(filepath.Join(folder, "manifest.json"), []byte(`{"version": "1.0`), 0o644))
	stray := "b3f2c9d1-4b5e-4789-81ab-cdef12345678"
	must(t, os.Mkdir(filepath.Join(filepath.Dir(folder), stray), 0o755))
	must(t, os.WriteFile(filepath.Join(s.ws.Store().Runtime(), "log", "stranger"), []byte("x"), 0o644))
	if page := s.get("/artifacts/" + gone); !strings.Contains(page, "no copy was kept") &&
		!strings.Contains(page, "gone") {
		t.Errorf("the page of a deleted file does not say so\n%s", page)
	}
	for !strings.Contains(s.get("/sessions"), stray) { // folders are read meanwhile
		time.Sleep(10 * time.Millisecond)
	}
	for _, path := range routes(id, session) {
		if path == "/events" {
			continue
		}
		if answer, body := s.do(request("GET", path)); answer.StatusCode >= 500 {
			t.Errorf("%s: got status %d\n%s", path, answer.StatusCode, body)
		}
	}
}

// TestLinksOfFiles checks that the page of a session links to no file that it refuses
// to show.
func TestLinksOfFiles(t *testing.T) {
	s, _, session, folder := furnished(t)
	must(t, os.WriteFile(filepath.Join(folder, `left\right.md`), []byte("x"), 0o644))
	must(t, os.WriteFile(filepath.Join(folder, "plain.md"), []byte("x"), 0o644))
	body := s.get("/sessions/" + session)
	if !strings.Contains(body, `left\right.md`) || strings.Contains(body, "%5Cright") {
		t.Errorf("the file with a backslash is missing or a link")
	}
	if !strings.Contains(body, "/files/plain.md") {
		t.Errorf("the other file is no link")
	}
}

// TestMethods sends every method but GET and HEAD to every page: none is answered, and the log
// is as before.
func TestMethods(t *testing.T) {
	s := newSite(t)
	a := s.publish(handoff.Draft{Body: strings.NewReader("hello"), Channel: "design", Title: "A plan", AskReview: true})
	before, err := s.ws.Store().Position(t.Context(), "now")
	must(t, err)
	paths := []string{"/", "/open", "/events", "/diagram", "/assets/app.css", "/cost.csv", "/bodies/" + a.ID, "/files/x/y",
		"/none", "/review", "/artifacts/" + a.ID + "?at=L1"}
	for _, pattern := range web.Patterns() {
		paths = append(paths, regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(pattern, a.ID))
	}
	for _, path := range paths {
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "QUERY"} {
			r, body := s.do(request(method, path))
			if r.StatusCode != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: got %d\n%s", method, path, r.StatusCode, body)
			}
		}
		if path == "/events" {
			continue
		}
		if _, page := s.do(request("GET", path)); strings.Contains(page, `method="post"`) {
			t.Errorf("%s has a form that writes\n%s", path, page)
		}
	}
	if after, err := s.ws.Store().Position(t.Context(), "now"); err != nil || after != before {
		t.Errorf("the log has grown from %d to %d, %v", before, after, err)
	}
}
