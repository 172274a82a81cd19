package web_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/session"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/web"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/news"
	"github.com/agent-handoff/handoff/workspace/pipelines"
)

// eventually returns the page at a path as soon as it contains a text: what takes
// long is read while pages are shown.
func (s *site) eventually(path, want string) string {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		page := s.get(path)
		if strings.Contains(page, want) {
			return page
		}
		if time.Now().After(end) {
			s.t.Fatalf("%s does not contain %s\n%s", path, want, page)
		}
	}
}

func (s *site) publishAs(by handoff.Producer, p handoff.Draft) {
	s.t.Helper()
	by.Source = handoff.FromFlag
	_, err := s.ws.As(workspace.Caller{Dir: s.ws.Root(), Producer: by}).Publish(s.t.Context(), p)
	must(s.t, err)
}

// TestNowConversations checks that the first page shows what status does: running
// threads with their sessions, and the files that two of them changed.
func TestNowConversations(t *testing.T) {
	home := t.TempDir()
	s := newSite(t, func(o *web.Options) {
		o.Source.Threads = thread.NewSet(all.Drivers(), func(string) string { return "" }, home)
	})
	const first, second = "2823d1df-720a-4c31-ac55-ae8ba7260001", "2823d1df-720a-4c31-ac55-ae8ba7260002"
	file := filepath.Join(s.ws.Root(), "shared.go")
	for i, id := range []string{first, second} {
		x := &transcript{t: t, id: id, dir: s.ws.Root(), at: time.Now().Add(-10 * time.Minute)}
		x.user(fmt.Sprint("change the cart ", i))
		x.answer(map[string]any{"type": "tool_use", "id": "t", "name": "Write",
			"input": map[string]any{"file_path": file, "content": "x"}}, map[string]any{"type": "tool_use", "id": "o",
			"name": "Write", "input": map[string]any{"file_path": "/elsewhere/other.go", "content": "x"}})
		x.add("user", map[string]any{"role": "user",
			"content": []any{map[string]any{"type": "tool_result", "tool_use_id": "t", "content": "ok"},
				map[string]any{"type": "tool_result", "tool_use_id": "o", "content": "ok"}}}, nil)
		x.store(home)
	}
	o, err := s.ws.Sessions().Open(t.Context(),
		session.OpenOptions{Agent: handoff.SessionAgent{Name: "casey"},
			Workflow: handoff.SessionWorkflow{Name: "deep-dive"}})
	must(t, err)
	s.publishAs(handoff.Producer{Session: o.ID, Thread: "agents://claude/" + first},
		handoff.Draft{Body: strings.NewReader("hello"), Channel: "design", Title: "The plan"})
	page := s.eventually("/", `href="/threads/claude/`+first+`"`)
	for _, want := range []string{"change the cart 0", "change the cart 1", "Changed by two at the same time",
		">shared.go</a>", `href="/threads/claude/` + second + `?from=1#M1"`, `<a class="second" href="/sessions/` + o.ID +
			`">in session `, "published The plan", "<span>started <time ",
		"writing <a ", `<a href="/threads/claude/` + second + `?from=1#M1">shared.go</a>`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %s\n%s", want, page)
		}
	}
	page = s.eventually("/", `id="busy"`)
	if !strings.Contains(page, "at most 2 at once, at ") || strings.Count(page, `class="hour"`) != 24 ||
		!strings.Contains(page, "UTC: at most 2 at once</title>") {
		t.Errorf("the page does not show that two threads worked at once\n%s", page)
	}
	must(t, os.WriteFile(file, []byte("x"), 0o644))
	s.publishAs(handoff.Producer{Session: o.ID}, handoff.Draft{Path: "shared.go", Channel: "patch"})
	page = s.eventually("/files", ">shared.go</a>")
	for _, want := range []string{`<a class="to" href="/artifacts?path=shared.go&amp;status=all">artifacts</a>`,
		"<span>2 changes</span>", "<span>2 threads</span>", "handoff why shared.go",
		`<a href="/threads/claude/` + first + `?from=1#M1">change the cart 0</a>`,
		`<a href="/threads/claude/` + second + `?from=1#M1">change the cart 1</a>`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of changed files does not contain %s\n%s", want, page)
		}
	}
	if !strings.Contains(page, `<a class="to" href="/why?of=shared.go">why</a>`) {
		t.Errorf("a changed file has no link to where it comes from\n%s", page)
	}
	if strings.Count(page, ">outside the repository</span>") != 1 || strings.Count(page, ">why</a>") != 1 {
		t.Errorf("only the file outside the repository is without a link, with the reason\n%s", page)
	}
	if page = s.get("/files?text=SHARED"); !strings.Contains(page, ">shared.go</a>") {
		t.Errorf("a part of the path does not select the file\n%s", page)
	}
	if page = s.get("/files?text=other"); strings.Contains(page, ">shared.go</a>") {
		t.Errorf("another text selects the file\n%s", page)
	}
	must(t, os.WriteFile(file, []byte("x"), 0o644))
	if page = s.eventually("/why?of=shared.go", "<ul"); !strings.Contains(page, `href="/threads/claude/`+second+`?from=1#M1"`) ||
		!strings.Contains(page, "handoff why shared.go") ||
		!strings.Contains(page, `<a href="/artifacts?path=shared.go&amp;status=all">artifacts of this file</a>`) {
		t.Errorf("the page does not have the message that wrote the file\n%s", page)
	}
	if !strings.Contains(page, `<a class="what" href="/artifacts/art_`) ||
		!strings.Contains(page, `<a class="what" href="/sessions/`+o.ID+`"`) || strings.Contains(page, `"/threads/art_`) ||
		strings.Contains(page, `"/threads/`+o.ID) {
		t.Errorf("the artifact and the session of the file have no links to their pages\n%s", page)
	}
	if page = s.eventually("/why?of=removed.go", "Nothing has this name now."); !strings.Contains(page,
		`href="/files?since=30d&amp;text=removed.go"`) {
		t.Errorf("the page of a removed file does not lead to the threads that changed it\n%s", page)
	}
	other := filepath.Join(t.TempDir(), "other") // another worktree
	linked := filepath.Join(s.ws.Root(), ".git", "worktrees", "other")
	for _, dir := range []string{other, linked} {
		must(t, os.MkdirAll(dir, 0o755))
	}
	must(t, os.WriteFile(filepath.Join(linked, "gitdir"), []byte(filepath.Join(other, ".git")+"\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(other, "b.go"), []byte("x"), 0o644))
	for path, want := range map[string]int{"/why?of=%2Fetc%2Fpasswd": 403, "/why?of=..%2Fx": 403, "/why?of=nothing": 200,
		"/why?of=" + other + "/b.go": 200, "/why?of=" + other + "/../c.go": 403, "/why?of=" + other + "x/b.go": 403} {
		if r, _ := s.do(request("GET", path)); r.StatusCode != want {
			t.Errorf("%s: got status %d, want %d", path, r.StatusCode, want)
		}
	}
	if r, _ := s.do(request("GET", "/files?since=nonsense")); r.StatusCode != http.StatusBadRequest {
		t.Errorf("/files?since=nonsense: got status %d, want 400", r.StatusCode)
	}
}

// TestNowCompeting checks that revisions compete on the first page however old they
// are.
func TestNowCompeting(t *testing.T) {
	s := newSite(t)
	first := s.publish(handoff.Draft{Body: strings.NewReader("first"), Channel: "design", Title: "First"})
	for _, title := range []string{"Left", "Right"} {
		s.publish(handoff.Draft{Body: strings.NewReader(title), Channel: "design", Title: title,
			Replaces: []string{first.ID}})
	}
	for i := range 25 {
		s.publish(handoff.Draft{Body: strings.NewReader(fmt.Sprint(i)), Channel: "design",
			Title: fmt.Sprint("Later ", i)})
	}
	needs := between(s.eventually("/", `data-notice="competing"`), `id="needs"`, "</section>")
	if got := strings.Count(needs, "data-row"); got != 1 || !strings.Contains(needs, ">Right</a>") {
		t.Errorf("got %d rows, want one for both revisions\n%s", got, needs)
	}
}

// TestHome checks what the first page shows of a workspace: what needs a person, what ended,
// what runs with its last tool call, where a pipeline is, and the board.
func TestHome(t *testing.T) {
	home := t.TempDir()
	s := newSite(t, func(o *web.Options) {
		o.Source.Threads = thread.NewSet(all.Drivers(), func(string) string { return "" }, home)
	})
	x := &transcript{t: t, id: threadID, dir: s.ws.Root(), at: time.Now().Add(-10 * time.Minute)}
	x.user("Why is the quokka empty?")
	x.answer(map[string]any{"type": "tool_use", "id": "t1", "name": "Bash",
		"input": map[string]any{"command": "grep -rn q ."}})
	x.store(home)
	o, err := s.ws.Sessions().Open(t.Context(), session.OpenOptions{Agent: handoff.SessionAgent{Name: "casey"},
		Workflow: handoff.SessionWorkflow{Name: "deep-dive"}})
	must(t, err)
	_, err = s.ws.Sessions().Close(t.Context(), o.ID, session.Failed, "out of budget")
	must(t, err)
	s.publishAs(handoff.Producer{Agent: "builder", TaskID: "T-7"},
		handoff.Draft{Body: strings.NewReader("x"), Channel: "design", Title: "Look at this", AskReview: true})
	_, err = s.ws.Pipelines().Init(t.Context(), "42", pipelines.InitOptions{})
	must(t, err)
	s.eventually("/?since=24h", `>Look at this</a><span class="tag`) // the news are read
	page := s.eventually("/?since=24h", "grep -rn q .</code>")
	for section, want := range map[string][]string{
		`id="needs"`: {`data-notice="review_asked"`, `data-notice="session_failed"`, "is-new",
			`<span class="who">builder</span>`, "review "},
		`id="running"`:  {"<strong>Bash</strong>", "claude", "the-workspace"},
		`<h2>Pipelines`: {`href="/pipelines/42"`, `<span class="tag">next: plan</span>`},
		`id="done"`:     {"out of budget", "casey", "failed", "is-new"},
		`id="board"`: {`<th scope="row">builder</th>`, `<th scope="row">casey</th>`,
			`title="its author asks for a review"`},
	} {
		part := between(page, section, "</section>")
		for _, text := range want {
			if !strings.Contains(part, text) {
				t.Errorf("%s does not contain %s\n%s", section, text, part)
			}
		}
	}
	if page := s.get("/?since=24h&board=task"); !strings.Contains(page, `<th scope="row">T-7</th>`) {
		t.Errorf("the board has no task\n%s", between(page, `id="board"`, "</section>"))
	}
	for _, query := range []string{"?board=x", "?since=x"} {
		for range 3 { // also while it is read
			if r, body := s.do(request("GET", "/"+query)); query == "?board=x" && r.StatusCode != http.StatusBadRequest {
				t.Errorf("%s: got %d\n%s", query, r.StatusCode, body)
			}
		}
	}
	s.publish(handoff.Draft{Body: strings.NewReader("y"), Channel: "design", Title: "And at this", AskReview: true})
	s.eventually("/?since=24h", `">And at this</a><span class="tag`)
}

// TestFailedGate has a pipeline run whose last attempt failed its gate: the first page names that
// stage, and the next one beside it.
func TestFailedGate(t *testing.T) {
	s := newSite(t)
	s.submit("42", "plan", nil)
	s.submit("42", "implement", nil)
	s.submit("42", "test", func(a string) string { return strings.ReplaceAll(a, `"PASS"`, `"FAIL"`) })
	page := s.eventually("/", `data-notice="gate_failed"`)
	needs := between(page, `id="needs"`, "</section>")
	if want := `href="/pipelines/42">42: test</a><span class="tag n-problem" data-notice="gate_failed">gate failed</span>` +
		`<span class="tag">next: debug</span>`; !strings.Contains(needs, want) {
		t.Errorf("the page does not contain %s\n%s", want, needs)
	}
	if want := "<dt>Needs</dt><dd>plan, test</dd>"; !strings.Contains(s.get("/pipelines/42"), want) {
		t.Errorf("the page of the run does not contain %s", want)
	}
}

// TestSearchConversations checks that a search finds threads, and links to
// the message.
func TestSearchConversations(t *testing.T) {
	s := newConversation(t, "", func(x *transcript) {
		x.user("Why is the cart empty?")
		x.answer(said("The quokka expires too early."))
	})
	page := s.eventually("/search?q=quokka", "<h2>Threads")
	if want := `href="/threads/claude/` + threadID + `?from=2#M2">answer #M2</a>`; !strings.Contains(page, want) ||
		!strings.Contains(page, "<mark>quokka</mark>") {
		t.Errorf("the page does not contain %s\n%s", want, page)
	}
	if page := s.get("/threads/claude/" + threadID + "?from=2"); !strings.Contains(page, `id="M2"`) {
		t.Errorf("the page of the thread has no such message\n%s", page)
	}
}

// TestSearchKinds restricts a search to one kind.
func TestSearchKinds(t *testing.T) {
	s := newConversation(t, "", func(x *transcript) { x.user("Why is the quokka empty?") })
	s.publish(handoff.Draft{Body: strings.NewReader("x"), Channel: "design", Title: "A quokka"})
	_, err := s.ws.Sessions().Open(t.Context(), session.OpenOptions{Agent: handoff.SessionAgent{Name: "quokka"},
		Workflow: handoff.SessionWorkflow{Name: "intake"}})
	must(t, err)
	s.eventually("/search?q=quokka", "<h2>Threads")
	for kind, want := range map[string][]string{"": {"Artifacts", "Sessions", "Threads"}, "artifacts": {"Artifacts"},
		"sessions": {"Sessions"}, "threads": {"Threads"}} {
		page := s.get("/search?q=quokka&kind=" + kind)
		if kind == "threads" {
			page = s.eventually("/search?q=quokka&kind=threads", "<h2>Threads")
		}
		for _, section := range []string{"Artifacts", "Sessions", "Threads"} {
			if got, want := strings.Contains(page, "<h2>"+section), slices.Contains(want, section); got != want {
				t.Errorf("kind %q: has %s: got %v, want %v\n%s", kind, section, got, want, page)
			}
		}
		if want := `href="?kind=threads&amp;q=quokka"`; !strings.Contains(page, want) {
			t.Errorf("kind %q: the page does not contain %s\n%s", kind, want, page)
		}
	}
}

// TestTitles finds what has the beginnings of words in its title.
func TestTitles(t *testing.T) {
	s := newConversation(t, "", func(x *transcript) { x.user("Why is the **quokka** empty?") })
	s.publish(handoff.Draft{Body: strings.NewReader("the empty quokka"), Channel: "design", Title: "Something else"})
	art := s.publish(handoff.Draft{Body: strings.NewReader("x"), Channel: "design", Title: "An empty quokka"})
	page := s.eventually("/search?q=Quok+emp&kind=titles", threadID)
	rows := between(page, `<ul class="rows">`, "</ul>")
	if strings.Count(rows, "data-row") != 2 || !strings.Contains(rows, `>Why is the quokka empty?</a><span class="tag">thread<`) ||
		!strings.Contains(rows, `href="/artifacts/`+art.ID+`">An empty quokka</a><span class="tag">artifact<`) {
		t.Errorf("got the titles\n%s", rows)
	}
}

// TestConversationsNotServed checks every page that shows threads where they
// are not served: beyond loopback, without --threads.
func TestConversationsNotServed(t *testing.T) {
	furnish := func(set *thread.Set) (s *site, sess string) {
		s = newSite(t, func(o *web.Options) { o.Source.Threads = set })
		o, err := s.ws.Sessions().Open(t.Context(),
			session.OpenOptions{Agent: handoff.SessionAgent{Name: "casey"},
				Workflow: handoff.SessionWorkflow{Name: "deep-dive"}})
		must(t, err)
		s.publishAs(handoff.Producer{Session: o.ID, Thread: "agents://claude/" + threadID},
			handoff.Draft{Body: strings.NewReader("hello"), Channel: "design", Title: "The quokka"})
		return s, o.ID
	}
	s, session := furnish(nil)
	for _, path := range []string{"/threads", "/threads/claude/" + threadID, "/threads/claude/" + threadID + "?from=2",
		"/threads/" + threadID, "/threads/claude/none", "/threads/%00"} {
		if r, body := s.do(request("GET", path)); r.StatusCode != http.StatusForbidden &&
			r.StatusCode != http.StatusNotFound {
			t.Errorf("%s: got status %d\n%s", path, r.StatusCode, body)
		}
	}
	for _, path := range []string{"/", "/search?q=quokka", "/sessions/" + session} {
		if page := s.get(path); strings.Contains(page, "onversations <span") || strings.Contains(page, `href="/threads"`) ||
			strings.Contains(page, "being read") {
			t.Errorf("%s shows threads\n%s", path, page)
		}
	}
	home := t.TempDir()
	s, _ = furnish(thread.NewSet(all.Drivers(), func(string) string { return "" }, home))
	x := &transcript{t: t, id: threadID, dir: s.ws.Root(), at: time.Now().Add(-10 * time.Minute)}
	x.user("Why is the quokka empty?")
	x.store(home)
	for _, path := range []string{"/threads", "/threads/claude/" + threadID, "/", "/search?q=quokka"} {
		s.eventually(path, "Why is the")
	}
}

// TestSessionCost checks that the page of a session shows what it cost, a lower
// bound as such, and nothing where nothing is known.
func TestSessionCost(t *testing.T) {
	home := t.TempDir()
	s := newSite(t, func(o *web.Options) {
		o.Source.Threads = thread.NewSet(all.Drivers(), func(string) string { return "" }, home)
	})
	open := func(uri string) string {
		o, err := s.ws.Sessions().Open(t.Context(),
			session.OpenOptions{Agent: handoff.SessionAgent{Name: "casey"},
				Workflow: handoff.SessionWorkflow{Name: "deep-dive"}})
		must(t, err)
		s.publishAs(handoff.Producer{Session: o.ID, Thread: uri},
			handoff.Draft{Body: strings.NewReader("hello"), Channel: "design"})
		return "/sessions/" + o.ID
	}
	x := &transcript{t: t, id: threadID, dir: s.ws.Root(), at: time.Now().Add(-10 * time.Minute)}
	x.user("hello")
	x.add("assistant", map[string]any{"id": "m1", "role": "assistant", "model": "claude-opus-4-1-20250805",
		"content": []any{said("hi")}, "stop_reason": "end_turn",
		"usage": map[string]any{"input_tokens": 1000000, "output_tokens": 0}}, map[string]any{"requestId": "r1"})
	x.store(home)
	s.eventually(open("agents://claude/"+threadID),
		`<dt>Cost</dt><dd>≥$15.00 <span class="quiet">1.0M tokens, lower bound</span>`)
	unknown := open("agents://claude/2823d1df-720a-4c31-ac55-ae8ba7260009")
	s.get(unknown)
	time.Sleep(100 * time.Millisecond)
	if page := s.get(unknown); strings.Contains(page, "<dt>Cost") {
		t.Errorf("the page has a cost that is not known\n%s", page)
	}
}

// TestMoveCommands checks that the page of a session shows how to archive and
// remove it, and how to undo that.
func TestMoveCommands(t *testing.T) {
	s := newSite(t)
	o, err := s.ws.Sessions().Open(t.Context(),
		session.OpenOptions{Agent: handoff.SessionAgent{Name: "casey"},
			Workflow: handoff.SessionWorkflow{Name: "deep-dive"}})
	must(t, err)
	path := "/sessions/" + o.ID
	shows := func(want ...string) {
		t.Helper()
		page := s.get(path)
		for _, verb := range []string{"archive", "delete", "archive --undo", "delete --undo"} {
			line := `data-copy="handoff session ` + verb + " " + o.ID + `"`
			if got := strings.Contains(page, line); got != slices.Contains(want, verb) {
				t.Errorf("the page has %s: %t, want %q\n", line, got, want)
			}
		}
	}
	shows()
	_, err = s.ws.Sessions().Close(t.Context(), o.ID, session.Completed, "")
	must(t, err)
	shows("archive", "delete")
	_, err = s.ws.Sessions().Archive(t.Context(), []string{o.ID}, false)
	must(t, err)
	shows("archive --undo", "delete")
	_, err = s.ws.Sessions().Delete(t.Context(), []string{o.ID}, false)
	must(t, err)
	shows("delete --undo")
}

// slowNews are news that take until the test ends.
type slowNews struct {
	web.News
	until <-chan struct{}
}

func (n slowNews) Report(ctx context.Context, _ news.ReportOptions) (news.Report, error) {
	select {
	case <-n.until:
	case <-ctx.Done():
	}
	return news.Report{}, ctx.Err()
}

// TestNotCounted checks that the first page has no number that is not known yet, and that the
// metadata of an artifact has a line for each member.
func TestNotCounted(t *testing.T) {
	until := make(chan struct{})
	s := newSite(t)
	s.o.Source.News = slowNews{s.o.Source.News, until}
	server, err := web.New(s.o)
	must(t, err)
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(until) })
	s.h = server.Handler()
	p := s.publish(handoff.Draft{Body: strings.NewReader("x"), Channel: "design",
		Metadata: map[string]any{"stage": "plan"}})
	page := s.get("/")
	if !strings.Contains(page, "not counted yet") || strings.Contains(page, "need you") ||
		strings.Contains(page, `<span class="count">0`) {
		t.Errorf("the page has counts that are not known\n%s", page)
	}
	if page := s.get("/artifacts/" + p.ID); !strings.Contains(page, "{\n  &#34;stage&#34;: &#34;plan&#34;\n}") {
		t.Errorf("the metadata is on one line\n%s", page)
	}
}

