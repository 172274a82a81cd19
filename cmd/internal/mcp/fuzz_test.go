package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/cmd/internal/mcp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// FuzzRequests sends a line to the standard input of a server. Whatever it is, the
// server answers the ping that follows.
func FuzzRequests(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"artifact_publish","arguments":{"content":"x","channel":"x"}}}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"artifact_get","arguments":{"ref":"../../x"}}}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"artifact_wait","arguments":{"after":9e99,"seconds":1}}}`,
		`{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"handoff://artifacts/../x/body"}}`,
		`{"jsonrpc":"2.0","id":7,"method":"resources/subscribe","params":{"uri":""}}`,
		`{"jsonrpc":"2.0","id":7,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"handoff://"},"argument":{"name":"id","value":"a"}}}`,
		`{"jsonrpc":"2.0","id":7,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, `[]`, `{}`, `null`, `{"id":`, "\x00\xff",
		`{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"handoff://artifacts/\u0007"}}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":"the last","method":"ping"}`,
	} {
		f.Add([]byte(seed))
	}
	server := newFixture(f, func(o *mcp.Options) { o.Workspaces = []string{o.Dir} }) // so that no argument names another
	f.Fuzz(func(t *testing.T, line []byte) {
		line = bytes.ReplaceAll(line, []byte("\n"), []byte(" "))
		if bytes.Contains(line, []byte("artifact_wait")) {
			line = bytes.ReplaceAll(line, []byte("artifact_wait"), []byte("artifact_get")) // which would wait
		}
		if !server.ping(t, line) {
			t.Fatalf("the server does not answer after %q", line)
		}
	})
}

