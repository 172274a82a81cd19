package web_test

import (
	"encoding/json"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/web"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/threads"
)

const threadID = "2823d1df-720a-4c31-ac55-ae8ba7260001"

// A transcript writes the transcript of a thread as Claude Code does.
type transcript struct {
	t     testing.TB
	id    string
	dir   string // of the thread
	lines []string
	at    time.Time
}

func (x *transcript) add(kind string, message map[string]any, more map[string]any) {
	x.at = x.at.Add(10 * time.Second)
	r := map[string]any{"cwd": x.dir, "sessionId": x.id, "version": "2.1.200", "type": kind, "message": message,
		"uuid": fmt.Sprint("u", len(x.lines)), "timestamp": x.at.Format(time.RFC3339Nano)}
	for k, v := range more {
		r[k] = v
	}
	b, err := json.Marshal(r)
	must(x.t, err)
	x.lines = append(x.lines, string(b))
}

func (x *transcript) user(text string) {
	x.add("user", map[string]any{"role": "user", "content": text}, nil)
}

func (x *transcript) answer(content ...map[string]any) {
	n := len(x.lines)
	x.add("assistant", map[string]any{"id": fmt.Sprint("m", n), "role": "assistant", "model": "claude-opus",
		"content": content, "stop_reason": "end_turn",
		"usage": map[string]any{"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 7}},
		map[string]any{"requestId": fmt.Sprint("r", n)})
}

func said(text string) map[string]any { return map[string]any{"type": "text", "text": text} }

// newConversation returns a viewer whose user has a thread in a directory, ""
// for that of the workspace.
func newConversation(t testing.TB, dir string, write func(x *transcript)) *site {
	t.Helper()
	home := t.TempDir()
	s := newSite(t, func(o *web.Options) {
		o.Source.Threads = thread.NewSet(all.Drivers(), func(string) string { return "" }, home)
	})
	if dir == "" {
		dir = s.ws.Root()
	}
	x := &transcript{t: t, id: threadID, dir: dir, at: time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)}
	write(x)
	x.store(home)
	return s
}

// TestKeptThreadRefused opens the kept copy of a thread of another repository, in
// a log of this machine.
func TestKeptThreadRefused(t *testing.T) {
	home := t.TempDir()
	set := thread.NewSet(all.Drivers(), func(string) string { return "" }, home)
	s := newSite(t, func(o *web.Options) { o.Source.Threads = set })
	x := &transcript{t: t, id: threadID, dir: "/somewhere/else", at: time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)}
	x.user("secret")
	x.store(home)
	done, err := s.ws.Threads(set).Keep(t.Context(),
		threads.KeepOptions{URIs: []string{"agents://claude/" + threadID}})
	must(t, err)
	if len(done.Threads) != 1 {
		t.Fatalf("got %d copies, want 1", len(done.Threads))
	}
	must(t, os.RemoveAll(filepath.Join(home, ".claude")))
	if r, body := s.do(request("GET", "/threads/claude/"+threadID)); r.StatusCode != 404 ||
		strings.Contains(body, "secret") || !strings.Contains(body, "is not of this repository") {
		t.Errorf("got %d\n%s", r.StatusCode, body)
	}
}

// store writes the transcript to where Claude Code keeps it.
func (x *transcript) store(home string) {
	file := filepath.Join(home, ".claude", "projects", "-p", x.id+".jsonl")
	must(x.t, os.MkdirAll(filepath.Dir(file), 0o755))
	must(x.t, os.WriteFile(file, []byte(strings.Join(x.lines, "\n")+"\n"), 0o644))
}

// setTime sets when the transcript was last written.
func (x *transcript) setTime(home string, at time.Time) {
	must(x.t, os.Chtimes(filepath.Join(home, ".claude", "projects", "-p", x.id+".jsonl"), at, at))
}

