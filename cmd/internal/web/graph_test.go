package web_test

import (
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/session"
)

func TestGraph(t *testing.T) {
	s := newSite(t)
	if page := s.get("/graph"); !strings.Contains(page, "handoff publish FILE") {
		t.Errorf("the graph of an empty workspace does not say how to publish\n%s", page)
	}
	publish := func(title string, from ...string) string {
		return s.publish(handoff.Draft{Body: strings.NewReader(title), Channel: "design", Title: title, Parents: from}).
			ID
	}
	spec := publish("Spec </script><script>alert(1)</script>")
	plan := publish("Plan", spec)
	for i := range 6 {
		publish(fmt.Sprintf("Note %d", i), plan)
	}
	page := s.get("/graph?focus=" + plan)
	for _, want := range []string{
		`{"nodes": [{"label":"design: Plan"`, `"6 artifacts"`, `"kind":"from"`, "Spec &lt;/script&gt;", "its input:",
		"made from it:", "unfold=", "vendor/dagre.min.js",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %s\n%s", want, page)
		}
	}
	if strings.Contains(page, "Spec </script>") || strings.Contains(page, "Note 3") {
		t.Errorf("the page contains a script, or siblings that are folded\n%s", page)
	}
	_, link, _ := strings.Cut(page, `"url":"/graph?focus=`+plan+`\u0026unfold=`)
	link, _, _ = strings.Cut(link, `"`)
	if page = s.get("/graph?focus=" + plan + "&unfold=" + link); !strings.Contains(page, "Note 3") {
		t.Errorf("unfolded with %s: the page does not contain the siblings\n%s", link, page)
	}
	if page = s.get("/graph?hops=0"); strings.Count(page, `"label"`) != 3 {
		t.Errorf("the workspace has %d nodes, want 3\n%s", strings.Count(page, `"label"`), page)
	}
	for path, want := range map[string]int{"/graph?focus=none": 404, "/graph?focus=" + plan + "&hops=x&unfold=x": 200,
		"/graph?focus=" + plan + "&hops=-5": 200} {
		if r, _ := s.do(request("GET", path)); r.StatusCode != want {
			t.Errorf("GET %s: got %d, want %d", path, r.StatusCode, want)
		}
	}
}

// TestFoldedNotices folds siblings of which one is verified: their node is not green.
func TestFoldedNotices(t *testing.T) {
	s := newSite(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	must(t, exec.Command("git", "-C", s.ws.Root(), "init", "-q").Run())
	_, err := s.ws.Claims(nil).Attest(t.Context(), []string{"true"}, false,
		func(io.Writer) (session.Exit, error) { return session.Exit{}, nil })
	must(t, err)
	input := s.publish(handoff.Draft{Body: strings.NewReader("a"), Channel: "design"}).ID
	publish := func(claims ...handoff.Claim) {
		s.publish(handoff.Draft{Body: strings.NewReader("b"), Channel: "verification", Parents: []string{input},
			Claims: claims})
	}
	publish(handoff.Claim{Text: "It works",
		Evidence: []handoff.Evidence{{Kind: handoff.EvidenceCommand, Command: "true"}}})
	page := s.get("/graph?focus=" + input)
	if !strings.Contains(page, `verified","status":"ok"`) {
		t.Fatalf("the artifact is not verified\n%s", page)
	}
	for range 5 {
		publish()
	}
	page = s.get("/graph?focus=" + input)
	if !strings.Contains(page, `"6 artifacts"`) || strings.Contains(page, `"status":"ok"`) {
		t.Errorf("six siblings of which one is verified are shown as verified\n%s", page)
	}
}
