package program

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// remoteLog has the location of an empty log for TestRemoteSurfaces, which the tests
// of the other engines set. Without it, the log is in a git repository. remoteProgram has
// the path of a program that can open the log, by default the one of these tests.
const (
	remoteLog     = "REMOTE_LOG"
	remoteProgram = "REMOTE_PROGRAM"
)

// machines are computers: each has a home and a directory of its own, and they share
// only a log.
type machines struct {
	*testing.T
	dir, log string
}

func newMachines(t *testing.T) machines {
	m := machines{t, t.TempDir(), os.Getenv(remoteLog)}
	if m.log == "" {
		if _, err := exec.LookPath("git"); err != nil {
			t.Skip("needs git")
		}
		server := filepath.Join(m.dir, "server.git")
		if out, err := exec.Command("git", "init", "-q", "--bare", server).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		m.log = "git:" + server + "?poll=0s"
	}
	return m
}

func (m machines) home(name string) string { return filepath.Join(m.dir, name) }

func (m machines) work(name string) string { return filepath.Join(m.home(name), "work") }

// command returns the program on a machine.
func (m machines) command(name string, args ...string) *exec.Cmd {
	m.Helper()
	if err := os.MkdirAll(filepath.Join(m.work(name), ".git"), 0o777); err != nil {
		m.Fatal(err)
	}
	c := exec.CommandContext(m.Context(), cmp.Or(os.Getenv(remoteProgram), "handoff"), args...)
	c.Dir = m.work(name)
	c.Env = []string{"HOME=" + m.home(name), "HANDOFF_LOG=" + m.log}
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "PATH=") || strings.HasPrefix(v, "AWS_") || strings.HasPrefix(v, "GOCOVERDIR=") {
			c.Env = append(c.Env, v)
		}
	}
	return c
}

// run runs a command and returns what it printed.
func (m machines) run(name string, args ...string) string {
	m.Helper()
	c := m.command(name, args...)
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		m.Fatalf("%s: handoff %q: %v\n%s%s", name, args, err, out, &stderr)
	}
	return strings.TrimSpace(string(out))
}

func (m machines) write(name, file, content string) {
	m.Helper()
	file = filepath.Join(m.home(name), file)
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		m.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o666); err != nil {
		m.Fatal(err)
	}
}

// A tools is the MCP server of a machine, and the tools that were called.
type tools struct {
	machines
	*sdk.ClientSession
	called map[string]bool
}

func (m machines) tools(name string) tools {
	m.Helper()
	c := m.command(name, "mcp")
	s, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(m.Context(), &sdk.CommandTransport{Command: c},
		nil)
	if err != nil {
		m.Fatal(err)
	}
	m.Cleanup(func() { s.Close() })
	return tools{m, s, map[string]bool{}}
}

