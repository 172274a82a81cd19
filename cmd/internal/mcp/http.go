package mcp

import (
	"net/http"
	"time"

	"github.com/agent-handoff/handoff/cmd/internal/access"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxRequest bounds the body of a request.
const maxRequest = 16 << 20

// idleSession is when the session of a client that has gone is closed.
const idleSession = 30 * time.Minute

// withoutSessions is the first version of the protocol in which each request has
// all that is known about its client.
const withoutSessions = "2026-07-28"

// Handler serves any number of clients over streamable HTTP. Every request needs
// the token. A request that names another host than hosts, or that a page of
// another origin makes, is rejected, so that a browser can't be made to send it.
func (s *Server) Handler(token string, hosts access.Hosts) http.Handler {
	return handler(s.client, token, hosts)
}

// handler is Handler for any server side of a client, which newClient returns.
func handler(newClient func(lasting bool) *sdk.Server, token string, hosts access.Hosts) http.Handler {
	shared := newClient(false)
	sessions := sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		if r.Header.Get("Mcp-Session-Id") != "" {
			return shared // which is only asked for its versions: the session has its own
		}
		return newClient(true)
	}, &sdk.StreamableHTTPOptions{SessionTimeout: idleSession, MaxRequestBodyBytes: maxRequest})
	requests := sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		if r.Header.Get("Mcp-Method") != "subscriptions/listen" {
			return shared
		}
		return newClient(true)
	}, &sdk.StreamableHTTPOptions{Stateless: true, MaxRequestBodyBytes: maxRequest})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reason := hosts.Reject(r)
		switch {
		case reason != "":
			http.Error(w, reason, http.StatusForbidden)
		case !access.HasToken(r, token):
			w.Header().Set("WWW-Authenticate", `Bearer realm="handoff"`)
			http.Error(w, "a bearer token is required", http.StatusUnauthorized)
		case r.Header.Get("Mcp-Protocol-Version") >= withoutSessions:
			requests.ServeHTTP(w, r)
		default:
			sessions.ServeHTTP(w, r)
		}
	})
}
