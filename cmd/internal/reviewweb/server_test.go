package reviewweb_test

import (
	"crypto/rand"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/access"
	"github.com/agent-handoff/handoff/cmd/internal/reviewweb"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/workspace"
)

const origin = "http://127.0.0.1:7431"

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A site is a server of a new workspace, and the browser that was admitted.
type site struct {
	t      *testing.T
	ws     *workspace.Workspace
	h      http.Handler
	cookie *http.Cookie
	token  string
}

func newSite(t *testing.T) *site {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "the-workspace")
	must(t, os.MkdirAll(filepath.Join(dir, ".git"), 0o755))
	ws, err := workspace.Open(dir, workspace.Options{})
	must(t, err)
	t.Cleanup(func() { ws.Close() })
	server, err := reviewweb.New(reviewweb.Options{Workspace: ws, Now: time.Now, Secret: rand.Text, User: "sam",
		Threads: thread.NewSet(nil, func(string) string { return "" }, ""), Via: handoff.ViaTerminal,
		Hosts: access.NewHosts("127.0.0.1:0", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7431})})
	must(t, err)
	s := &site{t: t, ws: ws, h: server.Handler()}
	if r, body := s.do("GET", "/", nil); r.StatusCode != http.StatusUnauthorized || strings.Contains(body, "sam") {
		t.Fatalf("without the link: got %d\n%s", r.StatusCode, body)
	}
	link := server.Link()
	r, _ := s.do("GET", link, nil)
	if r.StatusCode != http.StatusSeeOther || len(r.Cookies()) != 1 {
		t.Fatalf("the link: got %d and %d cookies", r.StatusCode, len(r.Cookies()))
	}
	s.cookie = r.Cookies()[0]
	if r, _ := s.do("GET", link, nil); r.StatusCode != http.StatusUnauthorized {
		t.Errorf("the link works a second time: %d", r.StatusCode)
	}
	return s
}

// do answers a request. Each of change is applied to it.
func (s *site) do(method, path string, form url.Values, change ...func(*http.Request)) (*http.Response, string) {
	s.t.Helper()
	r := httptest.NewRequest(method, origin+path, strings.NewReader(form.Encode()))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", origin)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if s.cookie != nil {
		r.AddCookie(s.cookie)
	}
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	s.h.ServeHTTP(w, r)
	return w.Result(), w.Body.String()
}

func (s *site) publish(d handoff.Draft) handoff.Artifact {
	s.t.Helper()
	w := s.ws.As(workspace.Caller{Dir: s.ws.Root(), Producer: handoff.Producer{Agent: "builder", Source: handoff.FromFlag,
		Thread: "agents://claude/2823d1df-720a-4c31-ac55-ae8ba7260001"}})
	p, err := w.Publish(s.t.Context(), d)
	must(s.t, err)
	return p.Artifact
}

// page returns the page of an artifact, and keeps the token of its forms.
func (s *site) page(path string) string {
	s.t.Helper()
	r, body := s.do("GET", path, nil)
	if r.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: got %d\n%s", path, r.StatusCode, body)
	}
	_, after, _ := strings.Cut(body, `name="token" value="`)
	s.token, _, _ = strings.Cut(after, `"`)
	return body
}

// send sends a form with the token.
func (s *site) send(id string, fields ...string) (*http.Response, string) {
	s.t.Helper()
	form := url.Values{"token": {s.token}}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return s.do("POST", "/artifacts/"+id, form)
}

func (s *site) has(page string, want ...string) {
	s.t.Helper()
	for _, text := range want {
		if !strings.Contains(page, text) {
			s.t.Errorf("the page does not contain %s\n%s", text, page)
		}
	}
}

const poem = "one\ntwo\nthree\nfour\n"

