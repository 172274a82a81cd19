// Package reviewweb is the server of review --web: pages on which a person reviews artifacts
// in a browser. Unlike the viewer, which it is no part of, it records what the person says.
//
// A page is complete without a script: a comment is written in a form at an address such as
// ?at=L12-L14#form. What a form records is decided by package workspace/reviews.
package reviewweb

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/access"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/web"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/workspace"
)

// Options configure a Server.
type Options struct {
	Workspace *workspace.Workspace
	Threads   *thread.Set // where the cost and the origin of an artifact are found
	Now       func() time.Time
	Hosts     access.Hosts

	// Secret returns a new secret: the key of a link, the value of the cookie, or the token
	// that a form must have.
	Secret func() string

	// Linked is called when the link was used.
	Linked func()

	User, Via   string // of what is recorded, see reviews.Draft
	AllowSecret bool   // in texts
}

// A Server answers requests of a browser.
type Server struct {
	o     Options
	look  web.Look
	pages *template.Template
	door  *access.Door
	token string // that a form must have
}

//go:embed assets
var assetFiles embed.FS

//go:embed templates
var templateFiles embed.FS

// New returns a Server.
func New(o Options) (*Server, error) {
	s := &Server{o: o, look: web.NewLook(o.Now, assetFiles), door: access.NewDoor("handoff-review", o.Secret),
		token: o.Secret()}
	var err error
	s.pages, err = s.look.Parse(templateFiles, "templates/*.html")
	return s, err
}

// Link returns the path that lets one browser in, once.
func (s *Server) Link() string { return s.door.Link() }

// policy is the content security policy of pages: as that of the viewer, without frames.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// maxForm is the size of a form in bytes: more than a comment may have.
const maxForm = 256 << 10

// Handler returns the handler of all paths.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /assets/", s.look.Assets())
	mux.HandleFunc("GET /open", s.open)
	for pattern, view := range map[string]view{"/{$}": s.queue, "/artifacts/{id}": s.item,
		"/artifacts/{id}/context": s.context} {
		mux.Handle("GET "+pattern, s.admitted(s.page(view)))
	}
	mux.Handle("GET /bodies/{id}", s.admitted(http.HandlerFunc(s.body)))
	mux.Handle("POST /artifacts/{id}", s.admitted(http.HandlerFunc(s.post)))
	mux.Handle("/{path...}", s.page(func(*http.Request) (page, error) {
		return page{}, handoff.E("open", "page", handoff.NotFound, errors.New("no such page"), handoff.Hint{})
	}))
	return s.guard(mux)
}

// guard rejects requests that a page of another origin could make, and all methods but those
// that the pages use.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin") // without a referrer, a form has no origin
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		reason := s.o.Hosts.Reject(r)
		switch isPost := r.Method == http.MethodPost; {
		case reason != "":
			s.refuse(w, http.StatusForbidden, reason)
		case access.FromOtherSite(r), isPost && !isOwnForm(r):
			s.refuse(w, http.StatusForbidden, "a page of another site made the request")
		case !isPost && r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD, POST")
			s.refuse(w, http.StatusMethodNotAllowed, "the method is not allowed")
		case !access.IsPlainPath(r.URL):
			s.refuse(w, http.StatusForbidden, "the path is not allowed")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// isOwnForm reports whether a page of this server sends a form, as the browser states.
func isOwnForm(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return r.Header.Get("Origin") == "http://"+r.Host && (site == "" || site == "same-origin")
}

// admitted requires the cookie of the link.
func (s *Server) admitted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.door.Admits(r) {
			s.refuse(w, http.StatusUnauthorized, "open the link that the command printed when it started")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) open(w http.ResponseWriter, r *http.Request) {
	if !s.door.Open(w, r) {
		s.refuse(w, http.StatusUnauthorized, "this link was used before, or it is of an earlier command")
		return
	}
	if r.Method == http.MethodGet && s.o.Linked != nil {
		s.o.Linked()
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// refuse answers a request that is not admitted. The page has nothing of the workspace.
func (s *Server) refuse(w http.ResponseWriter, status int, reason string) {
	s.render(w, page{Name: "refused", Title: http.StatusText(status), Status: status, Data: reason})
}

// A page is what a view shows.
type page struct {
	Name   string // of its template
	Title  string
	Data   any
	Status int // by default 200
	Poll   int // it is asked for again after so many milliseconds; 0 for never

	Scripts []string // besides those of each page

	Token, User string
}

// A view returns the page for a request.
type view func(r *http.Request) (page, error)

// pollTime is when a page asks for what was recorded, in milliseconds.
const pollTime = 1000

// page answers requests with the page of a view, or with that of its error.
func (s *Server) page(v view) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, err := v(r)
		if err != nil {
			p = page{Name: "error", Title: "Not available", Status: statusOf(err), Data: cli.NewFailure(err)}
		}
		s.render(w, p)
	})
}

// statusOf returns the status of the page that shows an error.
func statusOf(err error) int {
	for kind, status := range map[error]int{handoff.NotFound: http.StatusNotFound, handoff.Invalid: http.StatusBadRequest,
		handoff.Conflict: http.StatusConflict} {
		if errors.Is(err, kind) {
			return status
		}
	}
	return http.StatusUnprocessableEntity
}

func (s *Server) render(w http.ResponseWriter, p page) {
	p.Token, p.User = s.token, s.o.User
	if p.Name == "refused" {
		p.Token, p.User = "", ""
	}
	var b bytes.Buffer
	if err := s.pages.ExecuteTemplate(&b, p.Name+".html", p); err != nil {
		http.Error(w, "internal error: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if p.Status != 0 {
		w.WriteHeader(p.Status)
	}
	_, _ = w.Write(b.Bytes())
}

// queuePage is what the first page shows.
type queuePage struct {
	Waiting  []handoff.Artifact // the longest first
	Reviewed []handoff.Artifact // active ones, the newest first
	Query    url.Values         // of the page
}

// queue lists what waits for a review, and what was reviewed.
func (s *Server) queue(r *http.Request) (page, error) {
	q, err := s.waiting(r.Context())
	q.Query = r.URL.Query()
	return page{Name: "queue", Title: "Review", Poll: pollTime, Data: q}, err
}

// reviewedShown is how many reviewed artifacts the first page shows.
const reviewedShown = 50

func (s *Server) waiting(ctx context.Context) (q queuePage, err error) {
	found, err := s.o.Workspace.Reviews().Waiting(ctx, handoff.ArtifactQuery{})
	if err != nil {
		return q, err
	}
	q.Waiting = found.Artifacts
	order.Sort(q.Waiting, func(a, b handoff.Artifact) int { return a.CreatedAt.Compare(b.CreatedAt) })
	discussed, err := s.o.Workspace.Hub().Artifacts(ctx, handoff.ArtifactQuery{Discussed: true, Limit: 2 * reviewedShown})
	for _, a := range discussed.Artifacts {
		waits := slices.ContainsFunc(q.Waiting, func(w handoff.Artifact) bool { return w.ID == a.ID })
		if !waits && len(q.Reviewed) < reviewedShown {
			q.Reviewed = append(q.Reviewed, a)
		}
	}
	return q, err
}
