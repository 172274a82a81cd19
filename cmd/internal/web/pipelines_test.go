package web_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/pipelines"
)

// submit submits the example of a stage, with changes.
func (s *site) submit(issue, stage string, change func(artifact string) string) {
	s.t.Helper()
	example, err := s.ws.Pipelines().Contracts("").Example(stage)
	must(s.t, err)
	b, err := handoff.EncodeJSON(example)
	must(s.t, err)
	text := string(b)
	if change != nil {
		text = change(text)
	}
	_, err = s.ws.Pipelines().Put(s.t.Context(),
		pipelines.Submission{Issue: issue, Stage: stage, Body: strings.NewReader(text), Lenient: true})
	must(s.t, err)
}

func TestPipeline(t *testing.T) {
	s := newSite(t)
	if page := s.get("/pipelines"); !strings.Contains(page, "handoff pipeline init ISSUE") {
		t.Errorf("the list does not say how to start a run\n%s", page)
	}
	s.submit("42", "plan", nil)
	s.submit("42", "implement", nil)
	s.submit("42", "plan", func(a string) string { return strings.Replace(a, "{", `{"extra": "x", `, 1) })
	if page := s.get("/pipelines"); !strings.Contains(page, `href="/pipelines/42"`) ||
		!strings.Contains(page, ">in progress<") {
		t.Errorf("the list does not have the run\n%s", page)
	}
	page := s.get("/pipelines/42")
	for _, want := range []string{"<h1>Issue 42", "<h2>Next: implement", "plan.json changed since",
		`<strong>plan</strong> <span class="tag t-done">done</span>`,
		`<strong>implement</strong> <span class="tag t-next">next</span>`, "Gate when submitted:", ">#2</a>", "<strong>review</strong>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the board does not contain %s\n%s", want, page)
		}
	}
	for _, path := range []string{"/pipelines/none", "/pipelines/completed/none", "/pipelines/a%20b", "/pipelines/a b",
		"/pipelines/.hidden"} {
		if r, _ := s.do(request("GET", path)); r.StatusCode/100 != 4 {
			t.Errorf("%s: got %d, want an error of the client", path, r.StatusCode)
		}
	}
}

// TestBoard checks the board of the runs of two pipelines, and the drawing of a definition.
func TestBoard(t *testing.T) {
	s := newSite(t)
	s.submit("42", "plan", nil)
	must(t, os.WriteFile(filepath.Join(s.ws.Root(), "handoff.pipeline.yaml"), []byte(`stages:
- {id: web, by: searcher, writes: web.md}
- {id: code, by: reader, writes: code.md}
- {id: merge, by: writer, needs: [web, code], writes: r.md, on: {FAIL: web}}
`), 0o666))
	p := s.ws.Pipelines()
	for _, issue := range []string{"7", "8"} {
		_, err := p.Init(t.Context(), issue, pipelines.InitOptions{})
		must(t, err)
	}
	for range 2 {
		_, err := p.Put(t.Context(),
			pipelines.Submission{Issue: "7", Stage: "web", Body: strings.NewReader("w"), Outcome: "none"})
		must(t, err)
	}
	agent := s.ws.As(workspace.Caller{Dir: s.ws.Root(), Producer: handoff.Producer{Agent: "reader"}})
	_, err := agent.Pipelines().Start(t.Context(), "8", "code", pipelines.StartOptions{})
	must(t, err)
	page := regexp.MustCompile(`\s+`).ReplaceAllString(regexp.MustCompile(`<time[^>]*>[^<]*</time>`).ReplaceAllString(
		s.get("/pipelines"), "TIME"), " ")
	for _, want := range []string{"<h2>jg</h2>", "<h2>handoff.pipeline.yaml</h2>",
		`<th scope="col">merge <span class="quiet">by writer</span></th>`,
		`<a href="/pipelines/7">7</a>`, `<td class="is-done"><span class="tag t-done">done</span> none`,
		`<td class="is-next"><span class="tag t-next">next</span> <span class="writer">reader TIME</span></td>`,
		`<td class="is-next"><span class="tag t-next">next</span> <span class="quiet">TIME</span></td>`} {
		if !strings.Contains(page, want) {
			t.Errorf("the board does not contain %s\n%s", want, page)
		}
	}
	page = s.get("/pipelines/7")
	if !strings.Contains(page, "by writer, writes r.md, needs web, code") {
		t.Errorf("the page of a run has other words than the definition\n%s", page)
	}
	if !strings.Contains(page, "data-diagram") || !strings.Contains(page, "s2 -. &#34;FAIL&#34; .-&gt; s0") {
		t.Errorf("the page of a run does not draw its definition\n%s", page)
	}
}

// Damaged and hostile artifacts of a run are shown as what they are.
func TestPipelineHostile(t *testing.T) {
	for name, content := range map[string]string{
		"torn": `{"affected_files": ["a`, "empty": "", "binary": "\x00\x01\x02", "list": "[1,2]", "deep": strings.Repeat("[",
			50_000),
		"script": `{"affected_files":["<script>alert(1)</script>"],"steps":[{"order":1,"action":"<img src=x onerror=alert(1)>","file":"\u202ex","description":"\u001b[31m"}],"verdict":"<script>alert(2)</script>","summary":"<svg onload=alert(1)>","status":"</li><script>"}`,
	} {
		s := newSite(t)
		dir := filepath.Join(s.ws.Root(), ".pipeline", "42")
		must(t, os.MkdirAll(dir, 0o755))
		for _, file := range []string{"plan.json", "worker-result.json", "test-result.json", "review-result.json",
			"debug-diagnosis.json", "git-result.json", "state.yaml", "pipeline-trace.json"} {
			must(t, os.WriteFile(filepath.Join(dir, file), []byte(content), 0o644))
		}
		for _, path := range []string{"/pipelines", "/pipelines/42"} {
			r, page := s.do(request("GET", path))
			if r.StatusCode >= 500 {
				t.Errorf("%s: GET %s: got %d\n%s", name, path, r.StatusCode, page)
			}
			for _, bad := range []string{"<script>alert", "<img", "<svg onload", "\u202e", "\x1b", "</li><script>"} {
				if strings.Contains(page, bad) {
					t.Errorf("%s: %s contains %q\n%s", name, path, bad, page)
				}
			}
		}
	}
}