// TestReview reviews an artifact as a browser without scripts does: from the list to an
// approval of the second revision.
func TestReview(t *testing.T) {
	s := newSite(t)
	a := s.publish(handoff.Draft{Body: strings.NewReader(poem), Channel: "design", Title: "A poem", AskReview: true})
	s.has(s.page("/"), `href="/artifacts/`+a.ID+`"`, "builder waits")
	path := "/artifacts/" + a.ID
	s.has(s.page(path), `id="L4"`, `href="?at=L2#form"`, "Comment on line 2", "as sam, not authenticated",
		"builder waits for a review")
	s.has(s.page(path+"?at=L2-L3"), `name="lines" value="2-3"`)
	r, body := s.send(a.ID, "action", "comment", "lines", "2-3", "text", "Which two?")
	if r.StatusCode != http.StatusSeeOther {
		t.Fatalf("a comment: got %d\n%s", r.StatusCode, body)
	}
	page := s.page(path)
	s.has(page, "Which two?", "1 open comment.", "lines 2-3")
	at := strings.Index(page, "Which two?")
	if at < strings.Index(page, `id="L3"`) || at > strings.Index(page, `id="L4"`) {
		t.Errorf("the comment is not below line 3\n%s", page)
	}
	shown, err := s.ws.Show(t.Context(), a.ID, false)
	must(t, err)
	comment := shown.Discussion[0].ID
	for _, form := range [][]string{{"action", "reply", "text", "The second."}, {"action", "resolve"},
		{"action", "reopen"}} {
		if r, body := s.send(a.ID, append(form, "comment", comment)...); r.StatusCode != http.StatusSeeOther {
			t.Errorf("%s: got %d\n%s", form, r.StatusCode, body)
		}
	}
	r, body = s.send(a.ID, "action", "comment", "quote", "one", "text", "Or two?")
	if r.StatusCode != http.StatusSeeOther {
		t.Errorf("a comment on a quote: got %d\n%s", r.StatusCode, body)
	}
	if r, body := s.send(a.ID, "action", "changes", "text", "Say which."); r.StatusCode != http.StatusSeeOther {
		t.Errorf("request changes: got %d\n%s", r.StatusCode, body)
	}
	s.has(s.page(path), "The second.", "changes requested by sam", "Or two?")
	changed := strings.Replace(poem, "two", "two too", 1)
	b := s.publish(handoff.Draft{Body: strings.NewReader(changed), Channel: "design", Title: "A poem",
		Replaces: []string{a.ID}})
	page = s.page("/artifacts/" + b.ID)
	s.has(page, "Since v1", `class="src add" id="L2"`, "two<mark> too</mark>", "outdated")
	if !strings.Contains(page, `aria-current="true">Since v1`) {
		t.Errorf("the page does not show what changed since v1\n%s", page)
	}
	if r, body := s.send(b.ID, "action", "comment", "lines", "2", "text", "Good.", "view", "diff="+a.ID); r.StatusCode !=
		http.StatusSeeOther || !strings.HasPrefix(r.Header.Get("Location"), "/artifacts/"+b.ID+"?diff="+a.ID+"#cmt_") {
		t.Errorf("a comment on a changed line: got %d to %s\n%s", r.StatusCode, r.Header.Get("Location"), body)
	}
	if r, body := s.send(b.ID, "action", "approve"); r.StatusCode != http.StatusSeeOther {
		t.Errorf("approve: got %d\n%s", r.StatusCode, body)
	}
	approved, err := s.ws.Hub().Artifact(t.Context(), b.ID)
	must(t, err)
	if len(approved.Reviews) != 1 || approved.Reviews[0].Decision != handoff.Approved ||
		approved.Reviews[0].By.Relation != handoff.RelationHuman {
		t.Errorf("got the reviews %+v, want an approval by a person", approved.Reviews)
	}
	if page := s.page("/"); strings.Contains(page, "builder waits") {
		t.Errorf("it still waits\n%s", page)
	}
	s.has(s.page("/artifacts/"+b.ID+"/context"), "Where it comes from")
	s.has(s.page("/artifacts/"+b.ID+"?rendered"), `id="rendered"`)
}

