package mcp

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

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
func (s *Server) Handler(token string, hosts []string) http.Handler {
	return handler(s.client, token, hosts)
}

// handler is Handler for any server side of a client, which newClient returns.
func handler(newClient func(lasting bool) *sdk.Server, token string, hosts []string) http.Handler {
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
		switch {
		case !isHost(r.Host, hosts):
			http.Error(w, "unknown host", http.StatusForbidden)
		case !sameOrigin(r.Header.Get("Origin"), hosts):
			http.Error(w, "unknown origin", http.StatusForbidden)
		case !hasToken(r.Header.Get("Authorization"), token):
			w.Header().Set("WWW-Authenticate", `Bearer realm="handoff"`)
			http.Error(w, "a bearer token is required", http.StatusUnauthorized)
		case r.Header.Get("Mcp-Protocol-Version") >= withoutSessions:
			requests.ServeHTTP(w, r)
		default:
			sessions.ServeHTTP(w, r)
		}
	})
}

func hasToken(header, token string) bool {
	given, ok := strings.CutPrefix(header, "Bearer ")
	return ok && token != "" && subtle.ConstantTimeCompare([]byte(given), []byte(token)) == 1
}

// isHost reports whether a Host header names one of hosts, with any port.
func isHost(host string, hosts []string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	for _, known := range hosts {
		if strings.EqualFold(strings.Trim(host, "[]"), known) {
			return true
		}
	}
	return false
}

// sameOrigin reports whether a request comes from no page, or from one of hosts.
func sameOrigin(origin string, hosts []string) bool {
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && isHost(u.Host, hosts)
}