// TestCallsAtOnce shows calls together that were made at once, with the time that they took
// together, and the calls and the time of a turn.
func TestCallsAtOnce(t *testing.T) {
	s := newConversation(t, "", func(x *transcript) {
		after := func(d time.Duration) { x.at = x.at.Add(d - 10*time.Second) }
		result := func(id string) {
			x.add("user", map[string]any{"role": "user",
				"content": []any{map[string]any{"type": "tool_result", "tool_use_id": id, "content": "ok"}}}, nil)
		}
		use := func(id string) map[string]any {
			return map[string]any{"type": "tool_use", "id": id, "name": "Bash", "input": map[string]any{"command": "make " + id}}
		}
		x.user("Look at three files.")
		x.answer(said("I look."), use("a"), use("b"), use("c"))
		after(time.Second)
		result("b")
		after(2 * time.Second)
		result("a")
		after(1800 * time.Millisecond)
		result("c")
		x.answer(use("d"))
		result("d")
		x.answer(said("Done."))
	})
	page := s.get("/threads/claude/" + threadID)
	group := between(page, `<div class="group">`, "</div>")
	if strings.Count(page, `<div class="group">`) != 1 || !strings.Contains(group, "3 calls at once, 4.8s<") ||
		strings.Count(group, "<details") != 3 || strings.Contains(group, "make d") || !strings.Contains(page, "make d") {
		t.Errorf("got the group\n%s\nof\n%s", group, page)
	}
	if prompt := between(page, `id="M1"`, "</li>"); !strings.Contains(prompt, ">4 calls, 45s</span>") {
		t.Errorf("the prompt does not have the calls and the time of its turn\n%s", prompt)
	}
}

// TestMessageText returns the text of a message as it is in the transcript.
func TestMessageText(t *testing.T) {
	const text = "# A plan\n\n1. **Look**\n2. `go test`\n"
	s := newConversation(t, "", func(x *transcript) {
		x.user("Plan it.")
		x.answer(said(text))
	})
	link := "/messages/2/claude/" + threadID
	if page := s.get("/threads/claude/" + threadID); !strings.Contains(page, `href="`+link+`" data-copy-from`) ||
		!strings.Contains(page, `data-copy="agents://claude/`+threadID+`#M2"`) {
		t.Errorf("the message has no link to its text, or no ref\n%s", page)
	}
	r, body := s.do(request("GET", link))
	if r.StatusCode != 200 || strings.TrimSpace(body) != strings.TrimSpace(text) ||
		!strings.HasPrefix(r.Header.Get("Content-Disposition"), "attachment") {
		t.Errorf("got %d %q, want %q", r.StatusCode, body, text)
	}
	for _, path := range []string{"/messages/0/claude/" + threadID, "/messages/9/claude/" + threadID,
		"/messages/x/claude/" + threadID, "/messages/1/claude/none", "/messages/1/claude/" + threadID + "/nobody"} {
		if r, body := s.do(request("GET", path)); r.StatusCode != 404 {
			t.Errorf("%s: got %d\n%s", path, r.StatusCode, body)
		}
	}
	elsewhere := newConversation(t, "/somewhere/else", func(x *transcript) { x.user("secret") })
	if r, body := elsewhere.do(request("GET", "/messages/1/claude/"+threadID)); r.StatusCode != 404 ||
		strings.Contains(body, "secret") {
		t.Errorf("of another repository: got %d\n%s", r.StatusCode, body)
	}
}

