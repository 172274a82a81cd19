package mcp_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/session"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/mcp"
	"github.com/agent-handoff/handoff/internal/tool/testdir"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/threads"
	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // the tests lack time, not memory
	os.Exit(testdir.Run(m.Run))
}

var update = flag.Bool("update", false, "write golden files")

// A fixture is a server for one workspace.
type fixture struct {
	t      testing.TB
	dir    string // of the workspace
	home   string
	env    map[string]string
	server *mcp.Server
}

// options change the options of a fixture's server.
func newFixture(t testing.TB, change ...func(*mcp.Options)) *fixture {
	t.Helper()
	f := &fixture{t: t, dir: t.TempDir(), home: t.TempDir(), env: map[string]string{}}
	f.dir, _ = filepath.EvalSymlinks(f.dir)
	must(t, os.Mkdir(filepath.Join(f.dir, ".git"), 0o755))
	getenv := func(name string) string { return f.env[name] }
	f.env["HOME"] = f.home
	o := mcp.Options{
		Open: func(dir string) (*workspace.Workspace, error) {
			return workspace.Open(dir, workspace.Options{Getenv: getenv})
		},
		Dir: f.dir, Getenv: getenv, Now: time.Now, Version: "test",
		Threads: thread.NewSet(all.Drivers(), getenv, f.home),
	}
	for _, c := range change {
		c(&o)
	}
	f.server = mcp.New(o)
	t.Cleanup(func() { must(t, f.server.Close()) })
	return f
}

func (f *fixture) write(name, content string) string {
	f.t.Helper()
	file := filepath.Join(f.dir, name)
	must(f.t, os.MkdirAll(filepath.Dir(file), 0o755))
	must(f.t, os.WriteFile(file, []byte(content), 0o644))
	return file
}

// connect returns a client in the name of an agent program.
func (f *fixture) connect(name string, o *sdk.ClientOptions, roots ...string) *sdk.ClientSession {
	f.t.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: name, Version: "1"}, o)
	for _, dir := range roots {
		//lint:ignore SA1019 clients before protocol 2026-07-28 have roots
		c.AddRoots(&sdk.Root{URI: "file://" + dir})
	}
	return f.connectClient(c)
}

func (f *fixture) connectClient(c *sdk.Client) *sdk.ClientSession {
	f.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	serverEnd, clientEnd := sdk.NewInMemoryTransports()
	ended := make(chan error, 1)
	go func() { ended <- f.server.Run(ctx, serverEnd) }()
	session, err := c.Connect(ctx, clientEnd, &sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	must(f.t, err)
	f.t.Cleanup(func() { session.Close(); <-ended; cancel() })
	return session
}

type result struct {
	text  string
	data  map[string]any
	isErr bool
}

func (r result) str(name string) string { s, _ := r.data[name].(string); return s }

// call calls a tool with arguments as JSON.
func call(t testing.TB, s *sdk.ClientSession, tool, arguments string, meta ...map[string]any) result {
	t.Helper()
	p := &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)}
	if len(meta) > 0 {
		p.Meta = meta[0]
	}
	answer, err := s.CallTool(t.Context(), p)
	if err != nil {
		t.Fatalf("%s %s: %v", tool, arguments, err)
	}
	if !answer.IsError {
		if err := outputSchemas()[tool].Validate(answer.StructuredContent); err != nil {
			t.Errorf("%s %s: the structured content does not match its schema: %v", tool, arguments, err)
		}
	}
	return resultOf(t, answer)
}

// outputSchemas are the output schemas of the golden tools, with which clients validate.
var outputSchemas = sync.OnceValue(func() map[string]*jsonschema.Resolved {
	b, err := os.ReadFile("testdata/tools.json")
	if err != nil {
		panic(err)
	}
	var golden struct {
		Tools []struct {
			Name         string
			OutputSchema *jsonschema.Schema
		}
	}
	if err := json.Unmarshal(b, &golden); err != nil {
		panic(err)
	}
	schemas := map[string]*jsonschema.Resolved{}
	for _, tool := range golden.Tools {
		if schemas[tool.Name], err = tool.OutputSchema.Resolve(nil); err != nil {
			panic(err)
		}
	}
	return schemas
})

func resultOf(t testing.TB, answer *sdk.CallToolResult) result {
	t.Helper()
	r := result{isErr: answer.IsError}
	for _, c := range answer.Content {
		if text, ok := c.(*sdk.TextContent); ok {
			r.text += text.Text
		}
	}
	var data any = map[string]any{"error": answer.Meta["handoff/error"]}
	if !answer.IsError {
		data = answer.StructuredContent
	} else if answer.StructuredContent != nil {
		t.Errorf("an error has structured content, which clients validate as a success: %v", answer.StructuredContent)
	}
	b, err := json.Marshal(data)
	must(t, err)
	must(t, json.Unmarshal(b, &r.data))
	return r
}