// call calls a tool and returns its structured content.
func (s tools) call(tool, arguments string) object {
	s.Helper()
	s.called[tool] = true
	answer, err := s.CallTool(s.Context(), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil || answer.IsError {
		b, _ := json.Marshal(answer)
		s.Fatalf("%s %s: %v %s", tool, arguments, err, b)
	}
	return objectOf(s.T, answer.StructuredContent)
}

// TestRemoteSurfaces uses a log that machines share with every surface, as processes:
// each tool of the MCP server, the viewer with its live update, and threads that
// were kept on another machine.
func TestRemoteSurfaces(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	const thread = "8fd17d3d-5e4d-40c9-811e-63c7ecdcdf1e"
	token := "ghp_" + strings.Repeat("a1B2", 9)
	m.write("one", ".claude/projects/-work/"+thread+".jsonl",
		fmt.Sprintf(
			`{"type":"user","uuid":"u1","sessionId":"%s","version":"2.1.330","timestamp":"2026-02-23T00:00:01Z","cwd":"%s","message":{"role":"user","content":"Why is the cart empty? %s"}}`+"\n", thread, m.work("one"), token))
	m.run("one", "config", "set", "share_threads", "true")

	one, two := m.tools("one"), m.tools("two")
	id := one.call("artifact_publish", `{"content":"the design","channel":"design","title":"From one"}`)["id"].(string)
	for _, s := range []tools{one, two} { // what one machine has published, another reads
		if got := s.call("artifact_get", `{"ref":"`+id+`"}`)["title"]; got != "From one" {
			t.Errorf("artifact_get: title %v", got)
		}
		if got := s.call("artifact_wait", `{"channel":"design"}`); fmt.Sprint(got["artifacts"]) == "[]" {
			t.Errorf("artifact_wait: %v", got)
		}
		if got := s.call("read_artifact", `{"ref":"`+id+`"}`); !strings.Contains(fmt.Sprint(got), "the design") {
			t.Errorf("read_artifact: %v", got)
		}
		if got := s.call("artifact_search", `{"query":"From"}`); !strings.Contains(fmt.Sprint(got), id) {
			t.Errorf("artifact_search: %v", got)
		}
		if got := s.call("artifact_list", `{"channel":"design"}`); !strings.Contains(fmt.Sprint(got), id) {
			t.Errorf("artifact_list: %v", got)
		}
	}
	waited := make(chan object, 1)
	go func() { waited <- two.call("artifact_wait", `{"channel":"review","seconds":50}`) }()
	one.call("artifact_review", `{"ref":"`+id+`","text":"from one"}`)
	review := one.call("artifact_publish", `{"content":"fine","channel":"review","title":"Review","from":["`+id+
		`"]}`)["id"].(string)
	if got := <-waited; !strings.Contains(fmt.Sprint(got), review) {
		t.Errorf("artifact_wait on another machine = %v, want %s", got, review)
	}

	const session = "9fd17d3d-5e4d-40c9-811e-63c7ecdcdf1e"
	m.run("one", "session", "open", "--id", session, "--agent", "alex", "--workflow", "intake")
	m.write("one", "work/docs/agent-outputs/"+session+"/out.md", "the output")
	output := one.call("session_add_output", `{"file":"out.md","type":"document","session":"`+session+`"}`)["id"]
	m.run("one", "session", "close", "--session", session, "--status", "completed")
	two.call("status", `{}`)
	if got := two.call("session_find", `{"agent":"alex"}`); !strings.Contains(fmt.Sprint(got), session) {
		t.Errorf("session_find on another machine: %v", got)
	}
	if got := two.call("find_latest_output", `{"agent":"alex","type":"document"}`); output == nil || got["id"] != output ||
		got["file"] != "" {
		t.Errorf("find_latest_output on another machine: %v, want %v, whose file is not there", got, output)
	}
	m.run("one", "thread", "keep", "agents://claude/"+thread)
	for _, s := range []tools{one, two} { // the second from the copy in the log
		if got := s.call("thread_read", `{"uri":"claude/`+thread+`"}`); !strings.Contains(fmt.Sprint(got),
			"Why is the cart empty?") {
			t.Errorf("thread_read: %v", got)
		}
	}
	out := m.run("two", "thread", "agents://claude/"+thread)
	for _, want := range []string{"Why is the cart empty? [redacted GitHub token]", "this is the copy that was kept at",
		"1 secret redacted"} {
		if !strings.Contains(out, want) || strings.Contains(out, token) {
			t.Errorf("thread on another machine prints %q, want %q and no token", out, want)
		}
	}
	if out := m.run("two", "thread", "--everywhere"); !strings.Contains(out, "(kept copy)") {
		t.Errorf("threads on another machine prints %q, want the copy", out)
	}
	list, err := one.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var calls []struct {
		Tool      string
		Arguments json.RawMessage
	}
	b, err := os.ReadFile("../mcp/testdata/calls.json") // which .ci/mcp calls, too
	if err == nil {
		err = json.Unmarshal(b, &calls)
	}
	if err != nil {
		t.Fatal(err)
	}
	values := strings.NewReplacer("$NAME", "8", "$ID", id, "$SESSION", session, "$THREAD", thread)
	for _, c := range calls {
		if !one.called[c.Tool] && !two.called[c.Tool] {
			one.call(c.Tool, values.Replace(string(c.Arguments)))
		}
	}
	for _, tool := range list.Tools {
		if !one.called[tool.Name] && !two.called[tool.Name] {
			t.Errorf("the tool %s was not called", tool.Name)
		}
	}
	m.viewer("two", id, session, thread)
	m.run("three", "check")
}

// viewer opens the pages of the viewer of a machine, and publishes on another one, which
// updates them.
func (m machines) viewer(name, artifact, session, thread string) {
	m.Helper()
	ctx, cancel := context.WithCancel(m.Context())
	defer cancel()
	serve := m.command(name, "serve", "--listen", "127.0.0.1:0")
	stderr, err := serve.StderrPipe()
	if err == nil {
		err = serve.Start()
	}
	if err != nil {
		m.Fatal(err)
	}
	defer func() {
		serve.Process.Signal(os.Interrupt)
		if err := serve.Wait(); err != nil {
			m.Errorf("serve ends with %v", err)
		}
	}()
	lines := bufio.NewScanner(stderr)
	link := ""
	for link == "" && lines.Scan() {
		_, link, _ = strings.Cut(lines.Text(), "viewer: ")
	}
	go io.Copy(io.Discard, stderr)
	jar, err := cookiejar.New(nil)
	if err != nil {
		m.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	get := func(url string) *http.Response {
		m.Helper()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			m.Fatal(err)
		}
		answer, err := client.Do(r)
		if err != nil {
			m.Fatal(err)
		}
		return answer
	}
	page := func(path, want string) { // repeated until what the page does not wait for was read
		m.Helper()
		for text := ""; !strings.Contains(text, want); {
			answer := get(path)
			b, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			if text = string(b); err != nil || answer.StatusCode != http.StatusOK {
				m.Fatalf("%s: %s, %v, want a page with %q", path, answer.Status, err, want)
			}
		}
	}
	page(link, "handoff")
	root, _, _ := strings.Cut(link, "/open")
	for path, want := range map[string]string{
		"/": "From one", "/artifacts/" + artifact: "the design", "/sessions": session[:8], "/sessions/" +
			session: "out.md", "/channels": "design", "/channels/design": "From one",
		"/search?q=From": "From one", "/graph?ref=" + artifact: "From one", "/compare?ref=" + artifact: "From one",
		"/pipelines": "7", "/check": "record",
		"/threads/claude/" + thread: "this is the copy that was kept at",
	} {
		page(root+path, want)
	}
	events := get(root + "/events")
	defer events.Body.Close()
	changes := bufio.NewScanner(events.Body)
	if !changes.Scan() || changes.Text() != ": connected" {
		m.Fatalf("/events: %q, %v", changes.Text(), changes.Err())
	}
	m.write("one", "work/later.md", "later")
	m.run("one", "publish", "later.md", "--channel", "design", "--title", "Published later")
	for changes.Scan() && changes.Text() != "event: change" {
	}
	if changes.Err() != nil {
		m.Errorf("no event about a publish of another machine: %v", changes.Err())
	}
	page(root+"/channels/design", "Published later")
}
