package program

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"html"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// noticeCodes returns the codes that the root declares.
func noticeCodes(t *testing.T) (codes []string) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../../notice.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			if typ, ok := v.Type.(*ast.Ident); ok && typ.Name == "NoticeCode" {
				code, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				codes = append(codes, code)
			}
		}
	}
	if len(codes) < 15 {
		t.Fatalf("found the codes %q", codes)
	}
	return codes
}

// shownArtifact is what a surface shows of an artifact.
type shownArtifact struct {
	Codes []string
	By    string // the agent, or else the program
	File  string // where it can be opened, "" for nowhere
}

// scenario is a repository with two worktrees in which there is a situation for each code.
type scenario struct {
	machines
	dir, other string            // the worktrees
	want       map[string]string // a code that each artifact must have
	sessions   map[string]string // and each session
}

// in runs a command in a directory and returns what it printed; its exit status is ignored
// for what fails on purpose.
func (s scenario) in(dir string, args ...string) string {
	s.Helper()
	c := s.command("one", args...)
	c.Dir = dir
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil && args[0] != "attest" && args[0] != "run" {
		s.Fatalf("handoff %q: %v\n%s%s", args, err, out, &stderr)
	}
	return strings.TrimSpace(string(out))
}

// publish publishes a new file, and expects the code.
func (s scenario) publish(code, dir string, args ...string) string {
	s.Helper()
	name := fmt.Sprintf("f%d.md", len(s.want))
	if err := os.WriteFile(filepath.Join(dir, name), []byte("text of "+name), 0o666); err != nil {
		s.Fatal(err)
	}
	return s.expect(code, s.in(dir, append([]string{"publish", name}, args...)...))
}

func (s scenario) expect(code, id string) string {
	s.Helper()
	if !handoff.IsArtifactID(id) {
		s.Fatalf("%s: %q is not an ID", code, id)
	}
	s.want[id] = cmp.Or(code, s.want[id])
	return id
}