// ping connects, sends a line, and reports whether a ping is answered.
func (f *fixture) ping(t *testing.T, line []byte) (answered bool) {
	t.Helper()
	in, send := io.Pipe()
	receive, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- f.server.Run(context.Background(), &mcp.Stdio{In: in, Out: out})
		in.Close()
		out.Close()
	}()
	go func() {
		for _, message := range [][]byte{
			[]byte(
				`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"test","version":"1"},"capabilities":{}}}`),
			[]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`), line,
			[]byte(`{"jsonrpc":"2.0","id":"the last","method":"ping"}`),
		} {
			if _, err := send.Write(append(message, '\n')); err != nil {
				return
			}
		}
	}()
	lines := bufio.NewScanner(receive)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var answer struct{ ID any }
		if err := json.Unmarshal(lines.Bytes(), &answer); err != nil {
			t.Errorf("the server printed %q", lines.Text())
		}
		if answer.ID == "the last" {
			answered = true
			break
		}
	}
	send.Close()
	receive.Close()
	<-ended
	return answered
}

// TestLargeArguments passes 10 MB in arguments, and more than a message may have.
func TestLargeArguments(t *testing.T) {
	f := newFixture(t)
	s := f.connect("test", nil)
	_, server := serveHTTP(t)
	remote := connectHTTP(t, server.URL, "test")
	large := strings.Repeat("x", 10<<20)
	for _, s := range []*sdk.ClientSession{s, remote} {
		for i, tt := range []struct{ tool, arguments string }{
			{"artifact_publish", `{"channel":"x","content":"x","title":%q}`},
			{"artifact_publish", `{"channel":%q,"content":"x"}`},
			{"artifact_publish", `{"channel":"x","path":%q}`},
			{"artifact_publish", `{"channel":"x","content":"x","replaces":[%q]}`},
			{"artifact_get", `{"ref":%q}`}, {"artifact_list", `{"channel":"x","cursor":%q}`},
			{"artifact_list", `{"workspace":%q}`},
			{"artifact_wait", `{"after":%q}`}, {"artifact_search", `{"query":%q}`},
			{"write_artifact", `{"name":%q,"content":"x"}`},
			{"read_artifact", `{"ref":%q}`}, {"read_artifact", `{"ref":"context.md","run":%q}`},
			{"session_find", `{"workflow":%q}`},
			{"session_add_output", `{"file":%q,"type":"document"}`}, {"find_latest_output", `{"workflow":%q}`},
			{"thread_read", `{"uri":%q}`},
			{"stage_put", `{"issue":%q,"stage":"plan","content":"{}"}`},
			{"stage_put", `{"issue":"42","stage":"plan","content":%q}`}, {"stage_next", `{"issue":%q}`},
		} {
			if i > 0 && s == remote || i%8 > 0 && os.Getenv("HANDOFF_LONG") == "" {
				continue // takes long, and the transports differ in nothing else
			}
			r := call(t, s, tt.tool, fmt.Sprintf(tt.arguments, large))
			if tt.tool != "artifact_search" && !r.isErr { // which finds nothing
				t.Errorf("%s %s with 10 MB is accepted: %.100s", tt.tool, tt.arguments, r.text)
			}
			if len(r.text) > 16<<10 {
				t.Errorf("%s %s with 10 MB: the text has %d bytes", tt.tool, tt.arguments, len(r.text))
			}
		}
		if got := mustCall(t, s, "artifact_publish",
			`{"channel":"x","content":"`+large+`"}`); got.data["sizeBytes"] != float64(len(large)) {
			t.Errorf("published %v bytes", got.data["sizeBytes"])
		}
	}
	mustCall(t, s, "artifact_list", `{}`)
}

// TestPathEscapes passes names of a file outside the workspace in every argument that
// names something.
func TestPathEscapes(t *testing.T) {
	const canary = "CANARY-51c0ffee"
	f := newFixture(t)
	outside := filepath.Join(filepath.Dir(f.dir), "outside")
	must(t, os.MkdirAll(outside, 0o755))
	secret := filepath.Join(outside, "secret.md")
	must(t, os.WriteFile(secret, []byte(canary), 0o600))
	must(t, os.Symlink(outside, filepath.Join(f.dir, "link")))
	s := f.connect("test", nil)
	f.write("inside.md", "x")
	mustCall(t, s, "artifact_publish", `{"path":"inside.md","channel":"x"}`)
	before := contents(t, outside)
	names := []string{secret, "../outside/secret.md", "link/secret.md", "inside.md/../../outside/secret.md",
		"file://" + secret, "..", "../outside",
		outside, "link", "a/../../outside/secret.md", "..\\outside\\secret.md", "secret.md\x00.txt",
		"%2e%2e/outside/secret.md", "~/secret.md"}
	for _, tt := range []struct{ tool, arguments string }{
		{"artifact_publish", `{"channel":"x","path":%s}`},
		{"artifact_publish", `{"channel":"x","content":"new","filename":%s}`},
		{"artifact_publish", `{"channel":%s,"content":"new"}`},
		{"artifact_publish", `{"channel":"x","content":"new","from":[%s]}`},
		{"artifact_publish", `{"channel":"x","content":"new","replaces":[%s]}`},
		{"artifact_publish", `{"channel":"x","content":"new","key":%s}`},
		{"artifact_publish", `{"channel":"x","path":"secret.md","workspace":%s}`},
		{"artifact_get", `{"ref":%s}`}, {"artifact_get", `{"ref":%s,"history":true}`}, {"artifact_list", `{"workspace":%s}`},
		{"artifact_list", `{"session":%s}`}, {"artifact_list", `{"run":%s}`}, {"artifact_list", `{"name":%s}`},
		{"artifact_wait", `{"after":%s,"seconds":1}`},
		{"write_artifact", `{"name":%s,"content":"new"}`}, {"write_artifact", `{"name":"n.md","path":%s}`},
		{"write_artifact", `{"name":"n.md","content":"new","session":%s}`},
		{"write_artifact", `{"name":"n.md","content":"new","run":%s}`},
		{"read_artifact", `{"ref":%s}`}, {"read_artifact", `{"ref":"secret.md","session":%s}`},
		{"read_artifact", `{"ref":"secret.md","run":%s}`},
		{"session_add_output", `{"file":%s,"type":"document"}`},
		{"session_add_output", `{"file":"secret.md","type":"document","session":%s}`},
		{"session_find", `{"agent":%s}`}, {"find_latest_output", `{"agent":%s}`}, {"thread_read", `{"uri":%s}`},
		{"stage_put", `{"issue":%s,"stage":"plan","content":"{}"}`},
		{"stage_put", `{"issue":"42","stage":%s,"content":"{}"}`},
		{"stage_put", `{"issue":"42","stage":"plan","path":%s}`},
		{"stage_put", `{"issue":"42","stage":"plan","agent":%s,"content":"{}"}`},
		{"stage_next", `{"issue":%s}`},
	} {
		for _, name := range names {
			quoted, err := json.Marshal(name)
			must(t, err)
			arguments := fmt.Sprintf(tt.arguments, quoted)
			if r := call(t, s, tt.tool, arguments); strings.Contains(r.text+fmt.Sprint(r.data), canary) {
				t.Errorf("%s %s returns a file outside: %s", tt.tool, arguments, r.text)
			}
		}
	}
	for _, name := range names {
		for _, uri := range []string{"handoff://artifacts/" + name, "handoff://artifacts/" + name + "/body",
			"handoff://sessions/" + name, name} {
			if r, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil &&
				strings.Contains(fmt.Sprint(r.Contents[0].Text, string(r.Contents[0].Blob)), canary) {
				t.Errorf("resource %s returns a file outside", uri)
			}
		}
	}
	if after := contents(t, outside); after != before {
		t.Errorf("files outside were changed:\n%s\nbefore:\n%s", after, before)
	}
	if stored := contents(t, filepath.Join(f.dir, ".handoff")); strings.Contains(stored, canary) {
		t.Errorf("a file outside was stored:\n%s", stored)
	}
	if left := entries(t, filepath.Dir(f.dir)); len(left) != 3 { // the workspace, the home directory and outside
		t.Errorf("files beside the workspace: %v", left)
	}
}

// contents returns the names and contents of all files in dir.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(name)
		fmt.Fprintf(&all, "%s\n%s\n", name, b)
		return err
	}))
	return all.String()
}
