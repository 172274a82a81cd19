package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/e2e/model"
)

var planFile = regexp.MustCompile(`/[^" \\]+/\.claude/plans/[a-z0-9-]+\.md`)

// planned returns the steps by which a model writes a plan and presents it.
func planned(text string) []model.Step {
	write := model.Call{Name: "Write", InputFrom: func(r model.Request) any {
		return map[string]any{"file_path": planFile.FindString(r.Raw), "content": text}
	}}
	return []model.Step{{Text: "I write.", Calls: []model.Call{write}},
		{Text: "I present it.", Calls: []model.Call{{Name: "ExitPlanMode", Input: map[string]any{}}}}}
}

// A planner is Claude Code in plan mode, which asks its user on standard output.
type planner struct {
	h     *home
	in    io.WriteCloser
	lines chan string
	ended chan error
}

func plan(h *home, url string) *planner {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	h.t.Cleanup(cancel)
	path, err := h.find("claude")
	if err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, path, "-p", "--model", "claude-sonnet-4-5", "--permission-mode", "plan",
		"--permission-prompt-tool", "stdio", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
	cmd.Dir, cmd.Env, cmd.WaitDelay = h.work, append(slices.Clone(h.env), claude.env(url)...), 10*time.Second
	p := &planner{h: h, lines: make(chan string, 1000), ended: make(chan error, 1)}
	if p.in, err = cmd.StdinPipe(); err != nil {
		h.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	go func() {
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			p.lines <- lines.Text()
		}
		close(p.lines)
		p.ended <- cmd.Wait()
	}()
	p.send(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": "[[plan]] Plan it."}})
	return p
}

func (p *planner) send(v any) {
	p.h.t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		_, err = p.in.Write(append(b, '\n'))
	}
	if err != nil {
		p.h.t.Fatal(err)
	}
}

// await returns the first line of standard output that has a text.
func (p *planner) await(text string) string {
	p.h.t.Helper()
	for line := range p.lines {
		if strings.Contains(line, text) {
			return line
		}
	}
	p.h.t.Fatalf("the program ended before it printed %s", text)
	return ""
}

// asked returns the ID of the next question that the program asks its user.
func (p *planner) asked() string {
	var request struct {
		ID string `json:"request_id"`
	}
	if err := json.Unmarshal([]byte(p.await(`"can_use_tool"`)), &request); err != nil {
		p.h.t.Fatal(err)
	}
	return request.ID
}

// end closes the input after the result, and waits for the program.
func (p *planner) end() {
	p.h.t.Helper()
	p.await(`"type":"result"`)
	p.in.Close()
	for range p.lines {
	}
	if err := <-p.ended; err != nil {
		p.h.t.Error(err)
	}
}

// last returns what the last request of a server has, without the turns of the model.
func last(s *model.Server) (text string) {
	all := s.Requests()
	for _, turn := range all[len(all)-1].Turns {
		text += turn.Text + "\n"
	}
	return text
}

// TestPlanReviewed has a plan of Claude Code reviewed: changes that are requested deny it with the
// comment, and an approval allows the next one. Nobody answers the program itself.
func TestPlanReviewed(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	s := h.serve(model.Script{"plan": slices.Concat(planned("# Retry\n\n1. Retry twice.\n"),
		planned("# Retry\n\n1. Retry twice, with a cap.\n"), []model.Step{{Text: "I carry it out."}})})
	h.must(nil, "handoff", "init", "--agent", "claude", "--allow", "--review-plans")
	p := plan(h, s.URL)
	review := func(ref string, args ...string) {
		h.must(nil, "handoff", "wait", ref, "--timeout", "2m")
		h.must(nil, append([]string{"handoff", "review", ref, "--agent", "ann", "--producer", "harness=other", "--session", "s2"},
			args...)...)
	}
	review("plan:v1", "--request-changes", "--quote", "twice", "-m", "Cap the delay at thirty seconds")
	review("plan:v2", "--approve", "-m", "Test the cap")
	p.end()
	text := last(s)
	for _, want := range []string{"changes requested by ann", "Cap the delay at thirty seconds", "User has approved your plan",
		"Test the cap"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("the last request has %q %d times, want once", want, strings.Count(text, want))
		}
	}
	if strings.Index(text, "Cap the delay") > strings.Index(text, "User has approved") {
		t.Error("the plan was approved before the comment")
	}
	var page struct{ Artifacts []artifact }
	h.handoff(&page, "list", "--all", "--channel", "plan", "--json")
	if len(page.Artifacts) != 2 {
		t.Errorf("%+v is published, want two revisions of the plan", page.Artifacts)
	}
}

// TestPlanUnreviewed ends the hook of a plan, and answers the question of Claude Code while
// it waits: the program does what its user answers, and nothing before that.
func TestPlanUnreviewed(t *testing.T) {
	for _, killed := range []bool{true, false} {
		t.Run(fmt.Sprintf("killed=%t", killed), func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			s := h.serve(model.Script{"plan": append(planned("# Retry\n"), model.Step{Text: "I see."})})
			h.must(nil, "handoff", "init", "--agent", "claude", "--allow", "--review-plans")
			p := plan(h, s.URL)
			question := p.asked()
			h.must(nil, "handoff", "wait", "plan:latest", "--timeout", "2m")
			if killed {
				kill(t, h)
			}
			if n := len(s.Requests()); n != 2 {
				t.Errorf("%d requests before the answer, want 2", n)
			}
			p.send(map[string]any{"type": "control_response", "response": map[string]any{"subtype": "success",
				"request_id": question, "response": map[string]any{"behavior": "deny", "message": "Not now, says the user"}}})
			p.end()
			if text := last(s); !strings.Contains(text, "Not now, says the user") || strings.Contains(text, "approved your plan") {
				t.Errorf("the program does not follow its user: %s", cut(text))
			}
		})
	}
}

// kill kills the hook that waits in a home directory.
func kill(t *testing.T, h *home) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		t.Skip("needs /proc")
	}
	n := 0
	for _, file := range files {
		words, _ := os.ReadFile(file)
		env, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "environ"))
		if strings.HasSuffix(string(words), "\x00hook\x00claude\x00") && strings.Contains(string(env), "HOME="+h.dir+"\x00") {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err == nil {
				err = syscall.Kill(pid, syscall.SIGKILL)
			}
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
	}
	if n != 1 {
		t.Fatalf("%d hooks wait, want 1", n)
	}
}
