package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/agent-handoff/handoff/internal/trace/pullrequest"
	"go.yaml.in/yaml/v4"
)

func init() { programs["agent-handoff"] = programs["handoff"] }

// A hub answers like GitHub's API for pull request 7 of o/r.
type hub struct {
	*testing.T
	mu       sync.Mutex
	viewer   string // of the token, "" if it can't be asked for
	body     string // of the pull request
	comments []comment
	asked    []string
}

type comment struct {
	ID   int               `json:"id"`
	User map[string]string `json:"user"`
	Body string            `json:"body"`
}

func (h *hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer secret" {
		http.Error(w, "no token", http.StatusUnauthorized)
		return
	}
	var sent struct{ Body string }
	if b, _ := io.ReadAll(r.Body); r.Method != http.MethodGet && json.Unmarshal(b, &sent) != nil {
		http.Error(w, "no JSON", http.StatusBadRequest)
		return
	}
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	h.asked = append(h.asked, r.Method+" "+r.URL.Path)
	author := h.viewer
	if author == "" {
		author = "github-actions[bot]"
	}
	const comments = "/repos/o/r/issues/7/comments"
	switch h.asked[len(h.asked)-1] {
	case "POST /graphql":
		if h.viewer == "" {
			fmt.Fprint(w, `{"errors": [{"message": "Resource not accessible by integration"}]}`)
			return
		}
		fmt.Fprintf(w, `{"data": {"viewer": {"login": %q}}}`, h.viewer)
	case "GET /repos/o/r/pulls/7":
		repo := map[string]any{"repo": map[string]string{"full_name": "o/r"}}
		json.NewEncoder(w).Encode(map[string]any{"number": 7, "body": h.body, "head": repo, "base": repo})
	case "GET /repos/o/r/pulls/7/commits":
		fmt.Fprint(w, `[]`)
	case "GET /repos/o/r/pulls/7/files": // two pages
		var files []map[string]string
		for i := (page - 1) * 100; i < min(page*100, 101); i++ {
			name := "report.md"
			if i < 100 {
				name = fmt.Sprint("other", i)
			}
			files = append(files, map[string]string{"filename": name})
		}
		json.NewEncoder(w).Encode(files)
	case "GET " + comments:
		json.NewEncoder(w).Encode(h.comments)
	case "POST " + comments:
		h.comments = append(h.comments, comment{100 + len(h.comments), map[string]string{"login": author}, sent.Body})
		w.WriteHeader(http.StatusCreated)
	default:
		for i, c := range h.comments {
			if r.Method == http.MethodPatch && r.URL.Path == fmt.Sprint("/repos/o/r/issues/comments/", c.ID) {
				h.comments[i].Body = sent.Body
				return
			}
		}
		http.NotFound(w, r)
	}
}

// step runs the step of action.yml as a runner does, with inputs, for a pull request. It
// returns the exit code and what the hub was asked.
func (h *hub) step(server, dir, number string, inputs map[string]string) (code int, asked []string) {
	h.Helper()
	var action struct {
		Inputs map[string]struct{ Default string }
		Runs   struct {
			Steps []struct {
				Run string
				Env map[string]string
			}
		}
	}
	root, err := filepath.Abs("../../..")
	if err == nil {
		var b []byte
		if b, err = os.ReadFile(filepath.Join(root, "action.yml")); err == nil {
			err = yaml.Load(b, &action)
		}
	}
	if err != nil || len(action.Runs.Steps) == 0 {
		h.Fatal("action.yml has no steps", err)
	}
	h.asked = nil
	for _, step := range action.Runs.Steps {
		c := exec.Command("bash", "-c", step.Run)
		c.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "HOME=" + dir, "GITHUB_ACTION_PATH=" + root,
			"GITHUB_API_URL=" + server, "GITHUB_GRAPHQL_URL=" + server + "/graphql"}
		for name, value := range step.Env {
			c.Env = append(c.Env, name+"="+regexp.MustCompile(`\$\{\{\s*(\S+)\s*\}\}`).ReplaceAllStringFunc(value,
				func(text string) string {
					text = strings.Trim(text, "${} ")
					input := strings.TrimPrefix(text, "inputs.")
					switch given, ok := inputs[input]; {
					case text == "github.repository":
						return "o/r"
					case text == "github.event.pull_request.number":
						return number
					case ok:
						return given
					}
					return action.Inputs[input].Default
				}))
		}
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		_ = c.Run()
		h.Logf("the step exits %d: %s", c.ProcessState.ExitCode(), out.String())
		if code = c.ProcessState.ExitCode(); code != 0 {
			break
		}
	}
	return code, h.asked
}