// TestBrief copies the brief of a thread from its page, which names the thread that it continues.
func TestBrief(t *testing.T) {
	const before = "2823d1df-720a-4c31-ac55-ae8ba7260002"
	home := t.TempDir()
	s := newSite(t, func(o *web.Options) {
		o.Source.Threads = thread.NewSet(all.Drivers(), func(string) string { return "" }, home)
	})
	for id, prompt := range map[string]string{before: "The first part",
		threadID: "Continue the work of agents://claude/" + before} {
		x := &transcript{t: t, id: id, dir: s.ws.Root(), at: time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)}
		x.user(prompt)
		x.store(home)
	}
	link := "/briefs/claude/" + threadID
	page := s.eventually("/threads/claude/"+threadID, "<dt>Continues</dt>")
	if !strings.Contains(page, `<a href="/threads/claude/`+before+`">`) ||
		!strings.Contains(page, `href="`+link+`" data-copy-from`) {
		t.Errorf("no link to the brief or to the thread before\n%s", page)
	}
	r, body := s.do(request("GET", link))
	if r.StatusCode != 200 || !strings.HasPrefix(body, "Continue the work of agents://claude/"+threadID+"\n") {
		t.Errorf("got %d %q", r.StatusCode, body)
	}
	if r, body := s.do(request("GET", "/briefs/claude/none")); r.StatusCode != 404 {
		t.Errorf("got %d\n%s", r.StatusCode, body)
	}
	elsewhere := newConversation(t, "/somewhere/else", func(x *transcript) { x.user("secret") })
	if r, body := elsewhere.do(request("GET", link)); r.StatusCode != 404 || strings.Contains(body, "secret") {
		t.Errorf("of another repository: got %d\n%s", r.StatusCode, body)
	}
}

// TestLongThread shows a thread that was continued for a year.
func TestLongThread(t *testing.T) {
	s := newConversation(t, "", func(x *transcript) {
		x.user("Start.")
		x.at = x.at.AddDate(1, 0, 0)
		x.user("Continue.")
	})
	page := s.get("/threads/claude/" + threadID)
	if !strings.Contains(page, `<rect x="0" y="0" width="3"`) || !strings.Contains(page, `<rect x="997" y="0" width="3"`) {
		t.Errorf("the turns are not at the ends of the timeline\n%s", page)
	}
}

func TestThread(t *testing.T) {
	s := newConversation(t, "", func(x *transcript) {
		x.user("Why is the cart empty?")
		x.answer(map[string]any{"type": "thinking", "thinking": "It may be the session."}, said("I **look**."),
			map[string]any{"type": "tool_use", "id": "t1", "name": "Bash",
				"input": map[string]any{"command": "grep -rn cart ."}})
		x.add("user", map[string]any{"role": "user",
			"content": []any{map[string]any{"type": "tool_result", "tool_use_id": "t1", "content": "session.go:3: cart",
				"is_error": true}}}, nil)
		x.answer(said("The session expires too early."))
	})
	page := s.get("/threads/claude/" + threadID)
	for _, want := range []string{
		"<h1>Why is the cart empty?", `id="M1"`, "<strong>look</strong>", "<summary>Thinking</summary>",
		"It may be the session.", "<strong>Bash</strong> <code>grep -rn cart .</code>",
		"session.go:3: cart", `<span class="tag s-failed">failed</span>`, "<h2>Timeline", `class="bar-turn"`, "claude-opus",
		"<dt>Output</dt><dd>10</dd>", "agents://claude/" + threadID,
		`data-key="c">To continue it`, "&amp;&amp; claude --resume " + threadID + "</code>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %s\n%s", want, page)
		}
	}
	if page := s.get("/threads"); !strings.Contains(page, `href="/threads/claude/`+threadID) ||
		!strings.Contains(page, "Why is the cart empty?") {
		t.Errorf("the list does not have the thread\n%s", page)
	}
}

// TestGoneThread marks a thread whose directory no longer exists: no command changes to it.
func TestGoneThread(t *testing.T) {
	s := newConversation(t, "", func(x *transcript) {
		x.dir = filepath.Join(x.dir, "removed")
		x.user("Start.")
	})
	if page := s.get("/threads/claude/" + threadID); !strings.Contains(page, `removed <span class="tag stale">gone</span>`) ||
		strings.Contains(page, "claude --resume") {
		t.Errorf("the page does not show that the directory is gone, or has a command\n%s", page)
	}
	if page := s.get("/threads"); !strings.Contains(page, "directory gone</span>") {
		t.Errorf("the list does not show that the directory is gone\n%s", page)
	}
}