// TestReviewFiles shows a patch with a fold for each file. The lines have the numbers of the patch,
// and a comment is below the line where it ends.
func TestReviewFiles(t *testing.T) {
	s := newSite(t)
	a := s.publish(handoff.Draft{Body: strings.NewReader("--- a.go\n+++ a.go\n@@ -1 +1,2 @@\n-x\n+y\n+z\n--- b\n+++ b\n" +
		"@@ -7 +8 @@\n-u\n+v\n"), Filename: "fix.patch", Channel: "patch"})
	s.page("/artifacts/" + a.ID) // has the token of the form
	if r, body := s.send(a.ID, "action", "comment", "lines", "5", "text", "Why y?"); r.StatusCode != http.StatusSeeOther {
		t.Fatalf("a comment: got %d\n%s", r.StatusCode, body)
	}
	page := s.page("/artifacts/" + a.ID)
	s.has(page, `<summary><code>a.go</code> <span class="added">+2</span> <span class="removed">−1</span></summary>`,
		`<span class="count">&#43;3 −2</span>`, `data-language="go"`, "/assets/vendor/highlight.min.js")
	for _, place := range [][2]string{{`id="L5"`, "Why y?"}, {"Why y?", `id="L6"`}, {`id="L6"`, "<code>b</code>"},
		{"<code>b</code>", `id="L7"`}} {
		if first, then := strings.Index(page, place[0]), strings.Index(page, place[1]); first < 0 || then < first {
			t.Errorf("%s is not before %s\n%s", place[0], place[1], page)
		}
	}
	split := s.page("/artifacts/" + a.ID + "?view=split&at=L4-L5")
	s.has(split, `<ol class="lines diff split" aria-label="Lines" data-language="go">`,
		`<li class="pair"><div class="src del at" id="L4" data-old="1" data-row><a class="plus" href="?at=L4&amp;view=split#form"`,
		`<div class="src add at" id="L5" data-new="1" data-row>`, `name="view" value="view=split"`, "2 files")
	said, form, next := strings.Index(split, "Why y?"), strings.Index(split, `id="form"`), strings.Index(split, `id="L6"`)
	if first := strings.Index(split, `id="L5"`); first > said || said > form || form > next {
		t.Errorf("the comment and the form are not between the lines 5 and 6\n%s", split)
	}
	text := s.publish(handoff.Draft{Body: strings.NewReader(poem), Channel: "design"})
	page = s.page("/artifacts/" + text.ID)
	if strings.Contains(page, "<details") || strings.Contains(page, "highlight.min.js") {
		t.Errorf("a text has a fold, or a script for code\n%s", page)
	}
}