// signed publishes an artifact, and calls run with the exit code that signers must lead to
// when it is approved with a signature.
func (c *console) signed(h *hub, run func(want int, signers string)) {
	c.t.Helper()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		return
	}
	key := filepath.Join(c.t.TempDir(), "key")
	for _, argv := range [][]string{{"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key},
		{"git", "init", "-q", c.dir}, {"git", "-C", c.dir, "config", "user.signingKey", key}} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			c.t.Fatal(err, string(out))
		}
	}
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		c.t.Fatal(err)
	}
	id := strings.TrimSpace(c.ok("publish", "report.md", "--channel", "verification", "--agent", "ann", "--session", "a"))
	h.body = "Handoff: " + id
	c.ok("review", id, "--approve", "--agent", "bob", "--session", "b")
	run(1, "a@example.com "+string(public))
	c.ok("review", id, "--approve", "--sign", "--agent", "bob", "--session", "b")
	run(0, "a@example.com "+string(public))
	run(1, "a@example.com ssh-ed25519 AAAA")
}

// TestAction runs the step of action.yml with a server in place of GitHub's. The first run
// posts a comment, the second updates it, also with the token of an app; the comment of
// another user that starts with the marker is left alone. The exit code follows the
// verdicts of the claims.
func TestAction(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "jq", "curl", "git"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("needs " + program)
		}
	}
	c := newConsole(t)
	bin := t.TempDir()
	program, err := exec.LookPath("agent-handoff")
	if err != nil {
		t.Fatal(err)
	}
	// go build -C DIR -o FILE .
	goBuild := "#!/bin/sh\nmkdir -p \"${5%/*}\" && ln -s '" + program + "' \"$5\"\n"
	if err := writeProgram(filepath.Join(bin, "go"), goBuild); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(bin, "log.git")
	if out, err := exec.Command("git", "init", "-q", "--bare", log).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	c.env["HANDOFF_LOG"], c.env["HOME"] = "git:"+log, t.TempDir()
	h := &hub{T: t, comments: []comment{{1, map[string]string{"login": "mallory"}, pullrequest.Marker + " evil"}}}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	inputs := map[string]string{"token": "secret", "log": "git:" + log, "build": "source"}
	run := func(want int, last string, more ...string) string {
		t.Helper()
		inputs["fail-on"], inputs["require"] = "contradicted", ""
		for i := 0; i < len(more); i += 2 {
			inputs[more[i]] = more[i+1]
		}
		code, asked := h.step(server.URL, bin, "7", inputs)
		if code != want || len(asked) == 0 || asked[len(asked)-1] != last {
			t.Errorf("with %q the step exits %d, want %d, and asks %q, want %s at the end", more, code, want, asked, last)
		}
		if h.comments[0].Body != pullrequest.Marker+" evil" {
			t.Error("it changed the comment of another user")
		}
		return h.comments[len(h.comments)-1].Body
	}
	const post, patch = "POST /repos/o/r/issues/7/comments", "PATCH /repos/o/r/issues/comments/101"
	if text := run(0, post); !strings.Contains(text, "no artifact or session") {
		t.Errorf("without artifacts it posts\n%s", text)
	}
	c.write("report.md", "x")
	id := strings.TrimSpace(c.ok("publish", "report.md", "--channel", "verification", "--claim", "the tests pass"))
	h.body = "Handoff: " + id
	text := run(0, patch)
	for _, want := range []string{"**Claims: 1 asserted**", "`asserted` · `the tests pass`", id} {
		if !strings.Contains(text, want) {
			t.Errorf("with a claim it posts, without %s\n%s", want, text)
		}
	}
	run(1, patch, "fail-on", "asserted")
	run(1, patch, "fail-on", "stale", "require", "verified")
	c.ok("withdraw", id)
	if text := run(0, patch, "fail-on", "stale"); strings.Contains(text, "**Claims") {
		t.Errorf("after the withdrawal it posts\n%s", text)
	}
	run(1, patch, "require", "verified")
	c.signed(h, func(want int, signers string) {
		run(want, patch, "require", "approved", "allowed-signers", signers)
	})
	inputs["allowed-signers"] = ""
	h.viewer = "team[bot]"
	run(0, post)
	run(0, "PATCH /repos/o/r/issues/comments/102")
	if len(h.comments) != 3 {
		t.Errorf("there are %d comments, want 3", len(h.comments))
	}
	if code, asked := h.step(server.URL, bin, "7", map[string]string{"token": "secret", "log": "git:" + log,
		"build": "source", "fail-on": "doubt"}); code != 2 || strings.Contains(strings.Join(asked, " "), "comments") {
		t.Errorf("with an unknown verdict it exits %d and asks %q", code, asked)
	}
	for _, number := range []string{"", "7; echo x", "../1"} {
		if code, asked := h.step(server.URL, bin, number, inputs); code != 0 || len(asked) > 0 {
			t.Errorf("number %q: it exits %d and asks %q", number, code, asked)
		}
	}
}