// TestThreadAnswers shows the time that calls took, and prompts with the last answers only.
func TestThreadAnswers(t *testing.T) {
	s := newConversation(t, "", func(x *transcript) {
		for i := range 130 {
			x.user(fmt.Sprint("Prompt ", i, "."))
			x.answer(said(fmt.Sprint("Looking ", i, ".")), map[string]any{"type": "tool_use", "id": fmt.Sprint("t", i),
				"name": "Bash", "input": map[string]any{"command": "make"}})
			x.at = x.at.Add(80 * time.Second)
			x.add("user", map[string]any{"role": "user",
				"content": []any{map[string]any{"type": "tool_result", "tool_use_id": fmt.Sprint("t", i), "content": "ok"}}}, nil)
			x.answer(said(fmt.Sprint("Answer ", i, ".")))
		}
	})
	url := "/threads/claude/" + threadID
	if page := s.get(url); !strings.Contains(page, `<code>make</code> <span class="quiet">1m 30s</span>`) ||
		!strings.Contains(page, "Looking 0.") || !strings.Contains(page, `href="?show=answers"`) {
		t.Errorf("the page has no time of a call, or no link to the answers\n%.5000s", page)
	}
	var prompts, answers []string
	for path, pages := url+"?show=answers", 0; path != url && pages < 5; pages++ {
		page := s.get(path)
		if strings.Contains(page, "Looking ") || strings.Contains(page, "<code>make</code>") {
			t.Errorf("%s: the page has more than prompts and answers\n%s", path, page)
		}
		messages := between(page, `<ol class="messages">`, "</ol>")
		prompts = append(prompts, strings.Split(messages, "<p>Prompt ")[1:]...)
		answers = append(answers, strings.Split(messages, "<p>Answer ")[1:]...)
		next, _, _ := strings.Cut(page, `" rel="next"`)
		next = next[strings.LastIndex(next, `href="`)+len(`href="`):]
		if path = url; strings.Contains(page, `rel="next"`) {
			path += html.UnescapeString(next)
		}
	}
	if len(prompts) != 130 || len(answers) != 130 || !strings.HasPrefix(answers[129], "129.") {
		t.Errorf("got %d prompts and %d answers, want 130 of each", len(prompts), len(answers))
	}
	if page := s.get(url + "?show=answers&from=301"); !strings.Contains(page, `href="?show=answers&amp;from=151" rel="prev"`) {
		t.Errorf("the link to the page before is not 100 prompts and answers earlier\n%.5000s", page)
	}
}

// TestThreadTitle shows the title of a thread without the marks of Markdown.
func TestThreadTitle(t *testing.T) {
	s := newConversation(t, "", func(x *transcript) {
		x.at = time.Now().Add(-time.Minute)
		x.user("Fix the **cart** of `shop`.")
	})
	for path, want := range map[string]string{"/threads/claude/" + threadID: "<h1>Fix the cart of shop. <",
		"/threads": ">Fix the cart of shop.</a>", "/search?q=cart": ">Fix the cart of shop.</a>",
		"/": ">Fix the cart of shop.</a>"} {
		s.eventually(path, want)
	}
}

func TestThreadPages(t *testing.T) {
	s := newConversation(t, "", func(x *transcript) {
		for i := range 150 {
			x.user(fmt.Sprintf("question %d.", i))
			x.answer(said(fmt.Sprintf("answer %d.", i)))
		}
	})
	page := s.get("/threads/claude/" + threadID)
	if !strings.Contains(page, "answer 49.") || strings.Contains(page, "question 50.") ||
		!strings.Contains(page, `href="?from=101" rel="next"`) {
		t.Errorf("the first page is not of messages 1 to 100\n%s", page)
	}
	page = s.get("/threads/claude/" + threadID + "?from=201")
	if !strings.Contains(page, "answer 149.") || strings.Contains(page, "answer 99.") ||
		!strings.Contains(page, `href="?from=101" rel="prev"`) || strings.Contains(page, `rel="next"`) {
		t.Errorf("the last page is not of messages 201 to 300\n%s", page)
	}
	if page = s.get("/threads/claude/" + threadID + "?from=999"); !strings.Contains(page, "no messages in this part") {
		t.Errorf("a page behind the end: %s", page)
	}
}

