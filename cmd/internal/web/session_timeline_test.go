package web_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
)

// TestSessionTimeline has the stages of a pipeline and the commits in the timeline of a session,
// and draws the sessions that are linked to it.
func TestSessionTimeline(t *testing.T) {
	s := newSite(t)
	before := s.open("alex")
	id := s.open("casey", before)
	after := s.open("sam", id)
	ws := s.ws
	s.ws = ws.As(workspace.Caller{Dir: ws.Root(), Producer: handoff.Producer{Session: id, Source: handoff.FromFlag}})
	s.submit("42", "plan", nil)
	s.submit("42", "implement", nil)
	s.ws = ws
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=casey", "-c", "user.email=casey@example.com",
		"commit", "--allow-empty", "-q", "-m", "Cap the delay"}} {
		out, err := exec.Command("git", append([]string{"-C", ws.Root()}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	_, err := ws.Sessions().Close(t.Context(), id, "completed", "")
	must(t, err)
	page := s.eventually("/sessions/"+id, "Cap the delay")
	line := between(page, `id="timeline"`, "</section>")
	for _, want := range []string{"<li>stages</li>", `href="/pipelines/42"`, "<title>42: plan, attempt 1, ",
		"<title>42: implement, attempt 1, ", "<li>commits</li>", "Cap the delay"} {
		if !strings.Contains(line, want) {
			t.Errorf("the timeline does not contain %s\n%s", want, line)
		}
	}
	chain := between(page, `id="chain"`, "</section>")
	if !strings.Contains(chain, `href="/sessions/`+before+`"`) || !strings.Contains(chain, `href="/sessions/`+after+`"`) ||
		strings.Count(chain, "<line") != 2 || strings.Count(chain, "<rect") != 3 ||
		strings.Count(chain, "<foreignObject") != 3 {
		t.Errorf("the chain does not have the sessions before and after\n%s", chain)
	}
	if page := s.get("/sessions/" + s.open("kim")); strings.Contains(page, `id="chain"`) {
		t.Errorf("a session without links has a chain\n%s", page)
	}
}