// TestNowWithoutCost has an artifact and no usage: the first page does not show "-" for what it cost.
func TestNowWithoutCost(t *testing.T) {
	home := t.TempDir()
	s := newSite(t, func(o *web.Options) {
		o.Source.Threads = thread.NewSet(all.Drivers(), func(string) string { return "" }, home)
	})
	s.publish(handoff.Draft{Body: strings.NewReader("x"), Channel: "design"})
	if page := s.eventually("/", "<span>1 published</span>"); strings.Contains(page, `href="/cost?since=`) {
		t.Errorf("the page has a cost\n%s", page)
	}
}

// TestNowTimeline has a session that ended and one that runs: the first page shows when they
// worked, by agent.
func TestNowTimeline(t *testing.T) {
	now := time.Now()
	s := newSite(t, func(o *web.Options) { o.Now = func() time.Time { return now.Add(2 * time.Hour) } })
	var ids []string
	for _, agent := range []string{"casey", "alex", "casey"} {
		o, err := s.ws.Sessions().Open(t.Context(), session.OpenOptions{Agent: handoff.SessionAgent{Name: agent},
			Workflow: handoff.SessionWorkflow{Name: "deep-dive"}})
		must(t, err)
		ids = append(ids, o.ID)
	}
	_, err := s.ws.Sessions().Close(t.Context(), ids[0], session.Completed, "")
	must(t, err)
	page := s.eventually("/?since=24h", `id="timeline"`)
	_, strip, _ := strings.Cut(page, `id="timeline"`)
	strip, _, _ = strings.Cut(strip, "</section>")
	for want, n := range map[string]int{"<li>casey</li>": 1, "<li>alex</li>": 1, `class="bar-turn thin"`: 3,
		`href="/sessions/` + ids[0] + `"`: 1, `href="/sessions/` + ids[2] + `"`: 1,
		`<rect x="0" y="0" width="3"`: 2, `<rect x="0" y="22" width="3"`: 1} {
		if got := strings.Count(strip, want); got != n {
			t.Errorf("got %d of %s, want %d\n%s", got, want, n, strip)
		}
	}
}
