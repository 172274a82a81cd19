package web_test

import (
	"context"
	"crypto/rand"
	"html"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/workspace/sessions"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/access"
	"github.com/agent-handoff/handoff/cmd/internal/preview"
	"github.com/agent-handoff/handoff/cmd/internal/web"
	"github.com/agent-handoff/handoff/internal/tool/testdir"
	"github.com/agent-handoff/handoff/workspace"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // the tests lack time, not memory
	os.Exit(testdir.Run(m.Run))
}

const token = "a-token-for-tests-only"

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A site is a viewer of a new workspace.
type site struct {
	t      testing.TB
	ws     *workspace.Workspace
	o      web.Options
	server *web.Server
	h      http.Handler
	before func() // before each request that is measured
}

func newSite(t testing.TB, change ...func(*web.Options)) *site {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "the-workspace")
	must(t, os.MkdirAll(filepath.Join(dir, ".git"), 0o755))
	return siteIn(t, dir, change...)
}

func siteIn(t testing.TB, dir string, change ...func(*web.Options)) *site {
	t.Helper()
	ws, err := workspace.Open(dir, workspace.Options{})
	must(t, err)
	t.Cleanup(func() { ws.Close() })
	o := web.Options{Now: time.Now, Token: token, Secret: rand.Text,
		Hosts: access.NewHosts("127.0.0.1:7420", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7420})}
	for _, c := range change {
		c(&o)
	}
	o.Source = web.NewSource(ws, o.Source.Threads)
	server, err := web.New(o)
	must(t, err)
	t.Cleanup(server.Close)
	return &site{t: t, ws: ws, o: o, server: server, h: server.Handler()}
}

// request returns a request with the token.
func request(method, path string) *http.Request {
	r := httptest.NewRequest(method, "http://127.0.0.1:7420/", nil)
	r.URL.Path, r.URL.RawQuery, _ = strings.Cut(path, "?")
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

// do answers a request and returns the body, too.
func (s *site) do(r *http.Request) (*http.Response, string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute) // a stream that is not refused has no end
	defer cancel()
	r = r.WithContext(ctx)
	w := httptest.NewRecorder()
	s.h.ServeHTTP(w, r)
	b, err := io.ReadAll(w.Result().Body)
	must(s.t, err)
	return w.Result(), string(b)
}

// get returns the page at a path, which must exist.
func (s *site) get(path string) string {
	s.t.Helper()
	r, body := s.do(request("GET", path))
	if r.StatusCode != http.StatusOK {
		s.t.Fatalf("GET %s: got status %d, want 200\n%s", path, r.StatusCode, body)
	}
	return body
}

func (s *site) publish(p handoff.Draft) handoff.Published {
	s.t.Helper()
	done, err := s.ws.Publish(s.t.Context(), p)
	must(s.t, err)
	return done
}

