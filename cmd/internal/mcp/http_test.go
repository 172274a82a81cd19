package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/cmd/internal/access"
	"github.com/agent-handoff/handoff/cmd/internal/mcp"
	"github.com/agent-handoff/handoff/workspace"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const token = "a-token-for-tests-only"

var loopback = access.NewHosts("", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})

// withToken adds the token to the requests of a client.
type withToken struct{}

func (withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return http.DefaultTransport.RoundTrip(r)
}

func clientWithToken() *http.Client { return &http.Client{Transport: withToken{}} }

func serveHTTP(t *testing.T) (*fixture, *httptest.Server) {
	t.Helper()
	f := newFixture(t, func(o *mcp.Options) { o.Workspaces = []string{o.Dir} })
	s := httptest.NewServer(f.server.Handler(token, loopback))
	t.Cleanup(s.Close)
	return f, s
}

func connectHTTP(t *testing.T, url, name string) *sdk.ClientSession {
	t.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: name, Version: "1"}, nil)
	s, err := c.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: url, HTTPClient: clientWithToken()}, nil)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// TestRegisteredOverHTTP checks that a client over HTTP names only the workspaces
// that the server was started for, and one on standard input also those that the
// user registered.
func TestRegisteredOverHTTP(t *testing.T) {
	other := newFixture(t)
	registered := func(o *mcp.Options) { o.Registered = func() []string { return []string{other.dir} } }
	f := newFixture(t, registered, func(o *mcp.Options) { o.Workspaces = []string{o.Dir} })
	s := httptest.NewServer(f.server.Handler(token, loopback))
	t.Cleanup(s.Close)
	arguments := `{"workspace":"` + other.dir + `"}`
	if r := call(t, connectHTTP(t, s.URL, "test"), "artifact_list", arguments); !r.isErr {
		t.Errorf("over HTTP, a registered workspace is used: %s", r.text)
	}
	if r := call(t, newFixture(t, registered).connect("test", nil), "artifact_list", arguments); r.isErr {
		t.Errorf("on standard input, a registered workspace is refused: %s", r.text)
	}
}

// TestRejectedRequests sends requests that another program or a web page could.
func TestRejectedRequests(t *testing.T) {
	_, server := serveHTTP(t)
	const ping = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for _, tt := range []struct {
		name   string
		change func(*http.Request)
		want   int
	}{
		{"no token", func(r *http.Request) { r.Header.Del("Authorization") }, http.StatusUnauthorized},
		{"an empty token", func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") }, http.StatusUnauthorized},
		{"another token", func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }, http.StatusUnauthorized},
		{"another host", func(r *http.Request) { r.Host = "evil.example" }, http.StatusForbidden},
		{"another host with the port", func(r *http.Request) { r.Host = "evil.example:80" }, http.StatusForbidden},
		{"another origin", func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, http.StatusForbidden},
		{"an origin without a host", func(r *http.Request) { r.Header.Set("Origin", "null") }, http.StatusForbidden},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(ping))
		must(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		tt.change(r)
		answer, err := http.DefaultClient.Do(r)
		must(t, err)
		answer.Body.Close()
		if answer.StatusCode != tt.want {
			t.Errorf("%s: status %d, want %d", tt.name, answer.StatusCode, tt.want)
		}
	}
}

// TestManyClients publishes from many clients at once: each record names its own.
func TestManyClients(t *testing.T) {
	clients, publishes := 16, 2
	if os.Getenv("HANDOFF_LONG") != "" {
		clients, publishes = 32, 100
	}
	f, server := serveHTTP(t)
	f.env["CODEX_THREAD_ID"] = "of whoever started the server"
	var all sync.WaitGroup
	for n := range clients {
		all.Go(func() {
			s := connectHTTP(t, server.URL, "codex-mcp-client")
			for i := range publishes {
				answer, err := s.CallTool(context.Background(), &sdk.CallToolParams{
					Name: "artifact_publish", Arguments: json.RawMessage(
						fmt.Sprintf(`{"content":"%d of %d","channel":"x","title":"%d"}`, i, n, n)),
					Meta: map[string]any{"threadId": fmt.Sprint("thread-", n)},
				})
				if err != nil || answer.IsError {
					t.Errorf("client %d: %v %v", n, err, answer)
					return
				}
			}
		})
	}
	all.Wait()
	s, seen := connectHTTP(t, server.URL, "test"), 0
	for cursor := ""; ; {
		page := mustCall(t, s, "artifact_list", `{"limit":100,"cursor":"`+cursor+`"}`)
		for _, a := range page.data["artifacts"].([]any) {
			id, _ := a.(map[string]any)["id"].(string)
			got := mustCall(t, s, "artifact_get", `{"ref":"`+id+`"}`)
			if p := producer(t, got); p.Session != "thread-"+got.str("title") {
				t.Fatalf("the record of client %s names %s", got.str("title"), p.Session)
			}
			seen++
		}
		if cursor = page.str("cursor"); cursor == "" {
			break
		}
	}
	if seen != clients*publishes {
		t.Errorf("%d records, want %d", seen, clients*publishes)
	}
}