// mustCall is call for a tool that must succeed.
func mustCall(t testing.TB, s *sdk.ClientSession, tool, arguments string, meta ...map[string]any) result {
	t.Helper()
	r := call(t, s, tool, arguments, meta...)
	if r.isErr {
		t.Fatalf("%s %s: %s", tool, arguments, r.text)
	}
	return r
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestPublishClaim checks that a publish records a claim with its evidence.
func TestPublishClaim(t *testing.T) {
	f := newFixture(t)
	s := f.connect("test", nil)
	f.write("report.md", "It works.")
	id := mustCall(t, s, "artifact_publish",
		`{"path":"report.md","channel":"verification","claim":"tests pass","evidence":["command:go test ./..."]}`).str("id")
	got := fmt.Sprint(mustCall(t, s, "artifact_get", `{"ref":"`+id+`"}`).data)
	if !strings.Contains(got, "tests pass") || !strings.Contains(got, "command:go test ./...") {
		t.Errorf("got %s, want the claim with its command", got)
	}
	for _, arguments := range []string{`"evidence":["command:true"]`, `"claim":"c","evidence":["nothing"]`} {
		if r := call(t, s, "artifact_publish", `{"path":"report.md","channel":"verification",`+arguments+`}`); !r.isErr {
			t.Errorf("%s: got %v, want an error", arguments, r.data)
		}
	}
}

// TestContract compares the tools with testdata/tools.json, so that a change of
// the contract is visible in review, and bounds what it costs a client to keep
// them in its context.
func TestContract(t *testing.T) {
	s := newFixture(t).connect("test", nil)
	list, err := s.ListTools(t.Context(), nil)
	must(t, err)
	instructions := s.InitializeResult().Instructions
	sent, outputs := len(instructions), 0
	for _, tool := range list.Tools {
		output, err := json.Marshal(tool.OutputSchema)
		must(t, err)
		outputs += len(output)
		b, err := json.Marshal(sdk.Tool{Name: tool.Name, Description: tool.Description, InputSchema: tool.InputSchema})
		must(t, err)
		sent += len(b)
		loaded := tool.Meta["anthropic/alwaysLoad"] == true
		if want := tool.Name == "artifact_publish" || tool.Name == "artifact_wait"; loaded != want {
			t.Errorf("%s is always loaded: %t, want %t", tool.Name, loaded, want)
		}
	}
	// A token of JSON and English has 4.3 bytes with public tokenizers; .ci counts
	// tokens with one.
	if sent > 10_600 || outputs > 10_600 {
		t.Errorf("what a model sees has %d bytes and the output schemas %d, want at most 10,600 (2,500 tokens): shorten "+
			"descriptions, or leave out a tool", sent, outputs)
	}
	page, err := os.ReadFile("../../../docs/mcp.md")
	must(t, err)
	for _, tool := range list.Tools {
		if !strings.Contains(string(page), "\n| `"+tool.Name+"` | ") {
			t.Errorf("the table of tools in docs/mcp.md does not have %s", tool.Name)
		}
	}
	got, err := json.MarshalIndent(map[string]any{"instructions": instructions, "tools": list.Tools}, "", "  ")
	must(t, err)
	file := filepath.Join("testdata", "tools.json")
	if *update {
		must(t, os.MkdirAll("testdata", 0o755))
		must(t, os.WriteFile(file, append(got, '\n'), 0o644))
	}
	want, err := os.ReadFile(file)
	must(t, err)
	if string(want) != string(got)+"\n" {
		t.Errorf("the tools differ from %s; after a review, run: go test ./cmd/internal/mcp -run TestContract -update", file)
	}
}

// TestHandOver publishes as one agent, and finds, reads and revises as another.
func TestHandOver(t *testing.T) {
	f := newFixture(t)
	f.write("design.md", "# Retry policy\n")
	one, other := f.connect("codex-mcp-client", nil), f.connect("claude-code", nil)
	published := mustCall(t, one, "artifact_publish", `{"path":"design.md","channel":"design","title":"Retry policy"}`)
	id := published.str("id")
	if !strings.Contains(published.text, id) {
		t.Errorf("the text %q does not contain the ID %s", published.text, id)
	}
	list := mustCall(t, other, "artifact_list", `{"channel":"design"}`)
	if !strings.Contains(list.text, id) || !strings.Contains(fmt.Sprint(list.data["artifacts"]), id) {
		t.Errorf("the list %q does not contain %s", list.text, id)
	}
	if got := mustCall(t, other, "artifact_get", `{"ref":"`+id+`"}`); got.str("title") != "Retry policy" ||
		strings.Contains(got.text, "# Retry") {
		t.Errorf("artifact_get: %s %v", got.text, got.data)
	}
	f.write("design.md", "changed\n")
	if got := mustCall(t, other, "read_artifact", `{"ref":"`+id+`"}`); got.str("content") != "# Retry policy\n" {
		t.Errorf("read_artifact: %q, want the published bytes", got.str("content"))
	}
	revised := mustCall(t, other, "artifact_publish", `{"path":"design.md","channel":"design","replaces":["`+id+`"]}`)
	if got := mustCall(t, one, "artifact_get", `{"ref":"`+id+`"}`); got.str("status") != "superseded" {
		t.Errorf("status %s after %s replaced it, want superseded", got.str("status"), revised.str("id"))
	}
	if got := mustCall(t, one, "artifact_get",
		`{"ref":"`+id+`","history":true}`); len(got.data["artifacts"].([]any)) != 2 {
		t.Errorf("history: %v", got.data)
	}
	if got := mustCall(t, one, "artifact_search", `{"query":"changed"}`); !strings.Contains(got.text, revised.str("id")) {
		t.Errorf("artifact_search: %s", got.text)
	}
}

// TestReview requests changes as one agent, and answers and resolves them as another.
func TestReview(t *testing.T) {
	f := newFixture(t)
	f.write("fix.diff", "one\ntwo\nthree\n")
	author, reviewer := f.connect("codex-mcp-client", nil), f.connect("codex-mcp-client", nil)
	one, other := map[string]any{"threadId": "one"}, map[string]any{"threadId": "other"}
	id := mustCall(t, author, "artifact_publish", `{"path":"fix.diff","channel":"patch","askReview":true}`, one).str("id")
	waiting := mustCall(t, author, "artifact_wait", `{"refs":["`+id+`","design:latest"],"reviewed":true,"seconds":1}`, one)
	if waiting.data["waiting"] != true || fmt.Sprint(waiting.data["missing"]) != "[design:latest a review of "+id+"]" {
		t.Errorf("artifact_wait: %v, want both missing", waiting.data)
	}
	done := mustCall(t, reviewer, "artifact_review",
		`{"ref":"`+id+`","decision":"changes_requested","lines":"2","text":"say \"please\""}`, other)
	comments := fmt.Sprint(done.data["comments"])
	got := mustCall(t, author, "artifact_get", `{"ref":"`+id+`"}`, one)
	if comment := strings.Trim(comments, "[]"); !strings.Contains(got.text, "comment "+comment+" by ") ||
		!strings.Contains(got.text, `at "line 2", of "two": "say \"please\""`) {
		t.Errorf("artifact_get does not quote the comment: %s", got.text)
	}
	f.write("fix.diff", "one\n2\nthree\n")
	second := mustCall(t, author, "artifact_publish",
		`{"path":"fix.diff","channel":"patch","replaces":["`+id+`"],"resolves":["all"]}`, one).str("id")
	if got := mustCall(t, reviewer, "artifact_get", `{"ref":"`+second+`"}`, other); got.data["comments"] != nil {
		t.Errorf("a resolved comment is on the revision: %v", got.data["comments"])
	}
	mustCall(t, reviewer, "artifact_review", `{"ref":"`+second+`","decision":"approved"}`, other)
	there := mustCall(t, author, "artifact_wait", `{"channel":"patch","reviewed":true}`, one)
	if list, ok := there.data["artifacts"].([]any); !ok || len(list) != 1 || there.data["waiting"] != false {
		t.Errorf("artifact_wait: %v, want the reviewed artifact", there.data)
	}
}

// TestNames writes one name from two runs.
func TestNames(t *testing.T) {
	f := newFixture(t)
	s := f.connect("test", nil)
	for _, run := range []string{"r1", "r2"} {
		mustCall(t, s, "write_artifact", `{"name":"context.md","content":"of `+run+`","run":"`+run+`"}`)
	}
	for _, run := range []string{"r1", "r2"} {
		if got := mustCall(t, s, "read_artifact", `{"ref":"context.md","run":"`+run+`"}`); got.str("content") != "of "+run {
			t.Errorf("%s reads %q", run, got.str("content"))
		}
	}
	if got := call(t, s, "read_artifact", `{"ref":"context.md"}`); !got.isErr {
		t.Errorf("an ambiguous name is read: %v", got.data)
	}
}

// TestErrors checks that an error is a result that a model can act on.
func TestErrors(t *testing.T) {
	s := newFixture(t).connect("test", nil)
	for _, tt := range []struct{ tool, arguments, kind, hint string }{
		{"artifact_get", `{"ref":"art_01K00000000000000000000000"}`, "not found", "call artifact_list"},
		{"artifact_publish", `{"path":"missing.md","channel":"x"}`, "not found", ""},
		{"artifact_publish", `{"path":"../outside.md","channel":"x"}`, "invalid", ""},
		{"artifact_publish", `{"channel":"x","content":"y","chanel":"z"}`, "invalid", "schema"},
		{"artifact_publish", `{"path":7,"channel":"x"}`, "invalid", "schema"},
		{"artifact_publish", `[1]`, "invalid", "schema"},
		{"artifact_publish", `{}`, "invalid", "call artifact_publish with channel: analysis"},
		{"write_artifact", `{"name":"a.md","content":"x"}`, "invalid", "name a run or session"},
		{"artifact_list", `{"workspace":"/etc"}`, "invalid", "ask the user"},
		{"thread_read", `{"uri":"nonsense"}`, "", ""},
		{"stage_next", `{"issue":"42"}`, "not found", ""},
	} {
		r := call(t, s, tt.tool, tt.arguments)
		failure, _ := r.data["error"].(map[string]any)
		kind, _ := failure["kind"].(string)
		hint, _ := failure["hint"].(string)
		if !r.isErr || tt.kind != "" && kind != tt.kind || !strings.Contains(hint, tt.hint) {
			t.Errorf("%s %s: error %t, kind %q, hint %q, want %q with %q\n%s", tt.tool, tt.arguments, r.isErr, kind, hint,
				tt.kind, tt.hint, r.text)
		}
		if strings.Contains(r.text, "handoff ") || strings.Contains(r.text, "--") || strings.Contains(r.text, "HANDOFF_") {
			t.Errorf("%s %s: the error names a command line: %s", tt.tool, tt.arguments, r.text)
		}
	}
}

// TestErrorSize bounds an error that quotes an argument.
func TestErrorSize(t *testing.T) {
	s := newFixture(t).connect("test", nil)
	r := call(t, s, "thread_read", `{"uri":"thread:`+strings.Repeat("é", 1<<19)+`"}`)
	failure, _ := r.data["error"].(map[string]any)
	message, _ := failure["message"].(string)
	if !r.isErr || !strings.HasSuffix(message, "…") || len(message) > 2<<10+len("…") || len(r.text) > 8<<10 {
		t.Errorf("error %t, a message of %d bytes, a text of %d: %.200s", r.isErr, len(message), len(r.text), r.text)
	}
}

// TestListSize bounds a list of 50 refs.
func TestListSize(t *testing.T) {
	f := newFixture(t)
	s := f.connect("test", nil)
	for i := range 50 {
		f.write(fmt.Sprintf("docs/report-%02d.md", i), "x")
		mustCall(t, s, "artifact_publish",
			fmt.Sprintf(`{"path":"docs/report-%02d.md","channel":"analysis","title":"Report %02d"}`, i, i))
	}
	answer, err := s.CallTool(t.Context(), &sdk.CallToolParams{
		Name: "artifact_list", Arguments: json.RawMessage(`{"limit":50}`)})
	must(t, err)
	b, err := json.Marshal(answer.StructuredContent)
	must(t, err)
	text := resultOf(t, answer).text
	if len(b) > 7<<10 || len(text) > 6<<10 || strings.Count(text, "\n") != 49 {
		t.Errorf("50 refs have %d bytes and %d bytes of text in %d lines", len(b), len(text), strings.Count(text, "\n")+1)
	}
}

// TestListNotes checks that a list shows revisions, labels and artifacts with a
// stale input, and that artifact_get names the input and what replaced it.
func TestListNotes(t *testing.T) {
	f := newFixture(t)
	s := f.connect("test", nil)
	publish := func(arguments string) string { return mustCall(t, s, "artifact_publish", arguments).str("id") }
	design := publish(`{"content":"one","channel":"design"}`)
	patch := publish(`{"content":"two","channel":"patch","from":["` + design + `"]}`)
	if list := mustCall(t, s, "artifact_list", `{}`); strings.Contains(list.text, "(") {
		t.Errorf("notes on artifacts that are as usual: %s", list.text)
	}
	newer := publish(`{"content":"three","channel":"design","replaces":["` + design + `"]}`)
	w, err := workspace.Open(f.dir, workspace.Options{})
	must(t, err)
	defer w.Close()
	_, err = w.Label(t.Context(), newer, "chosen")
	must(t, err)
	list := mustCall(t, s, "artifact_list", `{}`)
	for id, notes := range map[string]string{newer: "  (v2, chosen)", patch: "  (stale)"} {
		if !regexp.MustCompile(`(?m)^` + id + `.*\Q` + notes + `\E$`).MatchString(list.text) {
			t.Errorf("%s has no notes%s:\n%s", id, notes, list.text)
		}
	}
	artifacts := list.data["artifacts"].([]any)
	first, last := artifacts[0].(map[string]any), artifacts[1].(map[string]any)
	if first["revision"] != 2.0 || !reflect.DeepEqual(first["labels"], []any{"chosen"}) ||
		!reflect.DeepEqual(last["notices"], []any{map[string]any{"code": "stale"}}) || last["revision"] != nil {
		t.Errorf("%v", artifacts)
	}
	if got := mustCall(t, s, "artifact_get", `{"ref":"`+patch+`"}`).text; !strings.Contains(got,
		"input design v1 ("+design+") was replaced; v2 ("+newer+") is active") {
		t.Errorf("artifact_get: %s", got)
	}
}

// TestPages reads a body page by page, in lines and in bytes.
func TestPages(t *testing.T) {
	f := newFixture(t)
	s := f.connect("test", nil)
	var text strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&text, "line %d of many\n", i)
	}
	f.write("long.txt", text.String())
	f.write("wide.txt", strings.Repeat("x", 200<<10))
	long := mustCall(t, s, "artifact_publish", `{"path":"long.txt","channel":"x"}`).str("id")
	wide := mustCall(t, s, "artifact_publish", `{"path":"wide.txt","channel":"x"}`).str("id")
	read := func(id, more string) (all string, calls int) {
		for offset := 0.0; ; calls++ {
			page := mustCall(t, s, "read_artifact", fmt.Sprintf(`{"ref":%q,"offset":%d%s}`, id, int64(offset), more))
			if len(page.str("content")) > 64<<10 {
				t.Fatalf("a page of %d bytes", len(page.str("content")))
			}
			all += page.str("content")
			next, ok := page.data["next"].(float64)
			if !ok {
				return all, calls + 1
			}
			offset = next
		}
	}
	if got, calls := read(long, ""); got != text.String() || calls != 6 {
		t.Errorf("%d bytes in %d pages, want %d in 6", len(got), calls, text.Len())
	}
	if got, _ := read(wide, `,"bytes":true`); len(got) != 200<<10 {
		t.Errorf("%d bytes, want %d", len(got), 200<<10)
	}
	if r := call(t, s, "read_artifact", `{"ref":"`+wide+`"}`); !r.isErr || !strings.Contains(r.text, "by bytes") {
		t.Errorf("a line of 200 KiB: %.200s", r.text)
	}
}