func TestFirstPage(t *testing.T) {
	s := newSite(t)
	if page := s.get("/"); !strings.Contains(page, "handoff publish FILE") {
		t.Errorf("the page of an empty workspace does not say how to publish\n%s", page)
	}
	done := s.publish(handoff.Draft{Body: strings.NewReader("hello"), Channel: "design", Title: "The <b>plan</b>"})
	page := s.get("/")
	for _, want := range []string{done.ID, "The &lt;b&gt;plan&lt;/b&gt;", `href="/channels/design"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %s\n%s", want, page)
		}
	}
	if body := s.get("/artifacts/" + done.ID); !strings.Contains(body, "hello") {
		t.Errorf("the page does not show the content\n%s", body)
	}
}

// TestRunning checks that the first page shows what a running session does and what
// it is expected to leave.
func TestRunning(t *testing.T) {
	s := newSite(t)
	o, err := s.ws.Sessions().Open(t.Context(),
		session.OpenOptions{Agent: handoff.SessionAgent{Name: "casey", Title: "Casey"},
			Workflow: handoff.SessionWorkflow{Name: "deep-dive"}, Expected: []string{"plan.md", "report.md"}})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(o.Folder, "plan.md"), []byte("# Plan"), 0o644))
	_, err = s.ws.Sessions().AddOutput(t.Context(), o.ID,
		sessions.Output{File: "plan.md", Type: "document", Title: "The plan"})
	must(t, err)
	for _, path := range []string{"/", "/sessions/" + o.ID} {
		page := s.get(path)
		for _, want := range []string{"Casey - deep-dive (In Progress)", `<code>plan.md</code> <span class="quiet">delivered`,
			`<code>report.md</code> <span class="quiet">expected`} {
			if !strings.Contains(page, want) {
				t.Errorf("%s does not contain %s\n%s", path, want, page)
			}
		}
	}
}

// TestFiles checks that a session's page lists its files, and hides the manifest in
// its root only.
func TestFiles(t *testing.T) {
	s := newSite(t)
	o, err := s.ws.Sessions().Open(t.Context(),
		session.OpenOptions{Agent: handoff.SessionAgent{Name: "casey"},
			Workflow: handoff.SessionWorkflow{Name: "deep-dive"}})
	must(t, err)
	for _, name := range []string{"notes.md", "pkg/manifest.json", "pkg/deep/manifest.json"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(o.Folder, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(o.Folder, name), []byte("text of "+name), 0o644))
	}
	page := s.get("/sessions/" + o.ID)
	for _, name := range []string{"notes.md", "pkg/manifest.json", "pkg/deep/manifest.json"} {
		path := "/sessions/" + o.ID + "/files/" + name
		if !strings.Contains(page, `href="`+path+`"`) {
			t.Errorf("the page has no link to %s", name)
		}
		if file := s.get(path); !strings.Contains(file, "text of "+name) {
			t.Errorf("the page of %s does not show its content\n%s", name, file)
		}
	}
	if strings.Contains(page, "/files/manifest.json") {
		t.Error("the page shows the manifest of the session")
	}
}

// TestOutputsOnce lists an output once: among the files only if the file was changed since.
func TestOutputsOnce(t *testing.T) {
	s := newSite(t)
	id := s.open("casey")
	folder := s.ws.Sessions().Dir(t.Context(), id)
	for _, name := range []string{"plan.md", "reports/a.md", "reports/b.md", "reports/notes.txt", "data/c.md", "same.md"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(folder, name), []byte("text of "+name), 0o644))
		if filepath.Ext(name) == ".md" {
			_, err := s.ws.Sessions().AddOutput(t.Context(), id,
				sessions.Output{File: name, Type: "document"})
			must(t, err)
		}
	}
	must(t, os.WriteFile(filepath.Join(folder, "reports/b.md"), []byte("another text"), 0o644))
	must(t, os.WriteFile(filepath.Join(folder, "same.md"), []byte("TEXT of same.md"), 0o644))
	for _, name := range []string{"same.md", "data/c.md"} {
		later := time.Now().Add(time.Minute)
		must(t, os.Chtimes(filepath.Join(folder, name), later, later))
	}
	page := s.get("/sessions/" + id)
	files := between(page, "<h2>Other files", "</section>")
	for name, want := range map[string]bool{"plan.md": false, "reports/a.md": false, "reports/b.md": true,
		"reports/notes.txt": true, "data/c.md": false, "same.md": true} {
		if got := strings.Contains(files, "/files/"+name); got != want {
			t.Errorf("%s is among the other files: got %v, want %v\n%s", name, got, want, page)
		}
	}
	if strings.Contains(files, "data/") || strings.Count(page, ">data/c.md</a>") != 1 {
		t.Errorf("the directory of an output is among the files\n%s", page)
	}
}

// What is published after a page was made and before its stream starts is announced.
func TestEventsSincePage(t *testing.T) {
	s := newSite(t)
	s.publish(handoff.Draft{Body: strings.NewReader("one"), Channel: "design"})
	position := func() string {
		_, after, _ := strings.Cut(s.get("/channels/design"), `data-live="`)
		at, _, _ := strings.Cut(after, `"`)
		return at
	}
	before := position()
	s.publish(handoff.Draft{Body: strings.NewReader("two"), Channel: "design"})
	for after, want := range map[string]bool{before: true, position(): false, "": false, "x": false} {
		ctx, cancel := context.WithCancel(t.Context())
		stream := &firstWrites{ResponseRecorder: httptest.NewRecorder(), most: 2, full: cancel}
		limit := time.Second
		if want {
			limit = time.Minute // it ends with the second event
		}
		timer := time.AfterFunc(limit, cancel)
		s.h.ServeHTTP(stream, request("GET", "/events?after="+after).WithContext(ctx))
		timer.Stop()
		cancel()
		if got := strings.Contains(stream.Body.String(), "event: change"); got != want {
			t.Errorf("after %q: announced is %v, want %v: %s", after, got, want, stream.Body)
		}
	}
}

