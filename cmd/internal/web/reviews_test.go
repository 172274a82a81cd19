package web_test

import (
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
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