// TestWait waits for an artifact that another client publishes.
func TestWait(t *testing.T) {
	f := newFixture(t)
	waiter, publisher := f.connect("test", nil), f.connect("test", nil)
	f.write("a.md", "a")
	waiting := mustCall(t, waiter, "artifact_wait", `{"channel":"design","seconds":1}`)
	if waiting.data["waiting"] != true {
		t.Fatalf("nothing was published: %v", waiting.data)
	}
	published := mustCall(t, publisher, "artifact_publish", `{"path":"a.md","channel":"design"}`).str("id")
	after := waiting.str("after")
	for _, start := range []string{`"` + after + `"`, after, "0"} {
		if got := mustCall(t, waiter, "artifact_wait", `{"channel":"design","after":`+start+`}`); got.str("id") != published {
			t.Errorf("after %s: got %v, want %s, which was published between the calls", start, got.data, published)
		}
	}
	for _, start := range []string{published, "now", "design:latest"} {
		got := mustCall(t, waiter, "artifact_wait", `{"channel":"design","after":"`+start+`","seconds":1}`)
		if got.data["waiting"] != true {
			t.Errorf("after %s: got %v", start, got.data)
		}
		// What is published between two calls counts, whatever the first one named.
		next := mustCall(t, publisher, "artifact_publish", `{"content":"`+start+`","channel":"design"}`).str("id")
		again := mustCall(t, waiter, "artifact_wait", `{"channel":"design","after":"`+got.str("after")+`","seconds":1}`)
		if again.str("id") != next {
			t.Errorf("after %s, and then after %s: got %v, want %s", start, got.str("after"), again.data, next)
		}
	}
	if r := call(t, waiter, "artifact_wait", `{"seconds":-1}`); !r.isErr || !strings.Contains(r.text, "negative") {
		t.Errorf("-1 seconds: got %s", r.text)
	}
	for _, start := range []string{`"nothing"`, `-1`, `{}`} {
		if r := call(t, waiter, "artifact_wait", `{"after":`+start+`,"seconds":1}`); !r.isErr ||
			!strings.Contains(r.text, "after") && !strings.Contains(r.text, "nothing") {
			t.Errorf("after %s: got %s", start, r.text)
		}
	}
	arrived := make(chan result, 1)
	go func() {
		answer, err := waiter.CallTool(context.Background(),
			&sdk.CallToolParams{Name: "artifact_wait", Arguments: json.RawMessage(`{"channel":"patch"}`)})
		if err != nil {
			t.Error(err)
			arrived <- result{}
			return
		}
		arrived <- resultOf(t, answer)
	}()
	patch := mustCall(t, publisher, "artifact_publish", `{"path":"a.md","channel":"patch"}`).str("id")
	if got := <-arrived; got.str("id") != patch {
		t.Errorf("the waiting call got %v, want %s", got.data, patch)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := waiter.CallTool(ctx, &sdk.CallToolParams{Name: "artifact_wait",
		Arguments: json.RawMessage(`{"channel":"never","seconds":10000000000}`)}); err == nil {
		t.Error("a cancelled call has a result")
	}
	mustCall(t, waiter, "artifact_list", `{}`) // the server answers after a cancelled call
}

// TestIdentity checks what records say about the clients that made them.
func TestIdentity(t *testing.T) {
	f := newFixture(t)
	f.write("a.md", "a")
	for _, tt := range []struct {
		client string
		meta   map[string]any
		want   handoff.Producer
	}{
		{"claude-code", map[string]any{"claudecode/toolUseId": "toolu_1"},
			handoff.Producer{Harness: "claude-code", ToolCallID: "toolu_1"}},
		{"codex-mcp-client", map[string]any{"threadId": "t2", "sessionId": "t1", "callId": "c1"},
			handoff.Producer{Harness: "codex", Session: "t1", RunID: "t2", Thread: "agents://codex/t2",
				ToolCallID: "c1"}},
		{"gemini-cli-mcp-client", nil, handoff.Producer{Harness: "gemini-cli"}},
		{"some-editor", nil, handoff.Producer{Harness: "some-editor"}},
	} {
		s := f.connect(tt.client, nil)
		id := mustCall(t, s, "artifact_publish", `{"path":"a.md","channel":"x"}`, tt.meta).str("id")
		got := producer(t, mustCall(t, s, "artifact_get", `{"ref":"`+id+`"}`))
		if got.Harness != tt.want.Harness || got.Session != tt.want.Session || got.RunID != tt.want.RunID ||
			got.Thread != tt.want.Thread || got.ToolCallID != tt.want.ToolCallID || got.Source != handoff.FromMCP {
			t.Errorf("%s: %+v, want %+v", tt.client, got, tt.want)
		}
	}
}

// TestMembership checks in which session and run a call records, inside and outside a
// session that the environment of the server names, and whose name of the program wins.
func TestMembership(t *testing.T) {
	f := newFixture(t)
	w, err := workspace.Open(f.dir, workspace.Options{Getenv: func(string) string { return "" }})
	must(t, err)
	defer w.Close()
	open := func() string {
		s, err := w.Sessions().Open(t.Context(), session.OpenOptions{DefaultName: "s"})
		must(t, err)
		return s.ID
	}
	ours, run, closed := open(), open(), open()
	_, err = w.Sessions().Close(t.Context(), closed, session.Completed, "")
	must(t, err)
	codex := map[string]any{"threadId": "t2", "callId": "c1"}
	sub := map[string]any{"threadId": "t2", "sessionId": "t1", "callId": "c1"}
	for name, tt := range map[string]struct {
		env    map[string]string
		client string
		meta   map[string]any
		want   handoff.Producer
	}{
		"in a session": {map[string]string{"HANDOFF_SESSION": ours, "HANDOFF_AGENT": "ada"}, "codex-mcp-client", codex,
			handoff.Producer{Harness: "codex", Agent: "ada", Session: ours, Thread: "agents://codex/t2"}},
		"in a run": {map[string]string{"HANDOFF_SESSION": ours, "HANDOFF_RUN": run}, "opencode",
			map[string]any{"ai.opencode/sessionID": "o1"},
			handoff.Producer{Harness: "opencode", Session: ours, RunID: run, Thread: "agents://opencode/o1"}},
		"in a run that has ended": {map[string]string{"HANDOFF_SESSION": ours, "HANDOFF_RUN": closed}, "opencode",
			map[string]any{"ai.opencode/sessionID": "o1"},
			handoff.Producer{Harness: "opencode", Session: "o1", Thread: "agents://opencode/o1"}},
		"a subagent in a session": {map[string]string{"HANDOFF_SESSION": ours}, "codex-mcp-client", sub,
			handoff.Producer{Harness: "codex", Session: ours, RunID: "t2", Thread: "agents://codex/t2"}},
		"in a session that has ended": {map[string]string{"HANDOFF_SESSION": closed}, "codex-mcp-client", codex,
			handoff.Producer{Harness: "codex", Session: "t2", Thread: "agents://codex/t2"}},
		"in a session of another log": {map[string]string{"HANDOFF_SESSION": "ses_other"}, "codex-mcp-client", codex,
			handoff.Producer{Harness: "codex", Session: "t2", Thread: "agents://codex/t2"}},
		"an orchestrator": {map[string]string{"HANDOFF_HARNESS": "flue", "HANDOFF_TASK": "task_2", "HANDOFF_AGENT": "b"},
			"my-client", nil, handoff.Producer{Harness: "flue", Agent: "b", TaskID: "task_2"}},
	} {
		t.Run(name, func(t *testing.T) {
			f.env = maps.Clone(tt.env)
			s := f.connect(tt.client, nil)
			id := mustCall(t, s, "artifact_publish", `{"content":"x","channel":"x"}`, tt.meta).str("id")
			got := producer(t, mustCall(t, s, "artifact_get", `{"ref":"`+id+`"}`))
			if got.Harness != tt.want.Harness || got.Agent != tt.want.Agent || got.Session != tt.want.Session ||
				got.RunID != tt.want.RunID || got.TaskID != tt.want.TaskID || got.Thread != tt.want.Thread {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// TestSubagentOfCall checks that a record names the subagent of Claude Code that
// made the call, as soon as the transcripts show it, and else the main agent.
func TestSubagentOfCall(t *testing.T) {
	f := newFixture(t)
	const session = "8fd17d3d-5e4d-40c9-811e-63c7ecdcdf1e"
	f.env["CLAUDECODE"], f.env["CLAUDE_CODE_SESSION_ID"] = "1", session
	main := filepath.Join(f.home, ".claude", "projects", "-x", session)
	must(t, os.MkdirAll(filepath.Join(main, "subagents"), 0o755))
	write := func(file, call string) {
		must(t,
			os.WriteFile(file,
				fmt.Appendf(nil, `{"type":"assistant","sessionId":%q,"message":{"content":[{"type":"tool_use","id":%q}]}}`+"\n",
					session, call), 0o644))
	}
	s := f.connect("claude-code", nil)
	thread := func(call string) string {
		id := mustCall(t, s, "artifact_publish", `{"content":"`+call+`","channel":"x"}`,
			map[string]any{"claudecode/toolUseId": call}).str("id")
		return producer(t, mustCall(t, s, "artifact_get", `{"ref":"`+id+`"}`)).Thread
	}
	write(main+".jsonl", "toolu_main")
	written := make(chan bool)
	go func() {
		defer close(written)
		time.Sleep(50 * time.Millisecond) // as Claude Code, which creates it after the first calls
		write(filepath.Join(main, "subagents", "agent-a2.jsonl"), "toolu_late")
	}()
	if got := thread("toolu_late"); got != "agents://claude/"+session+"/a2" {
		t.Errorf("the thread of a call that is in no transcript yet is %s", got)
	}
	<-written
	write(filepath.Join(main, "subagents", "agent-a1.jsonl"), "toolu_sub")
	for call, want := range map[string]string{"toolu_main": "", "toolu_sub": "/a1", "toolu_unknown": ""} {
		if got := thread(call); got != "agents://claude/"+session+want {
			t.Errorf("the thread of %s is %s, want that of %q", call, got, want)
		}
	}
}

// TestCallerArgument checks that the argument of the plugin for OpenCode names
// the caller, and that other clients can't use it.
func TestCallerArgument(t *testing.T) {
	f := newFixture(t)
	f.write("a.md", "a")
	const arguments = `{"path":"a.md","channel":"x","handoff/caller":{"session":"ses_1","parent":"ses_0","call":"call_1"}}`
	s := f.connect("opencode", nil)
	id := mustCall(t, s, "artifact_publish", arguments).str("id")
	got := producer(t, mustCall(t, s, "artifact_get", `{"ref":"`+id+`"}`))
	if got.Session != "ses_1" || got.Thread != "agents://opencode/ses_1" || got.ToolCallID != "call_1" ||
		got.Source != handoff.FromMCP || got.ParentSession != "ses_0" {
		t.Errorf("the producer is %+v, want session ses_1, started by ses_0, and call call_1", got)
	}
	if r := call(t, f.connect("some-editor", nil), "artifact_publish", arguments); !r.isErr {
		t.Errorf("another client used the argument: %v", r.data)
	}
}

func producer(t testing.TB, r result) (p handoff.Producer) {
	t.Helper()
	b, err := json.Marshal(r.data["producer"])
	must(t, err)
	must(t, json.Unmarshal(b, &p))
	return p
}

// TestWorkspaces checks which workspace a call is for.
func TestWorkspaces(t *testing.T) {
	f := newFixture(t)
	f.write("a.md", "a")
	project, plugin, strange := newFixture(t), newFixture(t), newFixture(t)
	project.write("sub/p.md", "p")
	plugin.write(".claude-plugin/plugin.json", "{}")
	f.env["CLAUDE_PROJECT_DIR"] = ""
	listed := func(s *sdk.ClientSession, arguments string) string {
		return mustCall(t, s, "artifact_list", arguments).text
	}
	rooted := f.connect("test", nil, filepath.Join(project.dir, "sub"))
	id := mustCall(t, rooted, "artifact_publish", `{"path":"p.md","channel":"x"}`).str("id")
	plain := f.connect("test", nil)
	if got := listed(plain, `{}`); strings.Contains(got, id) {
		t.Errorf("a client without roots sees the workspace of another client: %s", got)
	}
	f.env["CLAUDE_PROJECT_DIR"] = project.dir
	if got := listed(f.connect("test", nil), `{}`); !strings.Contains(got, id) {
		t.Errorf("CLAUDE_PROJECT_DIR is ignored: %s", got)
	}
	f.env["CLAUDE_PROJECT_DIR"] = ""
	own := mustCall(t, plain, "artifact_publish", `{"content":"x","channel":"x"}`).str("id")
	f.env["CLAUDE_PROJECT_DIR"] = plugin.dir
	if got := listed(f.connect("test", nil), `{}`); !strings.Contains(got, own) ||
		slices.Contains(entries(t, plugin.dir), ".handoff") {
		t.Errorf("the folder of a plugin is used: %s", got)
	}
	if r := call(t, rooted, "artifact_list", `{"workspace":"`+strange.dir+`"}`); !r.isErr {
		t.Errorf("a directory that nobody gave is used: %s", r.text)
	}
	beside := project.dir + "-secret" // begins with the path of a root
	must(t, os.MkdirAll(filepath.Join(beside, ".git"), 0o755))
	t.Cleanup(func() { os.RemoveAll(beside) })
	if r := call(t, f.connect("test", nil, project.dir), "artifact_list", `{"workspace":"`+beside+`"}`); !r.isErr {
		t.Errorf("a directory beside a root is used: %s", r.text)
	}
	link := filepath.Join(f.dir, "link")
	must(t, os.Symlink(strange.dir, link))
	if r := call(t, plain, "artifact_list", `{"workspace":"`+link+`"}`); !r.isErr {
		t.Errorf("a link leads out of the client's directory: %s", r.text)
	}
	if got := listed(f.connect("test", nil, project.dir),
		`{"workspace":"`+filepath.Join(project.dir, "sub")+`"}`); !strings.Contains(got, id) {
		t.Errorf("a directory inside a root: %s", got)
	}
}

// TestCancelledRoots cancels a call while the server waits for the client's roots.
func TestCancelledRoots(t *testing.T) {
	f, project := newFixture(t), newFixture(t)
	project.write("p.md", "p")
	asked, ended := make(chan bool), make(chan bool)
	defer close(ended)
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	//lint:ignore SA1019 clients before protocol 2026-07-28 have roots
	c.AddRoots(&sdk.Root{URI: "file://" + project.dir})
	first := true
	c.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			if method == "roots/list" && first {
				first = false
				close(asked)
				<-ended
			}
			return next(ctx, method, r)
		}
	})
	s := f.connectClient(c)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if _, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "artifact_list"}); err == nil {
		t.Error("a cancelled call has a result")
	}
	if file := mustCall(t, s, "artifact_publish", `{"path":"p.md","channel":"x"}`).
		str("file"); filepath.Dir(file) != project.dir {
		t.Errorf("published %s, want a file in %s", file, project.dir)
	}
}

func entries(t testing.TB, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// TestThread reads only threads of the workspace's repository.
func TestThread(t *testing.T) {
	f := newFixture(t)
	s := f.connect("test", nil)
	write := func(id, cwd string) {
		dir := filepath.Join(f.home, ".claude", "projects", "-x")
		must(t, os.MkdirAll(dir, 0o755))
		record := fmt.Sprintf(
			`{"type":"user","uuid":"u1","sessionId":%q,"version":"2.1.330","timestamp":"2026-02-23T00:00:01Z","cwd":%q,"message":{"role":"user","content":"please retry"}}`+"\n", id, cwd)
		must(t, os.WriteFile(filepath.Join(dir, id+".jsonl"), []byte(record), 0o644))
	}
	const ours, theirs = "8fd17d3d-5e4d-40c9-811e-63c7ecdcdf1e", "9fd17d3d-5e4d-40c9-811e-63c7ecdcdf1e"
	write(ours, f.dir)
	write(theirs, t.TempDir())
	if got := mustCall(t, s, "thread_read", `{"uri":"claude/`+ours+`","view":"brief"}`); !strings.HasPrefix(
		got.str("content"), "Continue the work of agents://claude/"+ours+"\n") {
		t.Errorf("got the brief %q", got.str("content"))
	}
	if got := mustCall(t, s, "thread_read", `{"uri":"claude/`+ours+`"}`); !strings.Contains(got.str("content"),
		"please retry") {
		t.Errorf("content %q", got.str("content"))
	}
	if got := mustCall(t, s, "thread_read",
		`{"uri":"claude/`+ours+`","view":"head"}`); strings.Contains(got.str("content"), "please retry") {
		t.Errorf("the head contains messages: %q", got.str("content"))
	}
	other := func() {
		t.Helper()
		if r := call(t, s, "thread_read", `{"uri":"claude/`+theirs+`"}`); !r.isErr ||
			strings.Contains(r.text, "please retry") {
			t.Errorf("a thread of another repository: %s", r.text)
		}
	}
	other()

	// The kept copies of both, after their tool has removed them.
	w, err := workspace.Open(f.dir, workspace.Options{})
	must(t, err)
	defer w.Close()
	_, err = w.Threads(thread.NewSet(all.Drivers(), func(string) string { return "" }, f.home)).Keep(t.Context(),
		threads.KeepOptions{URIs: []string{"claude/" + ours, "claude/" + theirs}})
	must(t, err)
	must(t, os.RemoveAll(filepath.Join(f.home, ".claude")))
	if got := mustCall(t, s, "thread_read", `{"uri":"claude/`+ours+`","view":"brief"}`); !strings.HasPrefix(
		got.str("content"), "Continue the work of agents://claude/"+ours+"\n") {
		t.Errorf("got the brief %q", got.str("content"))
	}
	if got := mustCall(t, s, "thread_read", `{"uri":"claude/`+ours+`"}`); !strings.Contains(got.str("content"),
		"please retry") || !strings.Contains(got.str("content"), "the copy that was kept") {
		t.Errorf("the content of a copy: %q", got.str("content"))
	}
	other()
}

// TestResources reads the resources, and is notified when they change.
func TestResources(t *testing.T) {
	f := newFixture(t)
	f.write("a.md", "body")
	updated, changed := make(chan string, 10), make(chan bool, 10)
	s := f.connect("test", &sdk.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) {
			updated <- r.Params.URI
		},
		ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) { changed <- true },
	})
	id := mustCall(t, s, "artifact_publish", `{"path":"a.md","channel":"x"}`).str("id")
	uri := "handoff://artifacts/" + id
	read := func(uri string) string {
		t.Helper()
		r, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		must(t, err)
		return r.Contents[0].Text
	}
	if got := read(uri); !strings.Contains(got, `"status":"active"`) || strings.Contains(got, `"body"`) {
		t.Errorf("%s: %s", uri, got)
	}
	if got := read(uri + "/body"); got != "body" {
		t.Errorf("%s/body: %q", uri, got)
	}
	if got := read("handoff://artifacts"); !strings.Contains(got, id) {
		t.Errorf("newest: %s", got)
	}
	if got := read("handoff://news"); !strings.Contains(got, `"needs":[]`) || !strings.Contains(got, `"artifacts":1`) {
		t.Errorf("news: got %s", got)
	}
	for _, wrong := range []string{"handoff://artifacts/../../etc/passwd", "handoff://sessions/" + id,
		"handoff://artifacts/x/body"} {
		if r, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: wrong}); err == nil {
			t.Errorf("%s: %v", wrong, r.Contents[0].Text)
		}
	}
	list, err := s.ListResources(t.Context(), nil)
	must(t, err)
	if !slices.ContainsFunc(list.Resources, func(r *sdk.Resource) bool { return r.URI == uri }) {
		t.Errorf("the list of resources does not contain %s", uri)
	}
	completed, err := s.Complete(t.Context(), &sdk.CompleteParams{
		Ref:      &sdk.CompleteReference{Type: "ref/resource", URI: "handoff://artifacts/{id}"},
		Argument: sdk.CompleteParamsArgument{Name: "id", Value: id[:8]},
	})
	must(t, err)
	if !slices.Contains(completed.Completion.Values, id) {
		t.Errorf("completion: %v", completed.Completion.Values)
	}
	must(t, s.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}))
	mustCall(t, s, "artifact_publish", `{"content":"b","channel":"x","replaces":["`+id+`"]}`)
	if got := <-updated; got != uri {
		t.Errorf("updated %s, want %s", got, uri)
	}
	<-changed
}