func (s scenario) git(args ...string) {
	s.Helper()
	args = append([]string{"-C", s.dir, "-c", "user.name=u", "-c", "user.email=u@example.com"}, args...)
	c := exec.Command("git", args...)
	if out, err := c.CombinedOutput(); err != nil {
		s.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

func newScenario(t *testing.T) scenario {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	m := newMachines(t)
	s := scenario{m, m.work("one"), filepath.Join(m.home("one"), "other"), map[string]string{}, map[string]string{}}
	if err := os.MkdirAll(s.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	s.git("init", "-q")
	m.write("one", "work/shop.go", "package shop\n")
	s.git("add", ".")
	s.git("commit", "-q", "-m", "first")
	s.git("worktree", "add", "-q", s.other)
	return s
}

// artifacts makes a situation for each code of artifacts.
func (s scenario) artifacts() {
	old := s.publish("superseded", s.dir, "--channel", "design", "--agent", "ann")
	s.publish("stale", s.other, "--channel", "plan", "--from", old, "--agent", "bob")
	s.publish("", s.dir, "--channel", "design", "--replaces", old, "--agent", "ann")
	base := s.publish("superseded", s.dir, "--channel", "patch")
	s.publish("competing", s.dir, "--channel", "patch", "--replaces", base)
	s.publish("competing", s.other, "--channel", "patch", "--replaces", base, "--agent", "bob")
	over := s.publish("superseded", s.other, "--channel", "plan", "--agent", "bob")
	s.in(s.dir, "accept", s.publish("accepted", s.dir, "--channel", "plan", "--agent", "ann"), "--over", over)
	s.in(s.dir, "withdraw", s.publish("withdrawn", s.other, "--channel", "patch"), "--reason", "wrong")
	s.publish("asserted", s.dir, "--channel", "verification", "--claim", "it works")
	s.publish("not_kept", s.dir, "--channel", "analysis", "--keep=never")
	file := s.publish("modified", s.dir, "--channel", "analysis")
	s.change(file, "other text")
	s.change(s.publish("file_missing", s.dir, "--channel", "analysis", "--keep=never"), "")

	for code, args := range map[string][]string{
		"approved":          {"--approve", "--agent", "bob"},
		"changes_requested": {"--request-changes", "-m", "shorter", "--agent", "bob"},
		"commented":         {"--comment", "-m", "why?", "--agent", "bob"},
		"reviewed":          {"--approve", "--agent", "ann"},
	} {
		id := s.publish(code, s.dir, "--channel", "patch", "--agent", "ann")
		s.in(s.dir, append([]string{"review", id}, args...)...)
	}
	s.publish("review_asked", s.other, "--channel", "patch", "--agent", "ann", "--ask-review")

	claim := []string{"--channel", "verification", "--claim", "tests pass", "--evidence"}
	s.expect("attest_failed", s.attestation(s.in(s.dir, "attest", "--json", "--", "sh", "-c", "exit 3")))
	s.publish("contradicted", s.dir, append(claim, "command:sh -c 'exit 3'")...)
	s.attestation(s.in(s.dir, "attest", "--json", "--", "true"))
	s.publish("verified", s.dir, append(claim, "command:true")...)
	s.write("one", "work/shop.go", "package shop // changed\n")
	s.publish("claim_stale", s.dir, append(claim, "command:true")...)

	run := s.in(s.other, "run", "--agent", "cleo", "--", "sh", "-c",
		"echo in a run >in-run.md; handoff publish in-run.md --channel design >&2; echo $HANDOFF_SESSION")
	_, run, _ = strings.Cut("\n"+run, "\n")
	s.publish("late", s.dir, "--channel", "design", "--session", strings.TrimSpace(run))
}

// attestation returns the ID in an answer of attest.
func (s scenario) attestation(answer string) string {
	s.Helper()
	return s.expect("", fmt.Sprint(objectOf(s.T, answer)["id"]))
}

// change gives the file of an artifact another text, or removes it.
func (s scenario) change(id, text string) {
	s.Helper()
	file := fmt.Sprint(objectOf(s.T, s.in(s.dir, "show", id, "--json"))["file"])
	err := os.Remove(file)
	if text != "" {
		err = os.WriteFile(file, []byte(text), 0o666)
	}
	if err != nil {
		s.Fatal(err)
	}
}

// endedSessions makes a situation for each code of sessions.
func (s scenario) endedSessions() {
	open := func(code string, args ...string) string {
		id := fmt.Sprintf("11111111-2222-4333-8444-%012d", len(s.sessions))
		s.in(s.dir, append([]string{"session", "open", "--id", id, "--agent", "dee", "--workflow", "w"}, args...)...)
		s.sessions[id] = code
		return id
	}
	s.in(s.dir, "session", "close", "--session", open("session_failed"), "--status", "failed", "--reason", "no network")
	s.in(s.dir, "session", "close", "--session", open("output_missing", "--expect", "report.md"), "--status", "completed")
	s.write("one", "work/docs/agent-outputs/44444444-2222-4333-8444-000000000000/manifest.json",
		`{"version":"1.0.0","session_id":"44444444-2222-4333-8444-000000000000",`+
			`"agent":{"name":"dee","title":"Dee","bundle":"b"},"workflow":{"name":"w","description":"d"},`+
			`"execution":{"status":"running","started_at":"2026-01-02T03:04:05Z","user":"u"},"outputs":[]}`)
	s.in(s.dir, "import", filepath.Join(s.dir, "docs/agent-outputs"))
	s.sessions["44444444-2222-4333-8444-000000000000"] = "silent"

	run := s.command("one", "run", "--agent", "eve", "--", "sh", "-c", "echo $HANDOFF_SESSION; exec sleep 60")
	run.Dir = s.dir
	run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := run.StdoutPipe()
	if err == nil {
		err = run.Start()
	}
	if err != nil {
		s.Fatal(err)
	}
	id, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.Fatal(err)
	}
	syscall.Kill(-run.Process.Pid, syscall.SIGKILL)
	run.Wait()
	s.sessions[strings.TrimSpace(id)] = "process_gone"
}

// listed are artifacts or sessions in JSON.
type listed struct {
	Artifacts, Sessions []struct {
		ID       string
		File     *string
		Path     string
		Producer struct{ Agent, Harness string }
		Notices  []struct{ Code string }
	}
}

func (s scenario) decode(text string) (a listed) {
	s.Helper()
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		s.Fatalf("%v: %s", err, text)
	}
	return a
}

// shown returns what an answer shows; in lists of tools, a path without a file is that of the
// file in the directory of the caller.
func (a listed) shown(dir string) map[string]shownArtifact {
	list := map[string]shownArtifact{}
	for _, art := range append(a.Artifacts, a.Sessions...) {
		shown := shownArtifact{By: cmp.Or(art.Producer.Agent, art.Producer.Harness)}
		for _, n := range art.Notices {
			shown.Codes = append(shown.Codes, n.Code)
		}
		shown.Codes = slices.Compact(shown.Codes)
		if art.File != nil {
			shown.File = *art.File
		} else if dir != "" {
			shown.File = filepath.Join(dir, art.Path)
		}
		list[art.ID] = shown
	}
	return list
}

// table returns what the table of a command shows of each row.
func (s scenario) table(args ...string) map[string]shownArtifact {
	list := map[string]shownArtifact{}
	for line := range strings.Lines(s.in(s.dir, args...)) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		var codes []string
		if cells[1] != "" {
			codes = strings.Split(cells[1], ",")
		}
		list[cells[0]] = shownArtifact{Codes: codes, By: cells[min(2, len(cells)-1)]}
	}
	return list
}

