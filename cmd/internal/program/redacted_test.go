package program

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/cmd/internal/access"
	"github.com/agent-handoff/handoff/cmd/internal/web"
)

// TestRedactedCanary checks that after withdraw --redact no byte of a secret is in what
// any reading command prints, in an export, or in a log that was copied without it.
func TestRedactedCanary(t *testing.T) {
	t.Parallel()
	const canary = "c4n4ry7f3a9c"
	const text = "password=" + canary
	c := newConsole(t)
	c.write("a.md", "# Settings\n\n"+text+"\nand again "+canary+"\n")
	c.write("b.json", `{"text":"password: `+canary+`","password":"`+canary+`"}`)
	c.write("dir/x.txt", text)
	const session = "11111111-2222-4333-8444-555555555555"
	c.ok("session", "open", "--id", session, "--agent", "alex", "--workflow", "intake-app", "--user", "u")
	c.write("docs/agent-outputs/"+session+"/out.md", text)
	var ids []string
	publish := func(args ...string) {
		ids = append(ids, strings.TrimSpace(c.ok(args...)))
	}
	publish("publish", "a.md", "--channel", "design", "--title", text, "--summary", text+" "+canary, "--tag", text,
		"--meta", "password="+canary,
		"--claim", text, "--evidence", "command:true", "--allow-secret", "--session", session)
	publish("publish", "b.json", "--channel", "patch", "--from", ids[0], "--session", session, "--allow-secret", "--title",
		"x "+text)
	publish("publish", "dir", "--channel", "patch", "--keep", "--session", session)
	publish("publish", "a.md", "--channel", "design", "--replaces", ids[0], "--session", session)
	stored, _ := c.run(text, "publish", "-", "--channel", "verification", "--session", session)
	ids = append(ids, strings.TrimSpace(stored))
	c.ok("write", "context.md", "a.md", "--run", "r1", "--session", session, "--allow-secret", "--title", text)
	c.ok("session", "add", "--session", session, "out.md", "--type", "document", "--title", text, "--allow-secret")
	added := c.ok("list", "--all", "--json")
	var page struct {
		Artifacts []struct{ ID string }
	}
	if err := json.Unmarshal([]byte(added), &page); err != nil || len(page.Artifacts) < 7 {
		t.Fatalf("%d artifacts, %v", len(page.Artifacts), err)
	}
	c.ok("search", "settings")
	c.ok("withdraw", ids[4], "--reason", text, "--allow-secret")
	for _, a := range page.Artifacts {
		c.run("", "withdraw", a.ID, "--redact")
	}
	for _, name := range []string{"a.md", "b.json", "dir/x.txt", "docs/agent-outputs/" + session + "/out.md"} {
		if err := os.Remove(filepath.Join(c.dir, name)); err != nil { // the files of the user
			t.Fatal(err)
		}
	}
	c.said.Reset()
	for _, a := range page.Artifacts {
		for _, args := range [][]string{{"show", a.ID}, {"show", a.ID, "--json"}, {"show", a.ID, "--history", "--json"},
			{"show", a.ID, "--lineage"}, {"show", a.ID, "--lineage", "--json"},
			{"read", a.ID}, {"read", a.ID, "--json"}, {"why", a.ID, "--json"}, {"verify", a.ID, "--json"},
			{"export", "pr", a.ID}} {
			c.run("", args...)
		}
	}
	for _, args := range [][]string{{"list", "--all"}, {"list", "--all", "--json"}, {"list", "--channels", "--json"},
		{"search", "settings", "--all"}, {"search", "password", "--all", "--json"}, {"search", canary, "--all"},
		{"watch", "--after", "0", "--all", "--timeout", "10ms"}, {"watch", "--after", "0", "--all", "--json", "--timeout",
			"10ms"}, {"watch", "--facts", "--after", "0", "--timeout", "10ms", "--json"},
		{"wait", "--json", "--timeout", "10ms"}, {"show", session, "--files", "--json"}, {"show", session},
		{"session", "find", "--json"},
		{"session", "latest-output", "alex", ".", "document", "--json"},
		{"session", "graph", session, "--format", "json"}, {"read", "r1/context.md"}, {"check", "--json"}, {"gc", "--json"},
		{"log", "status", "--json"}, {"status", "--json"}, {"cost", "--by", "artifact", "--json"},
		{"__complete", "show", ""}, {"__complete", "list", "--tag", ""}} {
		c.run("", args...)
	}
	for _, by := range []string{"tag", "label", "channel"} {
		c.run("", "cost", "--by", by, "--json")
	}
	c.askSurfaces(session, ids)
	c.ok("export", "tar", session, "-o", filepath.Join(c.dir, "export.tar"))
	if said := c.said.String(); strings.Contains(said, canary) {
		for line := range strings.Lines(said) {
			if strings.Contains(line, canary) {
				t.Errorf("a secret was printed: %s", line)
			}
		}
	}
	if !strings.Contains(c.said.String(), "[redacted password]") {
		t.Error("no replacement was printed")
	}
	holders := filesWith(t, c.dir, canary)
	for _, name := range holders {
		if !strings.HasPrefix(name, ".handoff/log/") && !strings.HasPrefix(name, ".handoff/artifacts/records/") &&
			!strings.HasPrefix(name, ".handoff/index") {
			t.Errorf("the secret is in %s", name)
		}
	}
	if len(holders) == 0 {
		t.Error("the records were changed")
	}
}

// askSurfaces adds to what was said the answers of the tools of MCP and the pages of the
// viewer about artifacts and a session.
func (c *console) askSurfaces(session string, ids []string) {
	c.t.Helper()
	call := c.tools()
	tool := func(name, arguments string) { fmt.Fprintln(&c.said, call(name, arguments)) }
	paths := []string{"/", "/sessions", "/sessions/" + session, "/channels/design", "/channels/patch",
		"/search?q=settings", "/check", "/cost", "/graph"}
	for i, id := range ids {
		tool("artifact_get", `{"ref":"`+id+`","history":true}`)
		if i != 2 { // a directory
			tool("read_artifact", `{"ref":"`+id+`"}`)
		}
		paths = append(paths, "/artifacts/"+id, "/bodies/"+id, "/artifacts/"+id+"/graph")
	}
	tool("artifact_list", `{"all":true}`)
	tool("artifact_search", `{"query":"settings","all":true}`)
	tool("artifact_wait", `{"channel":"design","after":"0","seconds":1}`)
	tool("session_find", `{}`)
	tool("status", `{}`)
	pages, err := web.New(web.Options{Source: web.NewSource(c.workspace(), nil), Now: consoleNow,
		Hosts: access.NewHosts("127.0.0.1:80", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80})})
	if err != nil {
		c.t.Fatal(err)
	}
	defer pages.Close()
	found := 0
	for _, path := range paths {
		recorder := httptest.NewRecorder()
		pages.Handler().ServeHTTP(recorder, httptest.NewRequest("GET", "http://127.0.0.1"+path, nil))
		c.said.Write(recorder.Body.Bytes())
		if recorder.Code == http.StatusOK {
			found++
		}
	}
	if found < 2*len(ids) {
		c.t.Errorf("only %d of %d pages were found", found, len(paths))
	}
}