// TestSessionsAndStages calls the tools of sessions and pipelines.
func TestSessionsAndStages(t *testing.T) {
	f := newFixture(t)
	s := f.connect("test", nil)
	w, err := workspace.Open(f.dir, workspace.Options{})
	must(t, err)
	opened, err := w.Sessions().Open(t.Context(),
		session.OpenOptions{Agent: handoff.SessionAgent{Name: "alex"},
			Workflow: handoff.SessionWorkflow{Name: "intake"}})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(opened.Folder, "out.md"), []byte("x"), 0o644))
	mustCall(t, s, "session_add_output", `{"file":"out.md","type":"document","session":"`+opened.ID+`"}`)
	if got := mustCall(t, s, "session_find", `{"agent":"alex"}`); !strings.Contains(got.text, opened.ID) {
		t.Errorf("session_find: %s", got.text)
	}
	_, err = w.Sessions().Close(t.Context(), opened.ID, "completed", "")
	must(t, err)
	must(t, w.Close())
	if got := mustCall(t, s, "find_latest_output",
		`{"agent":"alex","type":"document"}`); got.str("file") != filepath.Join(opened.Folder, "out.md") {
		t.Errorf("find_latest_output: %v", got.data)
	}
	const plan = `{"affected_files":["a.go"],"steps":[{"order":1,"file":"a.go"}],"acceptance_mapping":{"AC1":"a_test.go"}}`
	arguments, err := json.Marshal(map[string]string{"issue": "42", "stage": "plan", "content": plan,
		"agent": "jg-subplanner"})
	must(t, err)
	mustCall(t, s, "stage_put", string(arguments))
	if got := mustCall(t, s, "stage_next", `{"issue":"42"}`); got.str("stage") != "implement" {
		t.Errorf("stage_next: %v", got.data)
	}
	refused := call(t, s, "stage_put", `{"issue":"42","stage":"plan","content":"{}","agent":"jg-subplanner"}`)
	if !refused.isErr || strings.Count(refused.text, "is missing") < 3 ||
		!strings.HasSuffix(refused.text, "\nhint: to see an example, call stage_schema with stage: plan, issue: 42, example: true") {
		t.Errorf("an invalid artifact: %s", refused.text)
	}
	example := mustCall(t, s, "stage_schema", `{"stage":"plan","example":true}`).text
	arguments, err = json.Marshal(map[string]string{"issue": "43", "stage": "plan", "content": example,
		"agent": "jg-subplanner"})
	must(t, err)
	mustCall(t, s, "stage_put", string(arguments))
	if got := mustCall(t, s, "stage_schema", `{"stage":"plan"}`); got.data["properties"] == nil {
		t.Errorf("stage_schema: %v", got.data)
	}
	if r := call(t, s, "stage_schema", `{"stage":"../plan"}`); !r.isErr {
		t.Errorf("an unknown stage: %v", r.data)
	}
}