// The log is watched while someone listens, and not longer.
func TestEventsEnd(t *testing.T) {
	s := newSite(t)
	log := &watchedLog{Log: s.o.Source.Log, started: make(chan bool, 1), ended: make(chan bool, 1)}
	s.o.Source.Log = log
	server, err := web.New(s.o)
	must(t, err)
	t.Cleanup(server.Close)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-log.started
		cancel()
	}()
	server.Handler().ServeHTTP(httptest.NewRecorder(), request("GET", "/events").WithContext(ctx))
	select {
	case <-log.ended:
	case <-time.After(time.Minute):
		t.Error("the log is watched after the last listener left")
	}
}

// A watchedLog announces when it starts and ends to be watched.
type watchedLog struct {
	web.Log
	started, ended chan bool
}

func (l *watchedLog) Facts(ctx context.Context, _ string) iter.Seq2[handoff.Record, error] {
	return func(func(handoff.Record, error) bool) {
		l.started <- true
		<-ctx.Done()
		l.ended <- true
	}
}

// firstWrites calls full when there were as many writes as most.
type firstWrites struct {
	*httptest.ResponseRecorder
	most int
	full func()
}

func (f *firstWrites) Write(b []byte) (int, error) {
	if f.most--; f.most == 0 {
		f.full()
	}
	return f.ResponseRecorder.Write(b)
}

// A page lists the newest revisions of an artifact with very many.
func TestManyRevisions(t *testing.T) {
	s := newSite(t)
	id := s.publish(handoff.Draft{Body: strings.NewReader("0"), Channel: "design"}).ID
	const revisions = 520
	for range revisions - 1 {
		id = s.publish(handoff.Draft{Body: strings.NewReader("x"), Channel: "design", Replaces: []string{id}}).ID
	}
	body := s.get("/artifacts/" + id)
	// and that of the page
	if n := strings.Count(body, `<span class="tag">v`); n != 501 ||
		!strings.Contains(body, "Not listed: 20 earlier revisions") {
		t.Errorf("the page lists %d revisions", n)
	}
	if first, second := strings.Index(body, ">v520<"), strings.LastIndex(body, ">v519<"); first < 0 || second < first {
		t.Errorf("the newest revision is not the first")
	}
}

// TestChanges compares two revisions by lines, and, if both are Markdown, as they are rendered.
func TestChanges(t *testing.T) {
	s := newSite(t)
	put := func(name, text string, replaces ...string) string {
		return s.publish(handoff.Draft{Body: strings.NewReader(text), Filename: name, Channel: "design",
			Replaces: replaces}).ID
	}
	one := put("a.md", "# Plan\n\nWait.\n")
	two := put("a.md", "# Plan\n\nGo.\n", one)
	text := put("a.txt", "Go on.\n", two)
	address := func(id, from, more string) string { return "/artifacts/" + id + "?diff=" + from + more }
	for path, want := range map[string][]string{
		"/artifacts/" + two:   {`<a href="?diff=` + one + `">&#43;1 −1 since v1</a>`},
		address(two, one, ""): {`-<mark>Wait`, `<a href="?diff=` + one + `&amp;rendered">rendered</a>`},
		address(two, one, "&rendered"): {`<del class="block"><p>Wait.</p>`, `<ins class="block"><p>Go.</p>`, `">lines</a>`,
			`<span class="count">&#43;1 −1</span>`},
		address(text, two, "&rendered"):    {`<li class="src add"`},
		address(one, two, "&rendered"):     {`<del class="block"><p>Go.</p>`},
		address(two, "art_x", "&rendered"): {"<h2 id"},
	} {
		page := s.get(path)
		for _, part := range want {
			if !strings.Contains(page, part) {
				t.Errorf("%s does not contain %s\n%s", path, part, page)
			}
		}
		both := strings.Contains(path, one+"?diff="+two) || strings.Contains(path, two+"?diff="+one)
		if got := strings.Contains(page, ">rendered</a>"); got != both {
			t.Errorf("%s: got %v for a link to what is rendered, want %v", path, got, both)
		}
	}
}

