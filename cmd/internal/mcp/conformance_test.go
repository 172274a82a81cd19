//go:build conformance

package mcp

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/cmd/internal/access"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/workspace"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestConformance runs the scenarios of the public conformance suite, whose program
// HANDOFF_CONFORMANCE names, against this server with the tools, resources and
// prompts that the scenarios use. testdata/conformance.yaml lists the scenarios
// that do not pass; docs/mcp.md has the reasons.
func TestConformance(t *testing.T) {
	program := os.Getenv("HANDOFF_CONFORMANCE")
	if program == "" {
		t.Skip("HANDOFF_CONFORMANCE does not name the program of the suite; .ci/mcp installs it")
	}
	expected, err := filepath.Abs(filepath.Join("testdata", "conformance.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	server := conformanceServer(t)
	for _, set := range [][]string{{"--spec-version", "2025-06-18"}, {"--requirements", "2025-11-25"},
		{"--requirements", "2026-07-28"}} {
		t.Run(set[1], func(t *testing.T) {
			c := exec.Command(program, append([]string{"server", "--url", server.URL, "--expected-failures", expected},
				set...)...)
			c.Dir = t.TempDir()
			out, err := c.CombinedOutput()
			t.Logf("%s", out)
			if err != nil {
				t.Errorf("%v: %v", c.Args, err)
			}
		})
	}
}

// conformanceServer serves the fixtures beside handoff's own tools. The suite sends
// no token, so each request is given one.
func conformanceServer(t *testing.T) *httptest.Server {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	getenv := func(string) string { return "" }
	s := New(Options{
		Open: func(dir string) (*workspace.Workspace, error) {
			return workspace.Open(dir, workspace.Options{Getenv: getenv})
		},
		Dir: dir, Getenv: getenv, Now: time.Now, Version: "test", Workspaces: []string{
			dir}, Threads: thread.NewSet(nil, getenv, dir),
	})
	var f fixtures
	h := handler(func(lasting bool) *sdk.Server {
		return f.add(s.client(lasting))
	}, "token", access.NewHosts("", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer token")
		h.ServeHTTP(w, r)
	}))
	ctx, cancel := context.WithCancel(context.Background())
	go f.update(ctx)
	t.Cleanup(func() {
		cancel()
		server.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// fixtures are what the scenarios of the suite use.
type fixtures struct {
	mu      sync.Mutex
	servers []*sdk.Server // to which a change applies
}

func (f *fixtures) add(s *sdk.Server) *sdk.Server {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.servers = append(f.servers, s)
	addContentTools(s)
	addRequestTools(s)
	addInputTools(s)
	addFixtureResources(s)
	addFixturePrompts(s)
	f.addTriggers(s)
	return s
}

func (f *fixtures) each(do func(*sdk.Server)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.servers {
		do(s)
	}
}

const watchedURI = "test://watched-resource"

// update reports changes of a resource until ctx ends.
func (f *fixtures) update(ctx context.Context) {
	for ctx.Err() == nil {
		time.Sleep(time.Second)
		f.each(func(s *sdk.Server) {
			_ = s.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: watchedURI})
		})
	}
}

// addTriggers adds the tools that change the lists of tools and prompts.
func (f *fixtures) addTriggers(s *sdk.Server) {
	none := func(context.Context, *sdk.CallToolRequest, any) (*sdk.CallToolResult, any, error) {
		return text("done"), nil, nil
	}
	sdk.AddTool(s, &sdk.Tool{Name: "test_trigger_tool_change", Description: "of the conformance suite"},
		func(context.Context, *sdk.CallToolRequest, any) (*sdk.CallToolResult, any, error) {
			f.each(func(s *sdk.Server) {
				sdk.AddTool(s, &sdk.Tool{Name: "test_added", Description: "of the conformance suite"}, none)
			})
			return text("changed"), nil, nil
		})
	sdk.AddTool(s, &sdk.Tool{Name: "test_trigger_prompt_change", Description: "of the conformance suite"},
		func(context.Context, *sdk.CallToolRequest, any) (*sdk.CallToolResult, any, error) {
			f.each(func(s *sdk.Server) {
				s.AddPrompt(&sdk.Prompt{Name: "test_added", Description: "of the conformance suite"},
					func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
						return &sdk.GetPromptResult{}, nil
					})
			})
			return text("changed"), nil, nil
		})
}

func text(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}