// TestReviewSplit keeps the view of changes on the way from the list to an item, to a comment on a changed line, and
// to the next item. Without the address of the view it is the unified one.
func TestReviewSplit(t *testing.T) {
	s := newSite(t)
	put := func(text string, replaces ...string) handoff.Artifact {
		return s.publish(handoff.Draft{Body: strings.NewReader(text), Filename: "poem.go", Channel: "design", AskReview: true,
			Replaces: replaces})
	}
	a := put(poem)
	s.page("/artifacts/" + a.ID)
	s.send(a.ID, "action", "changes", "text", "Say which.")
	b, c := put(strings.Replace(poem, "two", "two too", 1), a.ID), put("other\n")
	path := "/artifacts/" + b.ID
	unified := s.page(path)
	s.has(unified, `<ol class="lines diff" aria-label="Lines" data-language="go" data-before="/bodies/`+a.ID+
		`" data-after="/bodies/`+b.ID+`">`, `href="?diff=`+a.ID+`&amp;view=split">Split</a>`)
	s.has(s.page("/?view=split"), `href="`+path+`?view=split"`)
	split := s.page(path + "?view=split")
	s.has(split, `<ol class="lines diff split"`, `href="/?view=split">Review</a>`, `?at=L2&amp;diff=`+a.ID+`&amp;view=split#form"`,
		`<a rel="next" href="/artifacts/`+c.ID+`?view=split">`, `href="?diff=`+a.ID+`">Unified</a>`,
		`href="?diff&amp;view=split">Source</a>`, `href="?rendered&amp;view=split">Rendered</a>`,
		`name="view" value="diff=`+a.ID+`&amp;view=split"`, `class="src add" id="L2"`, `two<mark> too</mark>`)
	if strings.Count(split, `id="L1"`) != 1 || strings.Contains(split, `id="L2" data-old`) {
		t.Errorf("a line that did not change has its ID on both sides, or a removed one has one\n%s", split)
	}
	r, body := s.send(b.ID, "action", "comment", "lines", "2", "text", "Good.", "view", "diff="+a.ID+"&view=split")
	if to := r.Header.Get("Location"); !strings.HasPrefix(to, path+"?diff="+a.ID+"&view=split#cmt_") {
		t.Errorf("a comment: got %d to %s\n%s", r.StatusCode, to, body)
	}
	_, refused := s.send(b.ID, "action", "comment", "lines", "99", "text", "Where?", "view", "diff="+a.ID+"&view=split")
	s.has(refused, `<ol class="lines diff split"`, "Where?")
	if r, text := s.do("GET", "/bodies/"+b.ID, nil); !strings.Contains(text, "two too\n") ||
		r.Header.Get("Content-Type") != "text/plain; charset=utf-8" || r.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("the text that colors are of: got %s\n%s", r.Header.Get("Content-Type"), text)
	}
	if r, _ := s.do("GET", "/bodies/"+b.ID, nil, func(r *http.Request) { r.Header.Del("Cookie") }); r.StatusCode !=
		http.StatusUnauthorized {
		t.Errorf("the text without the cookie: got %d", r.StatusCode)
	}
	if r, _ := s.do("GET", "/bodies/x", nil); r.StatusCode != http.StatusNotFound {
		t.Errorf("the text of an unknown artifact: got %d", r.StatusCode)
	}
}

// TestRefusedText checks that what can't be recorded is shown again with its text, and that
// nothing is recorded.
func TestRefusedText(t *testing.T) {
	s := newSite(t)
	a := s.publish(handoff.Draft{Body: strings.NewReader(poem), Channel: "design", AskReview: true})
	s.page("/artifacts/" + a.ID)
	for _, c := range []struct {
		status int
		want   string
		form   []string
	}{
		{400, "secret", []string{"action", "comment", "lines", "2", "text", "AWS key AKIAIOSFODNN7EXAMPLQ is here"}},
		{400, "should change", []string{"action", "changes"}},
		{404, "has 4 lines", []string{"action", "comment", "lines", "9", "text", "Where is this?"}},
		{404, "quote", []string{"action", "comment", "quote", "nowhere", "text", "Where is this?"}},
		{404, "Where is this?", []string{"action", "reply", "comment", "cmt_AAAAAAAA", "text", "Where is this?"}},
		{400, "no known action", []string{"action", "delete"}},
		{400, "too large", []string{"action", "comment", "text", strings.Repeat("x", 300<<10)}},
	} {
		r, body := s.send(a.ID, c.form...)
		if r.StatusCode != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%.60q: got %d, want %d with %q\n%s", c.form, r.StatusCode, c.status, c.want, body)
		}
		if !strings.Contains(body, "data-refused") {
			t.Errorf("%.60q: the page does not keep the draft of the browser\n%s", c.form, body)
		}
	}
	if got, err := s.ws.Hub().Artifact(t.Context(), a.ID); err != nil || len(got.Comments)+len(got.Reviews) > 0 {
		t.Errorf("got %d comments and %d reviews, %v", len(got.Comments), len(got.Reviews), err)
	}
}

