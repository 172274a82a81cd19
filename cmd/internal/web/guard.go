package web

import (
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/agent-handoff/handoff/cmd/internal/access"
)

// policy is the content security policy of pages. A page loads nothing from
// another host, runs no inline script and has no inline style.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"frame-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guard rejects requests that a page of another origin could make, those that
// are not GET or HEAD, and paths that no link of a page has.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		reason := s.o.Hosts.Reject(r)
		switch {
		case reason != "":
			s.refuse(w, r, http.StatusForbidden, "origin_not_allowed", reason)
		case fromOtherSite(r):
			s.refuse(w, r, http.StatusForbidden, "origin_not_allowed", "a page of another site made the request")
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			s.refuse(w, r, http.StatusMethodNotAllowed, "method_not_allowed", "the viewer is read-only")
		case !isPlainPath(r.URL):
			s.refuse(w, r, http.StatusForbidden, "path_not_allowed", "the path is not allowed")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// fromOtherSite reports whether a page of another site, or of another server on
// this machine, asks for more than to be left for this one.
func fromOtherSite(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return (site == "cross-site" || site == "same-site") && r.Header.Get("Sec-Fetch-Mode") != "navigate"
}

// isPlainPath reports whether the path of a URL names nothing outside what its
// route serves.
func isPlainPath(u *url.URL) bool {
	p := u.Path
	tooLong := func(element string) bool { return len(element) > 255 }
	if strings.ContainsAny(p, "\\\x00") || len(p) > 4096 || slices.ContainsFunc(strings.Split(p, "/"), tooLong) {
		return false
	}
	clean := path.Clean(p)
	return p == clean || p == clean+"/"
}

// A door admits the browser that opened its link.
type door struct {
	mu     sync.Mutex
	secret func() string // nil for a door that is open
	cookie string
	key    string // of the link that was not used yet
}

func newDoor(secret func() string) *door {
	d := &door{secret: secret}
	if secret != nil {
		d.cookie, d.key = secret(), secret()
	}
	return d
}

// cookieName is that of the cookie. A browser sends it to every port of a host,
// so it has the port.
func cookieName(r *http.Request) string {
	_, port, _ := strings.Cut(r.Host, ":")
	return "handoff" + strings.Map(func(c rune) rune {
		if c < '0' || c > '9' {
			return -1
		}
		return c
	}, port)
}

// Link returns the path that lets one browser in, once, and then leads to /.
func (s *Server) Link() string {
	s.door.mu.Lock()
	defer s.door.mu.Unlock()
	if s.door.secret == nil {
		return "/"
	}
	return "/open?key=" + s.door.key
}

// open answers a request for a link.
func (s *Server) open(w http.ResponseWriter, r *http.Request) {
	if !s.door.unlock(r) {
		s.refuse(w, r, http.StatusUnauthorized, "link_used", "this link was used before, or it is of an earlier server")
		return
	}
	if s.door.secret != nil && r.Method == http.MethodGet {
		http.SetCookie(w, &http.Cookie{Name: cookieName(r), Value: s.door.cookie, Path: "/", HttpOnly: true,
			SameSite: http.SameSiteLaxMode})
		if s.o.Linked != nil {
			s.o.Linked(s.Link())
		}
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// unlock reports whether a request has the key of the link, which is then used
// up. HEAD, which programs that preview links send, does not use it.
func (d *door) unlock(r *http.Request) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.secret == nil {
		return true
	}
	if !access.Equal(r.URL.Query().Get("key"), d.key) {
		return false
	}
	if r.Method == http.MethodGet {
		d.key = d.secret()
	}
	return true
}

// authorized requires the cookie of the link, or the token.
func (s *Server) authorized(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := r.Cookie(cookieName(r))
		known := s.door.secret == nil || err == nil && access.Equal(c.Value, s.door.cookie) || access.HasToken(r, s.o.Token)
		if !known {
			s.refuse(w, r, http.StatusUnauthorized, "link_required", "open the link that the server printed when it started")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// errorCode is the header that has the code of an error, for programs.
const errorCode = "Handoff-Error"

// refused is the name of the page for requests that are not admitted.
const refused = "refused"

// refuse answers a request with an error page that shows nothing of the
// workspace.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, status int, code, reason string) {
	w.Header().Set(errorCode, code)
	s.render(w, r, page{Name: refused, Title: http.StatusText(status), Status: status, Data: reason})
}