// A large thread is shown in parts of a bounded size.
func TestThreadSize(t *testing.T) {
	s := newConversation(t, "", func(x *transcript) {
		for range 60 {
			x.user(strings.Repeat("a long message ", 5000))
		}
	})
	if page := s.get("/threads/claude/" + threadID); len(page) > 2<<20 || !strings.Contains(page, `rel="next"`) {
		t.Errorf("the first page has %d bytes", len(page))
	}
}

func TestThreadRefused(t *testing.T) {
	elsewhere := newConversation(t, "/somewhere/else", func(x *transcript) { x.user("secret") })
	for _, path := range []string{"/threads/claude/" + threadID, "/threads/" + threadID} {
		if r, body := elsewhere.do(request("GET", path)); r.StatusCode != 404 || strings.Contains(body, "secret") ||
			!strings.Contains(body, "is not of this repository") {
			t.Errorf("%s of another repository: got %d\n%s", path, r.StatusCode, body)
		}
	}
	if page := elsewhere.get("/threads"); strings.Contains(page, "secret") {
		t.Errorf("the list has a thread of another repository\n%s", page)
	}
	remote := newSite(t)
	for _, path := range []string{"/threads", "/threads/claude/" + threadID} {
		if r, body := remote.do(request("GET", path)); r.StatusCode != 403 ||
			r.Header.Get("Handoff-Error") != "conversations_not_served" ||
			!strings.Contains(body, "not shown beyond this machine") {
			t.Errorf("%s where threads are not served: got %d\n%s", path, r.StatusCode, body)
		}
	}
	s := newConversation(t, "", func(x *transcript) { x.user("hello") })
	for path, want := range map[string]int{"/threads/claude/none": 404,
		"/threads/claude/2823d1df-720a-4c31-ac55-ae8ba726000f": 404, "/threads/unknown/x": 422,
		"/threads/claude/" + threadID + "/a/b": 400, "/threads/claude/" + threadID + "/nobody": 200} {
		if r, body := s.do(request("GET", path)); r.StatusCode != want {
			t.Errorf("%s: got %d, want %d\n%s", path, r.StatusCode, want, body)
		}
	}
}

// A damaged transcript is shown as far as it can be read, with warnings.
func TestThreadDamaged(t *testing.T) {
	for name, damage := range map[string]string{"torn": `{"type":"user","mess`, "binary": "\x00\x01\xff\xfe",
		"other JSON": `["a",1]`, "types": `{"type":"assistant","message":{"content":7,"usage":"x"},"timestamp":3}`,
		"numbers": `{"type":"assistant","requestId":"r","message":{"id":"m","content":[{"type":"text","text":"x"}],"usage":{"input_tokens":-5,"output_tokens":1e300}}}`} {
		s := newConversation(t, "", func(x *transcript) {
			x.user("before the damage")
			x.lines = append(x.lines, damage)
			x.user("after the damage")
		})
		page := s.get("/threads/claude/" + threadID)
		if !strings.Contains(page, "before the damage") || !strings.Contains(page, "after the damage") {
			t.Errorf("%s: the page does not show what can be read\n%s", name, page)
		}
	}
}

