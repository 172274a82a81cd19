package web

import (
	"net/http"

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
		case access.FromOtherSite(r):
			s.refuse(w, r, http.StatusForbidden, "origin_not_allowed", "a page of another site made the request")
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			s.refuse(w, r, http.StatusMethodNotAllowed, "method_not_allowed", "the viewer is read-only")
		case !access.IsPlainPath(r.URL):
			s.refuse(w, r, http.StatusForbidden, "path_not_allowed", "the path is not allowed")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// open answers a request for a link.
func (s *Server) open(w http.ResponseWriter, r *http.Request) {
	if !s.door.Open(w, r) {
		s.refuse(w, r, http.StatusUnauthorized, "link_used", "this link was used before, or it is of an earlier server")
		return
	}
	if s.o.Secret != nil && r.Method == http.MethodGet && s.o.Linked != nil {
		s.o.Linked(s.Link())
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// Link returns the path that lets one browser in, once, and then leads to /.
func (s *Server) Link() string { return s.door.Link() }

// authorized requires the cookie of the link, or the token.
func (s *Server) authorized(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.door.Admits(r) && !access.HasToken(r, s.o.Token) {
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
	p := page{Name: refused, Title: http.StatusText(status), Status: status, Data: reason}
	text, err := s.render(p)
	answer(w, r, p, text, err)
}