// TestOtherOrigins sends what pages of other origins, other programs and names that were made
// to lead here could send. Nothing is recorded.
func TestOtherOrigins(t *testing.T) {
	s := newSite(t)
	a := s.publish(handoff.Draft{Body: strings.NewReader(poem), Channel: "design", AskReview: true})
	s.page("/artifacts/" + a.ID)
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	token := func(value string) url.Values {
		return url.Values{"token": {value}, "action": {"approve"}}
	}
	at, _ := s.ws.Store().Position(t.Context(), "now")
	for name, c := range map[string]struct {
		form   url.Values
		change func(*http.Request)
	}{
		"another origin":      {token(s.token), header("Origin", "http://evil.example")},
		"another port":        {token(s.token), header("Origin", "http://127.0.0.1:7432")},
		"an opaque origin":    {token(s.token), header("Origin", "null")},
		"no origin":           {token(s.token), func(r *http.Request) { r.Header.Del("Origin") }},
		"another site":        {token(s.token), header("Sec-Fetch-Site", "cross-site")},
		"another server here": {token(s.token), header("Sec-Fetch-Site", "same-site")},
		"a name that leads here": {token(s.token), func(r *http.Request) {
			host("evil.example:7431")(r)
			r.Header.Set("Origin", "http://evil.example:7431")
		}},
		"no cookie":     {token(s.token), func(r *http.Request) { r.Header.Del("Cookie") }},
		"no token":      {token(""), func(*http.Request) {}},
		"another token": {token("x" + s.token), func(*http.Request) {}},
		"a large form":  {url.Values{"token": {s.token}, "text": {strings.Repeat("x", 1<<20)}}, func(*http.Request) {}},
	} {
		r, body := s.do("POST", "/artifacts/"+a.ID, c.form, c.change)
		if r.StatusCode < 400 || strings.Contains(body, "builder") || strings.Contains(body, s.token) {
			t.Errorf("%s: got %d\n%s", name, r.StatusCode, body)
		}
	}
	for _, method := range []string{"PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "POST"} {
		for _, path := range []string{"/", "/open", "/assets/app.css", "/artifacts/" + a.ID + "/context",
			"/bodies/" + a.ID, "/artifacts/" + a.ID} {
			if method == "POST" && path == "/artifacts/"+a.ID {
				continue
			}
			if r, body := s.do(method, path, url.Values{"token": {s.token}}); r.StatusCode < 400 {
				t.Errorf("%s %s: got %d\n%s", method, path, r.StatusCode, body)
			}
		}
	}
	if now, err := s.ws.Store().Position(t.Context(), "now"); err != nil || now != at {
		t.Errorf("the log has grown from %d to %d, %v", at, now, err)
	}
}

var fields = regexp.MustCompile(`(?s)<textarea.*?</textarea>`)

// TestTexts checks that texts of others are not part of the page's HTML.
func TestTexts(t *testing.T) {
	s := newSite(t)
	const text = `</textarea></code><script>alert(1)</script><img src=x onerror=alert(1)>"'` + "\u202e"
	a := s.publish(handoff.Draft{Body: strings.NewReader(text + "\n"), Channel: "design", Title: text, Summary: text,
		AskReview: true})
	s.page("/artifacts/" + a.ID)
	if r, body := s.send(a.ID, "action", "comment", "lines", "1", "text", text); r.StatusCode != http.StatusSeeOther {
		t.Fatalf("got %d\n%s", r.StatusCode, body)
	}
	_, refused := s.send(a.ID, "action", "reply", "comment", "cmt_AAAAAAAA", "text", text)
	for _, page := range []string{s.page("/"), s.page("/artifacts/" + a.ID + "?at=L1&quote=" + url.QueryEscape(text)),
		s.page("/artifacts/" + a.ID + "?view=split&diff=" + url.QueryEscape(text)),
		s.page("/artifacts/" + a.ID + "?rendered"), s.page("/artifacts/" + a.ID + "/context"), refused} {
		page = fields.ReplaceAllString(page, "") // which have what was written, as it is
		for _, part := range []string{"<script>alert", "<img src=x", "\u202e"} {
			if strings.Contains(page, part) {
				t.Errorf("the page contains %q\n%s", part, page)
			}
		}
	}
}
