package web_test

import (
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/reviews"
)

// TestComments shows the comments on an earlier revision, as text, and who decided.
func TestComments(t *testing.T) {
	s := newSite(t)
	as := func(agent string) *workspace.Workspace {
		p := handoff.Producer{Agent: agent, Harness: "codex", Thread: "agents://codex/" + agent, Source: handoff.FromFlag}
		return s.ws.As(workspace.Caller{Dir: s.ws.Root(), Producer: p})
	}
	publish := func(text string, replaces ...string) string {
		done, err := as("ann").Publish(t.Context(), handoff.Draft{Channel: "patch", Body: strings.NewReader(text),
			Replaces: replaces})
		must(t, err)
		return done.ID
	}
	first := publish("one\ntwo\n")
	_, err := as("bob").Reviews().Review(t.Context(), first, reviews.Draft{Decision: handoff.ChangesRequested, Lines: "2",
		Text: "<script>alert(1)</script>", Via: handoff.ViaMCP})
	must(t, err)
	page := s.get("/artifacts/" + publish("zero\none\ntwo\n", first))
	for _, want := range []string{`data-notice="review_asked"`, "v1: changes requested by bob (not signed)", "line 3",
		"&lt;script&gt;alert(1)&lt;/script&gt;", ">two</blockquote>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %s", want)
		}
	}
	if strings.Contains(page, "<script>alert") {
		t.Error("the text of a comment is markup")
	}
}

// TestCompared shows artifacts that compete side by side, with their contents, and two sessions.
func TestCompared(t *testing.T) {
	s := newSite(t)
	if page := s.get("/compare"); !strings.Contains(page, "No artifacts compete.") {
		t.Errorf("nothing competes\n%s", page)
	}
	base := s.publish(handoff.Draft{Channel: "patch", Body: strings.NewReader("base"), Title: "Base"})
	patch := func(agent, added string) string {
		p := handoff.Producer{Agent: agent, Harness: "codex", Source: handoff.FromFlag}
		done, err := s.ws.As(workspace.Caller{Dir: s.ws.Root(), Producer: p}).Publish(t.Context(), handoff.Draft{
			Channel: "patch", Title: agent + "'s", Replaces: []string{base.ID}, MediaType: "text/x-diff",
			Body: strings.NewReader("--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n one\n+" + added + "\n")})
		must(t, err)
		return done.ID
	}
	first, second := patch("ann", "<script>alert(1)</script>"), patch("bob", "two")
	for _, path := range []string{"/compare?ref=" + first, "/compare", "/compare?ref=" + first + "&ref=" + second} {
		page := s.eventually(path, second) // what it was before is shown while it is read
		for _, want := range []string{`href="/artifacts/` + first + `"`, `href="/artifacts/` + second + `"`,
			"<dt>by</dt><dd>ann</dd>", "<dt>lines</dt><dd>&#43;1 −0</dd>", "&lt;script&gt;alert(1)"} {
			if !strings.Contains(page, want) {
				t.Errorf("%s does not have %s\n%s", path, want, page)
			}
		}
		if strings.Contains(page, "<script>alert") {
			t.Error("the content of a candidate is markup")
		}
	}
	if page := s.get("/artifacts/" + first); !strings.Contains(page, `href="/compare?ref=`+first+`"`) {
		t.Error("the page of an artifact does not lead to what competes with it")
	}
	alone := s.publish(handoff.Draft{Channel: "patch", Body: strings.NewReader("alone")})
	if page := s.get("/artifacts/" + alone.ID); strings.Contains(page, `href="/compare?ref=`) {
		t.Error("the page of an artifact that nothing competes with leads to a comparison")
	}
	if r, _ := s.do(request("GET", "/compare?ref=nothing")); r.StatusCode != 404 {
		t.Errorf("an unknown ref: got %d", r.StatusCode)
	}
	var sessions []string
	for range 2 {
		o, err := s.ws.Sessions().Open(t.Context(), session.OpenOptions{Agent: handoff.SessionAgent{Name: "casey"},
			Workflow: handoff.SessionWorkflow{Name: "deep-dive"}})
		must(t, err)
		sessions = append(sessions, o.ID)
	}
	if page := s.get("/compare?ref=" + sessions[0] + "&ref=" + sessions[1]); !strings.Contains(page, `id="previous"`) {
		t.Errorf("two sessions are not compared\n%s", page)
	}
}
