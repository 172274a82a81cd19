// Package web is the viewer: pages that show the sessions, artifacts and
// threads of a workspace while agents work, and change nothing.
//
// A page is a method of Server that returns a page (a [view]) and a line in the
// table of routes (routes.go). The page names a file of templates/, which defines
// "main" for its Data; layout.html has the rest. _parts.html has the parts that
// several pages share. Rules for pages:
//
//   - A view gets everything from Source, which can't change the workspace. What
//     an artifact published is read by ID only, since reading a name records
//     edits.
//   - An error of a view becomes an error page with a status by its kind, never
//     500: data of others that is damaged is shown as what it is. A page that can
//     show something besides the damage returns no error, but Warnings.
//   - Names, titles and paths pass the template function "line", which makes
//     control characters visible. Content passes page.preview, which returns safe HTML
//     for the part "preview".
//   - The policy of pages allows no inline script and no inline style: geometry
//     goes into attributes of SVG elements. A script of a page is named in
//     page.Scripts; a static file is linked with the function "asset".
//   - Links are made with the functions artifactURL, sessionURL, channelURL,
//     issueURL, threadURL and graphURL. A command that fills an empty page is
//     named with the function "command" and an action of package handoff.
//   - app.js replaces the main element when the log grows. An element that has
//     state (an open details element, a scrolled box) keeps it if it has an id;
//     one with data-keep is not replaced. A page script listens for the event
//     "page:update" on document, which app.js sends after each replacement.
//   - Rows that the keyboard moves through have data-row and contain a link.
package web

import (
	"errors"
	"html/template"
	"net/http"
	"runtime"
	"time"

	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/transcript"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/candidates"
	"github.com/agent-handoff/handoff/workspace/news"
	"github.com/agent-handoff/handoff/workspace/sessions"
	"github.com/agent-handoff/handoff/workspace/work"

	"github.com/agent-handoff/handoff/cmd/internal/access"
)

// Options configure a Server.
type Options struct {
	Source Source
	Now    func() time.Time
	Hosts  access.Hosts

	// Token is accepted from programs. Secret returns a new secret: the key of a
	// link, or the value of the cookie. If it is nil, pages need neither.
	Token  string
	Secret func() string

	// Linked is called with the path of the next link after one was used.
	Linked func(path string)
}

// A Server answers requests for pages.
type Server struct {
	o         Options
	look      Look
	templates map[string]*template.Template
	events    *events
	turns     turns // to make a page
	checker   checker
	folders   latest[sessions.Adoptions]
	threads   latest[activeThreads]
	shown     keyed[workspace.Shown]          // sessions and artifacts with what transcripts show, by ID
	news      keyed[newsReport]               // by the time that was asked for
	spent     keyed[work.CostReport]          // by the query
	searches  keyed[transcript.Matches]       // by text
	choices   keyed[candidates.CandidateList] // by the refs
	changes   keyed[[]changedFile]            // by the time that was asked for
	beside    keyed[[]neighbor]               // lists of threads, by the query
	subagents keyed[map[string]agentUse]      // by the URI of the thread that started them
	chains    keyed[thread.Chain]             // by the URI of a thread
	titles    latest[[]subject]               // of threads
	running   latest[trace.Activity]
	commits   latest[[]news.Commit] // the newest

	concurrent latest[trace.Concurrency] // of the last 24 hours
	origins    keyed[trace.Origin]       // by what they are of

	door    *access.Door
	diagram diagram
}

// New returns a Server, which Close ends.
func New(o Options) (*Server, error) {
	s := &Server{o: o, look: NewLook(o.Now), door: access.NewDoor("handoff", o.Secret), events: newEvents(o.Source.Log),
		turns: make(turns, runtime.GOMAXPROCS(0))}
	var err error
	s.templates, err = parseTemplates(s.functions())
	return s, err
}

// Close ends the streams of events.
func (s *Server) Close() { s.events.close() }

// Handler returns the handler of all paths of the viewer.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, route := range s.routes() {
		mux.Handle("GET "+route.pattern, s.page(route.view))
	}
	mux.Handle("GET /bodies/{id}", s.file(s.body))
	mux.Handle("GET /files/{id}/{path...}", s.file(s.sessionFile))
	mux.Handle("GET /messages/{n}/{uri...}", s.file(s.messageText))
	mux.Handle("GET /briefs/{uri...}", s.file(s.brief))
	mux.Handle("GET /cost.csv", s.file(s.costCSV))
	mux.Handle("GET /events", s.events)
	mux.Handle("GET /diagram", &s.diagram)
	mux.Handle("GET /{path...}", s.page(func(r *http.Request) (page, error) { return page{}, errNoPage }))
	open := http.NewServeMux() // no secret is needed
	open.Handle("GET /assets/", s.look.assets)
	open.HandleFunc("GET /open", s.open)
	open.Handle("GET /", s.authorized(mux))
	return s.guard(open)
}

var errNoPage = errors.New("page not found")