// goList returns what a Go program sees.
func (s scenario) goList() map[string]shownArtifact {
	env := map[string]string{"HOME": s.home("one"), "HANDOFF_LOG": s.log}
	a := &cli.App{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Dir: s.dir, Now: time.Now,
		Getenv: func(name string) string { return env[name] }, Backends: backends}
	list := map[string]shownArtifact{}
	err := a.Reading(func(w *workspace.Workspace) error {
		page, err := w.List(s.Context(), workspace.ListOptions{Filter: workspace.Filter{IncludeInactive: true}})
		for _, art := range page.Artifacts {
			shown := shownArtifact{By: cmp.Or(art.Producer.Agent, art.Producer.Harness), File: art.File}
			for _, code := range handoff.Codes(art.Notices()) {
				shown.Codes = append(shown.Codes, string(code))
			}
			list[art.ID] = shown
		}
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
	return list
}

// withToken adds the token to the requests of a client.
type withToken string

func (token withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(r)
}

// serve starts the viewer and the MCP server over HTTP, and returns where they are and a
// client that may use them.
func (s scenario) serve() (root string, client *http.Client) {
	serve := s.command("one", "serve", "--listen", "127.0.0.1:0")
	serve.Dir = s.dir
	stderr, err := serve.StderrPipe()
	if err == nil {
		err = serve.Start()
	}
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		serve.Process.Signal(os.Interrupt)
		serve.Wait()
	})
	lines := bufio.NewScanner(stderr)
	for client == nil && lines.Scan() {
		if _, at, ok := strings.Cut(lines.Text(), "serving "); ok {
			root = strings.TrimSuffix(at, "/mcp")
		}
		if _, token, ok := strings.Cut(lines.Text(), "token: "); ok {
			client = &http.Client{Transport: withToken(token)}
		}
	}
	go io.Copy(io.Discard, stderr)
	return root, client
}

func (s scenario) get(client *http.Client, url string) string {
	s.Helper()
	answer, err := client.Get(url)
	if err != nil {
		s.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		s.Fatalf("%s: %s, %v\n%s", url, answer.Status, err, b)
	}
	return string(b)
}

var (
	noticeMark = regexp.MustCompile(`<span class="tag n-[a-z]+" data-notice="([a-z_]+)"`)
	rowOf      = regexp.MustCompile(`(?s)<li class="row".*?</li>`)
	rowID      = regexp.MustCompile(`href="/artifacts/(art_[0-9A-Z]+)"`)
	olderPage  = regexp.MustCompile(`<p class="more"><a href="(\?[^"]*)"`)
	pageBy     = regexp.MustCompile(`<dt>By</dt><dd>([^<]*)`)
	pageFile   = regexp.MustCompile(`<dt>Path</dt><dd class="mono">[^<]*<button[^>]* data-copy="([^"]*)"`)
)

func marksIn(text string) (codes []string) {
	for _, m := range noticeMark.FindAllStringSubmatch(text, -1) {
		codes = append(codes, m[1])
	}
	return codes
}

// page returns what the viewer's page of an artifact shows above its content.
func (s scenario) page(text string) (shown shownArtifact) {
	head, _, _ := strings.Cut(text, `<div class="columns">`)
	shown.Codes = marksIn(head)
	if m := pageBy.FindStringSubmatch(text); m != nil {
		shown.By = html.UnescapeString(m[1])
	}
	if m := pageFile.FindStringSubmatch(text); m != nil {
		shown.File = html.UnescapeString(m[1])
	}
	return shown
}

// TestNoticesOnEverySurface compares the notices, the producer and the file of artifacts in
// the table and the JSON of list, over MCP on standard input and over HTTP, in the pages of
// the viewer and in Go. There is a situation for each code.
func TestNoticesOnEverySurface(t *testing.T) {
	t.Parallel()
	// news shows these, of threads and pipeline runs: scripts news and pipeline_verdict
	seen := map[string]bool{"waiting_for_person": true, "gate_failed": true}
	here := newScenario(t)
	here.log = ""
	here.artifacts()
	here.endedSessions()
	here.compare(seen)
	here.compareSessions()

	away := newScenario(t)
	away.publish("", away.dir, "--channel", "review")
	server := strings.TrimSuffix(strings.TrimPrefix(away.log, "git:"), "?poll=0s")
	if err := os.Rename(server, server+".away"); err != nil {
		t.Fatal(err)
	}
	away.publish("queued", away.dir, "--channel", "review")
	away.compare(seen)
	for _, code := range noticeCodes(t) {
		if !seen[code] {
			t.Errorf("no situation has the code %s", code)
		}
	}
}