func TestThreadHostile(t *testing.T) {
	texts := []string{"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[x](javascript:alert(1))",
		"![x](https://evil.example/x)", "```mermaid\nx\n```\n<svg onload=alert(1)>", "a\u202eb\x1b[31mc\x00d",
		"</pre></details><script>", `"><script>alert(1)</script>`}
	s := newConversation(t, "", func(x *transcript) {
		x.at = time.Now().Add(-time.Minute)
		for _, text := range texts {
			x.user(text)
			x.answer(map[string]any{"type": "thinking", "thinking": text}, said(text),
				map[string]any{"type": "tool_use", "id": text, "name": text, "input": map[string]any{"command": text}})
			x.add("user", map[string]any{"role": "user",
				"content": []any{map[string]any{"type": "tool_result", "tool_use_id": text, "content": text}}},
				map[string]any{"gitBranch": text, "version": text})
		}
	})
	s.eventually("/", "1 running thread")
	s.eventually("/search?q=alert", "<mark>")
	for _, path := range []string{"/threads", "/threads/claude/" + threadID, "/", "/search?q=alert", "/search?q=evil"} {
		page := s.get(path)
		for _, bad := range []string{"<script>alert", "<img", "<svg onload", `href="javascript`, "\u202e", "\x1b", "\x00",
			"</pre></details><script>"} {
			if strings.Contains(page, bad) {
				t.Errorf("%s contains %q\n%s", path, bad, page)
			}
		}
	}
}

// The messages of a subagent are shown where it was started.
func TestThreadSubagent(t *testing.T) {
	home := t.TempDir()
	s := newSite(t, func(o *web.Options) {
		o.Source.Threads = thread.NewSet(all.Drivers(), func(string) string { return "" }, home)
	})
	at := time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)
	x := &transcript{t: t, id: threadID, dir: s.ws.Root(), at: at}
	x.user("Find the callers.")
	x.answer(said("A scout looks for them."))
	x.answer(map[string]any{"type": "tool_use", "id": "t1", "name": "Agent",
		"input": map[string]any{"description": "find callers", "prompt": "Find them."}})
	x.at = x.at.Add(10 * time.Minute) // after the last record of the subagent
	x.add("user", map[string]any{"role": "user",
		"content": []any{map[string]any{"type": "tool_result", "tool_use_id": "t1", "content": "Three.\nagentId: scout1"}}},
		map[string]any{"toolUseResult": map[string]any{"status": "completed", "agentId": "scout1"}})
	x.store(home)
	a := &transcript{t: t, id: threadID + "/subagents/agent-scout1", dir: s.ws.Root(), at: at.Add(25 * time.Second)}
	for i := range 30 {
		a.add("user", map[string]any{"role": "user", "content": fmt.Sprint("question ", i, ". <b>x</b>")},
			map[string]any{"sessionId": threadID, "agentId": "scout1", "isSidechain": true})
	}
	a.add("assistant", map[string]any{"id": "m", "role": "assistant", "model": "claude-opus-4-1-20250805",
		"content": []any{said("Three callers.")}, "usage": map[string]any{"input_tokens": 1000, "output_tokens": 2000}},
		map[string]any{"sessionId": threadID, "agentId": "scout1", "isSidechain": true, "requestId": "r"})
	a.store(home)
	const used = "3.0k tokens · ≥$0.17 · 5m 00s</span>"
	page := s.eventually("/threads/claude/"+threadID, used)
	if strings.Count(page, used) != 2 {
		t.Errorf("the rows of the subagent do not have %s\n%s", used, page)
	}
	sub := s.eventually("/threads/claude/"+threadID+"/scout1", `/threads/claude/`+threadID+`">Find the callers.</a></li></ol>`)
	if !strings.Contains(sub, `<span class="status s-completed">completed</span><span>started <time`) {
		t.Errorf("the page of the subagent does not have the status that its main agent's page has\n%s", sub)
	}
	for _, want := range []string{`href="/threads/claude/` + threadID + `/scout1"`, "Messages of the subagent",
		"question 0.", "question 19."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %s\n%s", want, page)
		}
	}
	if strings.Contains(page, "question 20.") || strings.Contains(page, "<b>") {
		t.Errorf("the page has all messages of the subagent, or its HTML\n%s", page)
	}
}