// TestChangedLines counts the lines that a revision changed, unless one of the two is large or
// not text, and shows code and patches with what colors and folds them.
func TestChangedLines(t *testing.T) {
	s := newSite(t)
	put := func(name, text string, replaces ...string) string {
		return s.publish(handoff.Draft{Body: strings.NewReader(text), Filename: name, Channel: "design",
			Replaces: replaces}).ID
	}
	since := func(name, from, to string) (string, string) {
		one := put(name, from)
		two := put(name, to, one)
		page := s.get("/artifacts/" + two)
		return html.UnescapeString(between(page, `<a href="?diff=`+one+`">`, "</a>")), "/artifacts/" + two + "?diff=" + one
	}
	for _, tt := range []struct{ name, from, to, want string }{
		{"equal", "a\n", "a\n", "+0 −0 since v1"},
		{"several lines", "a\nb\nc\n", "a\nd\n", "+1 −2 since v1"},
		{"a small and a large one", "a\n", strings.Repeat("b\n", 40<<10), "changes since v1"},
		{"no text", "a\x00\n", "b\n", "changes since v1"},
	} {
		if got, _ := since("a", tt.from, tt.to); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	_, code := since("send.go", "package up\n", "package up\n\nvar x = 1\n")
	patch := "/artifacts/" + put("fix.patch", "--- a.txt\n+++ b.txt\n@@ -1 +1 @@\n-x\n+y\n--- c\n+++ d\n@@ -1 +1 @@\n-x\n+y\n")
	one := "/artifacts/" + put("one.patch", "--- a.txt\n+++ b.txt\n@@ -1 +1 @@\n-x\n+y\n")
	for path, want := range map[string][3]bool{code: {true, true, false}, patch: {false, true, true}, one: {}} {
		page := s.get(path)
		for i, part := range []string{"/assets/vendor/highlight.min.js", "/assets/preview.js", `<div class="diff-file" data-file="`} {
			if got := strings.Contains(page, part); got != want[i] {
				t.Errorf("%s: got %v for %s, want %v\n%s", path, got, part, want[i], page)
			}
		}
	}
}

// TestSplit shows diffs side by side if the address says so, which the links to other views of them keep.
func TestSplit(t *testing.T) {
	s := newSite(t)
	put := func(name, text string, replaces ...string) string {
		return s.publish(handoff.Draft{Body: strings.NewReader(text), Filename: name, Channel: "design",
			Replaces: replaces}).ID
	}
	one := put("a.md", "one\n")
	two := put("a.md", "two\n", one)
	patch := put("fix.patch", "--- a.txt\n+++ b.txt\n@@ -1 +1 @@\n-x\n+y\n--- c\n+++ d\n@@ -1 +1 @@\n-x\n+y\n"+
		strings.Repeat(" context\n", preview.Window/9))
	const isSplit = `<ol class="lines diff split"`
	for path, want := range map[string][]string{
		"/artifacts/" + two + "?diff=" + one + "&view=split": {isSplit, `<a href="?diff=` + one + `">Unified</a>`,
			`href="?diff=` + one + `&amp;view=split" aria-current="true">Split</a>`,
			`href="?diff=` + one + `&amp;rendered&amp;view=split">rendered`, `href="/artifacts/` + two + `?view=split">show the`,
			`href="/artifacts/` + two + `?diff=` + one + `&amp;view=split">compare`},
		"/artifacts/" + two + "?diff=" + one + "&rendered&view=split": {`href="?diff=` + one + `&amp;view=split">lines</a>`},
		"/artifacts/" + two + "?view=split":                           {`<a href="?diff=` + one + `&amp;view=split">&#43;1 −1 since v1`},
		"/artifacts/" + patch: {`<ol class="lines diff"`, `<a href="?view=split">Split</a>`, `2 files <span class="added">`,
			`">b.txt</a> <span class="added">+1</span> <span class="removed">−1</span></li>`},
		"/artifacts/" + patch + "?view=split": {isSplit, `<a href="?">Unified</a>`, `href="?plain&amp;view=split">Source`,
			`&amp;view=split" rel="next"`},
		"/artifacts/" + patch + "?lines&view=split": {isSplit, `<a href="?lines">Unified</a>`, `id="L4" data-old="1"`},
	} {
		page := s.get(path)
		for _, part := range want {
			if !strings.Contains(page, part) {
				t.Errorf("%s does not contain %s\n%.20000s", path, part, page)
			}
		}
	}
	for _, path := range []string{"/artifacts/" + one + "?view=split", "/artifacts/" + patch + "?plain&view=split"} {
		if page := s.get(path); strings.Contains(page, ">Split</a>") {
			t.Errorf("%s: got links to a unified and a split view, want none without a diff", path)
		}
	}
}

// TestCheckManyFindings checks a log whose records have no links from their IDs: the page has the
// first problems and notes, and how many there are.
func TestCheckManyFindings(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "the-workspace")
	must(t, os.MkdirAll(filepath.Join(dir, ".git"), 0o755))
	manyRecords(t, dir, time.Now().Add(-time.Hour), 60)
	page := siteIn(t, dir).get("/check")
	if shown := strings.Count(page, `<li class="row">`); shown != 1000 || strings.Count(page, " more: handoff check</p>") != 2 {
		t.Errorf("got %d findings, want 500 problems, 500 notes and the number of the others\n%s", shown, page[len(page)-1000:])
	}
}