// clients returns clients of the MCP server on standard input and over HTTP, which have
// published an artifact each.
func (s scenario) clients(root string, client *http.Client) map[string]tools {
	stdio := s.command("one", "mcp")
	stdio.Dir = s.dir
	clients := map[string]tools{}
	for name, transport := range map[string]sdk.Transport{"stdio": &sdk.CommandTransport{Command: stdio},
		"HTTP": &sdk.StreamableClientTransport{Endpoint: root + "/mcp", HTTPClient: client}} {
		c, err := sdk.NewClient(&sdk.Implementation{Name: "client-" + name}, nil).Connect(s.Context(), transport, nil)
		if err != nil {
			s.Fatal(err)
		}
		s.Cleanup(func() { c.Close() })
		clients[name] = tools{s.machines, c, map[string]bool{}}
		s.expect("", fmt.Sprint(clients[name].call("artifact_publish",
			`{"content":"by `+name+`","channel":"review"}`)["id"]))
	}
	return clients
}

// compare compares what the surfaces show of the artifacts, and adds the codes that these
// must have and have.
func (s scenario) compare(seen map[string]bool) {
	s.Helper()
	root, client := s.serve()
	clients := s.clients(root, client)
	want := s.goList()
	for id, code := range s.want {
		seen[code] = true
		if code != "" && !slices.Contains(want[id].Codes, code) {
			s.Errorf("%s has %q, want %s", id, want[id].Codes, code)
		}
		if file := want[id].File; file != "" {
			if _, err := os.Stat(file); err != nil && code != "file_missing" {
				s.Errorf("%s: %v", id, err)
			}
		}
	}
	if len(want) < len(s.want) {
		s.Errorf("there are %d artifacts, want %d", len(want), len(s.want))
	}
	equal := func(surface string, got map[string]shownArtifact, of func(shownArtifact) shownArtifact) {
		s.Helper()
		for id, w := range want {
			if g := of(got[id]); !reflect.DeepEqual(g, of(w)) {
				s.Errorf("%s: %s (%s) is shown as\n%+v, want\n%+v", surface, id, s.want[id], g, of(w))
			}
		}
	}
	all := func(a shownArtifact) shownArtifact { return a }
	equal("table", s.table("list", "--all", "--limit", "0", "--columns", "id,notices,by"),
		func(a shownArtifact) shownArtifact { a.File = ""; return a })
	equal("JSON", s.decode(s.in(s.dir, "list", "--all", "--limit", "0", "--json")).shown(""), all)
	for name, c := range clients {
		rows := map[string]shownArtifact{}
		for cursor, more := "", true; more; more = cursor != "" {
			page := c.call("artifact_list", fmt.Sprintf(`{"all":true,"limit":100,"cursor":%q}`, cursor))
			b, _ := json.Marshal(page)
			maps.Copy(rows, s.decode(string(b)).shown(s.dir))
			cursor, _ = page["cursor"].(string)
		}
		equal("MCP over "+name, rows, all)
	}
	pages, rows := map[string]shownArtifact{}, map[string]shownArtifact{}
	for id := range want {
		pages[id] = s.page(s.get(client, root+"/artifacts/"+id))
	}
	for _, channel := range []string{"design", "plan", "patch", "verification", "analysis", "review"} {
		for query := "?status=all"; query != ""; {
			text := s.get(client, root+"/channels/"+channel+query)
			for _, row := range rowOf.FindAllString(text, -1) {
				if m := rowID.FindStringSubmatch(row); m != nil {
					rows[m[1]] = shownArtifact{Codes: marksIn(row)}
				}
			}
			query = ""
			if m := olderPage.FindStringSubmatch(text); m != nil {
				query = html.UnescapeString(m[1])
			}
		}
	}
	equal("page", pages, all)
	equal("rows of a page", rows, func(a shownArtifact) shownArtifact { return shownArtifact{Codes: a.Codes} })
	for _, code := range s.sessions {
		seen[code] = true
	}
}

// compareSessions does the same for sessions.
func (s scenario) compareSessions() {
	s.Helper()
	root, client := s.serve()
	json := s.decode(s.in(s.dir, "session", "find", "--json", "--limit", "0")).shown("")
	table := s.table("session", "find", "--limit", "0", "--columns", "id,notices")
	for id, code := range s.sessions {
		want := json[id].Codes
		if !slices.Contains(want, code) {
			s.Errorf("session %s has %q, want %s", id, want, code)
		}
		page := s.get(client, root+"/sessions/"+id)
		head, _, _ := strings.Cut(page, `<div class="columns">`)
		for surface, got := range map[string][]string{"table": table[id].Codes, "page": marksIn(head),
			"show": s.decode(`{"sessions":[` + s.in(s.dir, "show", id, "--json") + `]}`).shown("")[id].Codes} {
			if !slices.Equal(got, want) {
				s.Errorf("%s: session %s is shown with %q, want %q", surface, id, got, want)
			}
		}
	}
}