// TestNoBodies checks that no tool returns a body, except those that read one.
func TestNoBodies(t *testing.T) {
	const canary = "CANARY-7f3a9c"
	f := newFixture(t)
	s := f.connect("test", nil)
	f.write("a.md", canary)
	id := mustCall(t, s, "artifact_publish", `{"path":"a.md","channel":"design"}`).str("id")
	results := []result{
		mustCall(t, s, "artifact_publish", `{"content":"`+canary+`","channel":"design","from":["`+id+`"]}`),
		mustCall(t, s, "write_artifact", `{"name":"context.md","content":"`+canary+`","run":"r1"}`),
		mustCall(t, s, "artifact_get", `{"ref":"`+id+`"}`), mustCall(t, s, "artifact_list", `{"all":true}`),
		mustCall(t, s, "artifact_wait", `{"channel":"design"}`), mustCall(t, s, "session_find", `{}`),
		call(t, s, "stage_put", `{"issue":"42","stage":"plan","content":"`+canary+`"}`),
		call(t, s, "find_latest_output", `{}`), call(t, s, "stage_next", `{"issue":"42"}`), call(t, s, "thread_read",
			`{"uri":"x"}`),
		mustCall(t, s, "status", `{}`),
	}
	for _, r := range results {
		if strings.Contains(r.text, canary) || strings.Contains(fmt.Sprint(r.data), canary) {
			t.Errorf("a body is in the result: %s %v", r.text, r.data)
		}
	}
	if got := mustCall(t, s, "read_artifact", `{"ref":"`+id+`"}`); got.str("content") != canary {
		t.Errorf("read_artifact: %q", got.str("content"))
	}
}

