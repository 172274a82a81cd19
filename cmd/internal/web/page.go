package web

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
)

// A page is what a view shows.
type page struct {
	Name     string  // of the file in templates/, without .html
	Title    string  // of the window, and of the last breadcrumb
	Crumbs   []crumb // what is above it, outermost first
	Section  string  // the entry of the navigation that it belongs to: a path
	Data     any
	Warnings []string
	Scripts  []string      // files in assets/
	Styles   []string      // files in assets/, besides those of every page
	Live     bool          // it is replaced when the log grows
	At       handoff.Seq   // the newest record when it was made
	Poll     time.Duration // it also shows what changes without the log, and asks for that at most so often; 0 for never
	Status   int           // by default 200
	Code     string        // of the error that it shows, for programs
}

// A crumb is a page above another one.
type crumb struct{ Name, URL string }

// A view returns the page for a request.
type view func(r *http.Request) (page, error)

// page answers requests with the page of a view, or with the page of its error.
func (s *Server) page(v view) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, text, err := s.build(r, v)
		if p.Code != "" {
			w.Header().Set(errorCode, p.Code)
		}
		answer(w, r, p, text, err)
	})
}

// build returns the page of a view, or of its error, and its text. It waits for its turn.
func (s *Server) build(r *http.Request, v view) (p page, text []byte, err error) {
	defer s.turns.take()()
	ctx, _ := s.o.Source.Once(r.Context()) // what can't be read is an error of what the page shows
	r = r.WithContext(ctx)
	at, _ := s.o.Source.Log.Position(ctx, "now") // at worst the page is asked for twice
	p, err = v(r)
	p.At = at
	if err != nil {
		p = errorPage(err)
	}
	text, err = s.render(p)
	return p, text, err
}

// turns has a place for each page that is being made. Without it all pages of a busy time
// would wait for each other at each of their reads.
type turns chan struct{}

// turnWait limits how long a page waits for others, which can themselves wait for a transcript.
const turnWait = 50 * time.Millisecond

// take waits for a place, at most turnWait. What it returns gives it back.
func (t turns) take() (giveBack func()) {
	select {
	case t <- struct{}{}:
		return func() { <-t }
	case <-time.After(turnWait):
		return func() {}
	}
}

// fail answers a request with the page of an error.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	s.page(func(*http.Request) (page, error) { return page{}, err }).ServeHTTP(w, r)
}

// errorPage returns the page that shows an error.
func errorPage(err error) page {
	p := page{Name: "error", Title: "Not found", Status: http.StatusNotFound, Code: errorCodeOf(err),
		Data: cli.NewFailure(err)}
	switch {
	case errors.As(err, new(pathError)), errors.Is(err, errNoThreads):
		p.Title, p.Status = "Not allowed", http.StatusForbidden
	case errors.Is(err, errNoPage), errors.Is(err, handoff.NotFound):
	case errors.Is(err, handoff.Invalid):
		p.Title, p.Status = "Invalid", http.StatusBadRequest
	case errors.Is(err, handoff.Conflict):
		p.Title, p.Status = "Ambiguous", http.StatusConflict
	case errors.Is(err, handoff.Corrupt):
		p.Title, p.Status = "Damaged", http.StatusUnprocessableEntity
	default:
		p.Title, p.Status = "Unavailable", http.StatusUnprocessableEntity
	}
	return p
}

// errorCodeOf returns the code of an error for programs.
func errorCodeOf(err error) string {
	var e *handoff.Error
	switch {
	case errors.As(err, new(pathError)):
		return "path_not_allowed"
	case errors.Is(err, errNoThreads):
		return "conversations_not_served"
	case errors.As(err, &e):
		return strings.ReplaceAll(string(e.Kind), " ", "_")
	}
	return "not_found"
}

// frame is what the layout shows.
type frame struct {
	page
	Root string // name of the workspace
	Sees bool   // the reader may see the workspace
}

func (s *Server) render(p page) ([]byte, error) {
	var b bytes.Buffer
	f := frame{page: p, Root: "handoff"}
	if f.Sees = p.Name != refused; f.Sees {
		f.Root = path.Base(s.o.Source.Root)
	}
	err := s.templates[p.Name].ExecuteTemplate(&b, "layout.html", f)
	return b.Bytes(), err
}

// answer answers a request with the text of a page, or with the error of its template.
func answer(w http.ResponseWriter, r *http.Request, p page, text []byte, err error) {
	if err != nil {
		http.Error(w, "internal error: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	writeText(w, r, cmp.Or(p.Status, http.StatusOK), text, func() []byte { return compressed(text) })
}

//go:embed templates/*.html
var templateFiles embed.FS

// parseTemplates returns the template of each page: the layout, the shared
// parts and the page's file.
func parseTemplates(functions template.FuncMap) (map[string]*template.Template, error) {
	shared, err := template.New("").Funcs(functions).ParseFS(templateFiles, "templates/layout.html", "templates/_*.html")
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		return nil, err
	}
	list := map[string]*template.Template{}
	for _, name := range names {
		base := strings.TrimSuffix(path.Base(name), ".html")
		if base == "layout" || strings.HasPrefix(base, "_") {
			continue
		}
		t, err := shared.Clone()
		if err != nil {
			return nil, err
		}
		if list[base], err = t.ParseFS(templateFiles, name); err != nil {
			return nil, err
		}
	}
	return list, nil
}