// TestOtherWorkspace checks that only the workspaces named at the start are served.
func TestOtherWorkspace(t *testing.T) {
	_, server := serveHTTP(t)
	other := newFixture(t)
	s := connectHTTP(t, server.URL, "test")
	if r := call(t, s, "artifact_list", `{"workspace":"`+other.dir+`"}`); !r.isErr {
		t.Errorf("another workspace is served: %s", r.text)
	}
}

// TestNotifications checks that a client is notified of what another publishes,
// with and without a session.
func TestNotifications(t *testing.T) {
	_, server := serveHTTP(t)
	publisher := connectHTTP(t, server.URL, "test")
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		id := mustCall(t, publisher, "artifact_publish", `{"content":"a","channel":"x"}`).str("id")
		updated, changed := make(chan string, 100), make(chan bool, 100)
		c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
			ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) {
				updated <- r.Params.URI
			},
			ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) { changed <- true },
		})
		s, err := c.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: server.URL, HTTPClient: clientWithToken()},
			&sdk.ClientSessionOptions{ProtocolVersion: version})
		must(t, err)
		mustCall(t, s, "artifact_list", `{}`)
		uri := "handoff://artifacts/" + id
		must(t, s.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}))
		mustCall(t, publisher, "artifact_publish", `{"content":"b","channel":"x","replaces":["`+id+`"]}`)
		if got := <-updated; got != uri {
			t.Errorf("%s: updated %s, want %s", version, got, uri)
		}
		<-changed
		must(t, s.Close())
	}
}

// TestNotificationsAfterRepair checks that a client is notified again after the log could
// not be read.
func TestNotificationsAfterRepair(t *testing.T) {
	f := newFixture(t)
	publisher := f.connect("test", nil)
	id := mustCall(t, publisher, "artifact_publish", `{"content":"a","channel":"x"}`).str("id")
	updated := make(chan bool, 100)
	s := f.connect("test", &sdk.ClientOptions{
		ResourceUpdatedHandler: func(context.Context, *sdk.ResourceUpdatedNotificationRequest) { updated <- true }})
	logID := filepath.Join(f.dir, ".handoff", "log", "ID")
	must(t, os.Rename(logID, logID+".away"))
	must(t, f.server.Close()) // so that the workspace is opened again
	must(t, s.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "handoff://artifacts/" + id}))
	time.Sleep(50 * time.Millisecond) // the log is read
	must(t, os.Rename(logID+".away", logID))
	for range 100 {
		mustCall(t, s, "artifact_publish", `{"content":"c","channel":"x","replaces":["`+id+`"]}`)
		select {
		case <-updated:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
	t.Error("the client is not notified")
}

// TestArtifactNotifications checks that a client is notified of every change of an
// artifact, also by records about others, and of no other record.
func TestArtifactNotifications(t *testing.T) {
	f := newFixture(t)
	publisher := f.connect("test", nil)
	w, err := workspace.Open(f.dir, workspace.Options{})
	must(t, err)
	defer w.Close()
	publish := func(more string) string {
		return mustCall(t, publisher, "artifact_publish", `{"content":"a","channel":"x"`+more+`}`).str("id")
	}
	input := publish("")
	between := publish(`,"from":["` + input + `"]`)
	id := publish(`,"from":["` + between + `"]`)
	updated := make(chan string, 100)
	s := f.connect("test", &sdk.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) {
			updated <- r.Params.URI
		}})
	uri := "handoff://artifacts/" + id
	must(t, s.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}))
	for _, change := range []struct {
		name string
		do   func() error
	}{
		{"label", func() error { _, err := w.Label(t.Context(), id, "chosen"); return err }},
		{"stale input", func() error { publish(`,"replaces":["` + input + `"]`); return nil }},
		{"withdrawal", func() error { _, err := w.Withdraw(t.Context(), id, ""); return err }},
	} {
		publish("") // changes nothing of it
		must(t, change.do())
		select {
		case got := <-updated:
			if got != uri {
				t.Errorf("%s: updated %s, want %s", change.name, got, uri)
			}
		case <-time.After(time.Minute):
			t.Errorf("%s: the client is not notified", change.name)
		}
	}
	publish("")
	time.Sleep(300 * time.Millisecond)
	if n := len(updated); n > 0 {
		t.Errorf("%d notifications are left", n)
	}
}