// TestVersions calls a tool with each dated version of the protocol, over both
// transports.
func TestVersions(t *testing.T) {
	f := newFixture(t)
	_, server := serveHTTP(t)
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		serverEnd, clientEnd := sdk.NewInMemoryTransports()
		ended := make(chan error, 1)
		go func() { ended <- f.server.Run(context.Background(), serverEnd) }()
		for name, transport := range map[string]sdk.Transport{
			"in memory": clientEnd, "HTTP": &sdk.StreamableClientTransport{Endpoint: server.URL, HTTPClient: clientWithToken()},
		} {
			c := sdk.NewClient(&sdk.Implementation{Name: "codex-mcp-client", Version: "1"}, nil)
			s, err := c.Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
			must(t, err)
			if got := s.InitializeResult(); got.ProtocolVersion != version ||
				!strings.Contains(got.Instructions, "artifact_publish") {
				t.Errorf("%s %s: negotiated %s, instructions %q", version, name, got.ProtocolVersion, got.Instructions)
			}
			r := mustCall(t, s, "artifact_publish", `{"content":"x","channel":"x"}`, map[string]any{"threadId": "t-" + version})
			if p := producer(t, r); p.Harness != "codex" || p.Session != "t-"+version {
				t.Errorf("%s %s: producer %+v", version, name, p)
			}
			list, err := s.ListResources(t.Context(), nil)
			must(t, err)
			read, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "handoff://artifacts"})
			must(t, err)
			if list.CacheScope != "private" || read.CacheScope != "private" {
				t.Errorf("%s %s: a shared cache may store artifacts: %q, %q", version, name, list.CacheScope, read.CacheScope)
			}
			must(t, s.Close())
		}
		<-ended
	}
}
