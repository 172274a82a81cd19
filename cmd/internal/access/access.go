// Package access decides which HTTP requests a server on this machine answers.
//
// A server that listens on loopback can still be reached by every page that the
// user's browser has open. Such a page can't set the Host header, can't hide its
// origin, and does not know the token.
package access

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Hosts are the names under which a server may be addressed.
type Hosts struct {
	names  []string
	anyIP  bool
	remote bool
}

// NewHosts returns the names of a server that listens on an address, as it was
// configured and as it is in use. A server on all interfaces is addressed by any
// IP address, which, unlike a name, can't be made to mean another host.
func NewHosts(configured string, listening net.Addr) Hosts {
	h := Hosts{names: []string{"localhost"}}
	for _, address := range []string{configured, listening.String()} {
		if host, _, err := net.SplitHostPort(address); err == nil && host != "" {
			h.names = append(h.names, host)
		}
	}
	if tcp, ok := listening.(*net.TCPAddr); ok {
		h.anyIP, h.remote = tcp.IP.IsUnspecified(), !tcp.IP.IsLoopback()
	}
	return h
}

// Remote reports whether other machines can reach the server.
func (h Hosts) Remote() bool { return h.remote }

// Reject returns why a request is not answered, "" if it may be: it names another
// host, or a page of another origin makes it.
func (h Hosts) Reject(r *http.Request) string {
	switch {
	case !h.has(r.Host):
		return "unknown host"
	case !h.sameOrigin(r.Header.Get("Origin")):
		return "unknown origin"
	}
	return ""
}

// has reports whether a Host header names one of h, with any port.
func (h Hosts) has(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	return slices.ContainsFunc(h.names, func(name string) bool { return strings.EqualFold(name, host) }) || h.anyIP &&
		net.ParseIP(host) != nil
}

// sameOrigin reports whether a request comes from no page, or from one of h.
func (h Hosts) sameOrigin(origin string) bool {
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && h.has(u.Host)
}

// HasToken reports whether a request has the bearer token.
func HasToken(r *http.Request, token string) bool {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && Equal(given, token)
}

// Equal compares secrets in constant time. No secret equals "".
func Equal(given, secret string) bool {
	return secret != "" && subtle.ConstantTimeCompare([]byte(given), []byte(secret)) == 1
}