// TestThreadOfArtifact checks that the page of an artifact links to a thread that can be
// opened, and names one that can't, and that it shows the verdicts of claims.
func TestThreadOfArtifact(t *testing.T) {
	s := newConversation(t, "", func(x *transcript) { x.user("Start.") })
	const absent = "agents://codex/019c871c-b1f9-7f60-9c4f-000000000009"
	for uri, want := range map[string]string{
		"agents://claude/" + threadID: `<a href="/threads/claude/` + threadID + `">open</a>`,
		absent:                        absent + ` <span class="quiet">no transcript on this machine</span>`,
	} {
		by := s.ws.As(workspace.Caller{Dir: s.ws.Root(), Producer: handoff.Producer{Harness: "x", Thread: uri}})
		done, err := by.Claims(s.o.Source.Threads).Publish(t.Context(), handoff.Draft{Body: strings.NewReader(uri),
			Channel: "design", Claims: []handoff.Claim{{Text: "it works"}}})
		must(t, err)
		page := s.get("/artifacts/" + done.ID)
		const verdict = `<span class="tag v-asserted">asserted</span> it works`
		shown := func() bool { return strings.Contains(page, want) && strings.Contains(page, verdict) }
		for end := time.Now().Add(30 * time.Second); !shown() && time.Now().Before(end); {
			time.Sleep(5 * time.Millisecond) // transcripts are read while the page is shown
			page = s.get("/artifacts/" + done.ID)
		}
		for _, want := range []string{want, verdict} {
			if !strings.Contains(page, want) {
				t.Errorf("%s: the page does not contain %s\n%s", uri, want, page)
			}
		}
	}
}

// TestThreadIsLive checks that the pages of threads ask for what was added, which no record
// announces: that of a thread, and the first one of a list with several.
func TestThreadIsLive(t *testing.T) {
	home := t.TempDir()
	s := newSite(t, func(o *web.Options) {
		o.Source.Threads = thread.NewSet(all.Drivers(), func(string) string { return "" }, home)
	})
	for i := range 51 {
		x := &transcript{t: t, id: fmt.Sprintf("2823d1df-720a-4c31-ac55-ae8ba726%04d", i+1), dir: s.ws.Root(),
			at: time.Now().Add(-time.Hour)}
		x.user("Add a cart")
		x.answer(map[string]any{"type": "tool_use", "id": "t1", "name": "Bash", "input": map[string]any{"command": "ls"}})
		x.answer(said("## **Done**,\nand the `cart` works."))
		x.store(home)
	}
	page := s.get("/threads")
	next := between(page, `<a href="?cursor=`, `"`)
	if next == "" || !strings.Contains(page, "data-poll=") {
		t.Errorf("the list with a second page does not poll\n%s", page)
	}
	if page := s.get("/threads?cursor=" + next); strings.Contains(page, "data-poll=") {
		t.Errorf("the second page polls\n%s", page)
	}
	page = s.get("/threads/claude/" + threadID)
	if !strings.Contains(page, "data-poll=") {
		t.Errorf("the page of a thread does not poll\n%s", page)
	}
	user := between(page, `<li class="message m-user" id="M1"`, "</li>")
	answer := between(page, `<li class="message m-assistant">`, "</li>")
	if user == "" || strings.Contains(user, "Bash") || strings.Contains(user, "cached") ||
		!strings.Contains(answer, "Bash") || !strings.Contains(answer, "10 in, 7 cached, 5 out") {
		t.Errorf("the calls of the assistant are not in a part of their own\n%s", page)
	}
	if page := s.eventually("/search?q=cart+works", "<mark>works</mark>"); !strings.Contains(page,
		"Done, and the <mark>cart</mark> <mark>works</mark>") {
		t.Errorf("a snippet has Markdown or line breaks\n%s", page)
	}
}

// between returns the text between two others, "" if they are not there.
func between(text, from, to string) string {
	_, text, _ = strings.Cut(text, from)
	text, _, found := strings.Cut(text, to)
	if !found {
		return ""
	}
	return text
}
