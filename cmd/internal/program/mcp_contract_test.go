package program

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/mcp"
	"github.com/agent-handoff/handoff/workspace"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// object is a result as JSON.
type object = map[string]any

// tools returns a function that calls a tool of a server for the console's
// workspace.
func (c *console) tools() func(tool, arguments string) object {
	c.t.Helper()
	s := mcp.New(mcpOptions(&cli.App{Dir: c.dir, Getenv: func(name string) string {
		return c.env[name]
	}, Now: consoleNow, Rand: c.random}, []string{c.dir}))
	serverEnd, clientEnd := sdk.NewInMemoryTransports()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.Background(), serverEnd) }()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(c.t.Context(), clientEnd, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		session.Close()
		<-ended
		if err := s.Close(); err != nil {
			c.t.Error(err)
		}
	})
	return func(tool, arguments string) object {
		c.t.Helper()
		answer, err := session.CallTool(c.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
		if err != nil || answer.IsError {
			c.t.Fatalf("%s %s: %v %v", tool, arguments, err, answer)
		}
		return objectOf(c.t, answer.StructuredContent)
	}
}

// workspace opens the console's workspace as a Go program does.
func (c *console) workspace() *workspace.Workspace {
	c.t.Helper()
	w, err := workspace.Open(c.dir, workspace.Options{Getenv: func(name string) string {
		return c.env[name]
	}, Now: consoleNow, Rand: c.random})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { w.Close() })
	return w
}

func objectOf(t *testing.T, v any) (o object) {
	t.Helper()
	b, ok := v.(string)
	if !ok {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		b = string(data)
	}
	if err := json.Unmarshal([]byte(b), &o); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return o
}

// TestSurfaces does the same on the command line, in Go and over the Model Context
// Protocol, and compares the results.
func TestSurfaces(t *testing.T) {
	compare := func(what string, commandLine, program, protocol object) {
		t.Helper()
		if !reflect.DeepEqual(program, commandLine) {
			t.Errorf("%s in Go:\n%v\non the command line:\n%v", what, program, commandLine)
		}
		if !reflect.DeepEqual(protocol, commandLine) {
			t.Errorf("%s over MCP:\n%v\non the command line:\n%v", what, protocol, commandLine)
		}
	}
	fixture := func() *console {
		c := newConsole(t)
		c.write("docs/design.md", "# Retry policy\n")
		return c
	}
	// What depends on the surface: the directory, and that a client has a name.
	same := func(c *console, o object) object {
		t.Helper()
		if name, ok := o["file"].(string); !ok || !strings.HasPrefix(name, c.dir+"/") {
			t.Errorf("file %v is not in %s", o["file"], c.dir)
		}
		o["file"], _ = strings.CutPrefix(o["file"].(string), c.dir)
		delete(o, "producer")
		return o
	}

	one, two, three := fixture(), fixture(), fixture()
	published, err := two.workspace().Publish(t.Context(),
		handoff.Draft{Path: "docs/design.md", Channel: "design", Kind: "report",
			Title: "Retry policy", Summary: "Twice.", Tags: []string{"net"}, Key: "k", Keep: handoff.KeepAlways})
	if err != nil {
		t.Fatal(err)
	}
	compare("publish",
		same(one, objectOf(t, one.ok("publish", "docs/design.md", "--channel", "design", "--kind", "report", "--title",
			"Retry policy",
			"--summary", "Twice.", "--tag", "net", "--key", "k", "--keep", "--json"))),
		same(two, objectOf(t, published)),
		same(three, three.tools()("artifact_publish",
			`{"path":"docs/design.md","channel":"design","kind":"report","title":"Retry policy",
			"summary":"Twice.","tags":["net"],"key":"k","keep":"always"}`)))

	c := one
	id := published.ID
	for _, title := range []string{"Second", "Third"} {
		c.ok("publish", "docs/design.md", "--channel", "design", "--title", title, "--from", id)
	}
	c.ok("publish", "docs/design.md", "--channel", "patch", "--replaces", id)
	c.ok("label", "patch:latest", "chosen")
	w, call := c.workspace(), c.tools()

	shown, err := w.Show(t.Context(), id, false)
	if err != nil {
		t.Fatal(err)
	}
	compare("get", objectOf(t, c.ok("show", id, "--json")), objectOf(t, shown), call("artifact_get", `{"ref":"`+id+`"}`))

	waited, err := w.Wait(t.Context(), workspace.WatchOptions{Filter: workspace.Filter{Channel: "design"}, After: id})
	if err != nil {
		t.Fatal(err)
	}
	compare("wait", objectOf(t, c.ok("wait", "--channel", "design", "--after", id, "--json")), objectOf(t, waited),
		call("artifact_wait", `{"channel":"design","after":"`+id+`"}`))

	page, err := w.List(t.Context(), workspace.ListOptions{Filter: workspace.Filter{IncludeInactive: true}, Limit: 3})
	if err != nil {
		t.Fatal(err)
	}
	full := objectOf(t, c.ok("list", "--all", "--limit", "3", "--json"))
	compare("list", full, objectOf(t, page), full) // of MCP, the fields that it returns
	compareFields(t,
		objectOf(t, c.ok("list", "--all", "--limit", "4", "--json", "--fields",
			"id,channel,path,title,status,revision,labels,notices,producer")),
		call("artifact_list", `{"all":true,"limit":4}`))
}

// compareFields compares a list with one over the Model Context Protocol, which
// omits what is empty or 0, the status active and the revision 1, and has of notices the
// code and of producers the name.
func compareFields(t *testing.T, commandLine, protocol object) {
	t.Helper()
	for _, item := range protocol["artifacts"].([]any) {
		o := item.(object)
		if _, ok := o["status"]; !ok {
			o["status"] = "active"
		}
		if _, ok := o["revision"]; !ok {
			o["revision"] = 1.0
		}
	}
	for _, item := range commandLine["artifacts"].([]any) {
		o := item.(object)
		if notices, ok := o["notices"].([]any); ok {
			for i, n := range notices {
				notices[i] = object{"code": n.(object)["code"]}
			}
		}
		if p, ok := o["producer"].(object); ok {
			delete(o, "producer")
			for _, name := range []string{"agent", "harness"} {
				if _, known := o["producer"]; !known && p[name] != nil {
					o["producer"] = object{name: p[name]}
				}
			}
		}
	}
	if _, ok := protocol["hidden"]; !ok {
		protocol["hidden"] = 0.0
	}
	if !reflect.DeepEqual(protocol, commandLine) {
		t.Errorf("list over MCP:\n%v\non the command line:\n%v", protocol, commandLine)
	}
}
