package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/transcript"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/threads"
)

// artifactsShown is how many artifacts a page lists.
const artifactsShown = 50

// channels lists the channels.
func (s *Server) channels(r *http.Request) (page, error) {
	list, err := s.o.Source.Artifacts.Channels(r.Context(), workspace.Filter{})
	if err != nil {
		return page{}, err
	}
	return page{Name: "channels", Title: "Channels", Section: "/channels", Live: true, Data: list}, nil
}

// channelPage is what the page of a channel shows.
type channelPage struct {
	Name      string
	Artifacts []handoff.Artifact
	Hidden    int
	All       bool
	Next      string
}

// channel lists the artifacts of a channel.
func (s *Server) channel(r *http.Request) (page, error) {
	q, name := r.URL.Query(), r.PathValue("name")
	o := workspace.ListOptions{Filter: workspace.Filter{Channel: name, IncludeInactive: q.Get("status") == "all"},
		Limit: artifactsShown, Cursor: q.Get("cursor")}
	found, err := s.o.Source.Artifacts.List(r.Context(), o)
	if err != nil {
		return page{}, err
	}
	c := channelPage{Name: name, Artifacts: found.Artifacts, Hidden: found.HiddenCount, All: o.IncludeInactive}
	if found.Cursor != "" {
		q.Set("cursor", found.Cursor)
		c.Next = "?" + q.Encode()
	}
	return page{Name: "channel", Title: name, Section: "/channels", Crumbs: []crumb{{"Channels", "/channels"}},
		Live: o.Cursor == "", Data: c}, nil
}

// An artifactList is what the page of artifacts shows.
type artifactList struct {
	Artifacts []handoff.Artifact
	Filters   filters
	Statuses  []string
	Notices   []handoff.NoticeCode
	Next      string
	sorting
}

// artifactOrders are the orders of artifacts besides the newest first.
var artifactOrders = map[string]func(a, b handoff.Artifact) int{
	"title":   func(a, b handoff.Artifact) int { return strings.Compare(a.DisplayName(), b.DisplayName()) },
	"channel": func(a, b handoff.Artifact) int { return strings.Compare(a.Channel, b.Channel) },
	"agent":   func(a, b handoff.Artifact) int { return strings.Compare(whoOf(a), whoOf(b)) },
	"status":  func(a, b handoff.Artifact) int { return strings.Compare(string(a.Status), string(b.Status)) },
	"size": func(a, b handoff.Artifact) int {
		return cmp.Compare(value(b.SizeBytes), value(a.SizeBytes))
	},
}

func value(n *int64) int64 {
	if n == nil {
		return -1
	}
	return *n
}

// artifacts lists artifacts by what the address names.
func (s *Server) artifacts(r *http.Request) (page, error) {
	q := r.URL.Query()
	o := workspace.ListOptions{Limit: artifactsShown, Cursor: q.Get("cursor"), Text: q.Get("text")}
	o.Filter = workspace.Filter{
		Channel: q.Get("channel"), Label: q.Get("label"), Tag: q.Get("tag"), Status: q.Get("status"),
		Notice: handoff.NoticeCode(q.Get("notice")), Since: q.Get("since"), Until: q.Get("until"),
		Producer: map[string]string{}}
	if o.Path = q.Get("path"); o.Path != "" && !filepath.IsAbs(o.Path) {
		o.Path = filepath.Join(s.o.Source.Root, o.Path)
	}
	if o.Status == "all" {
		o.Status, o.IncludeInactive = "", true
	}
	for name, field := range map[string]string{"agent": "agent", "program": "harness", "session": "session",
		"run": "run", "task": "task"} {
		if value := q.Get(name); value != "" {
			o.Producer[field] = value
		}
	}
	compare := artifactOrders[q.Get("sort")]
	if compare != nil {
		o.Limit, o.Cursor = sorted, ""
	}
	found, err := s.o.Source.Artifacts.List(r.Context(), o)
	if err != nil {
		return page{}, err
	}
	v := artifactList{Artifacts: found.Artifacts, sorting: sortingOf(q, found.Cursor != "", artifactOrders),
		Statuses: []string{"active", "superseded", "withdrawn", "all"},
		Notices: []handoff.NoticeCode{handoff.NoticeContradicted, handoff.NoticeVerified, handoff.NoticeAsserted,
			handoff.NoticeReviewAsked, handoff.NoticeChangesRequested, handoff.NoticeApproved, handoff.NoticeCommented,
			handoff.NoticeCompeting, handoff.NoticeStale},
		Filters: filtersOf(q, "text", "channel", "agent", "program", "session", "run", "task", "path", "label", "tag",
			"since", "until", "notice", "status")}
	v.IsTextCut = found.IsCut
	if compare != nil {
		order.Sort(v.Artifacts, compare)
	} else if found.Cursor != "" {
		q.Set("cursor", found.Cursor)
		v.Next = "?" + q.Encode()
	}
	return page{Name: "artifacts", Title: "Artifacts", Section: "/artifacts", Live: o.Cursor == "", Data: v}, nil
}

// A filter is a field of a form, with its value. Without is the address without it, "" if it
// has no value.
type filter struct{ Name, Value, Without string }

// filters are those of a list.
type filters []filter

// IsSet reports whether one of them has a value.
func (list filters) IsSet() bool {
	return slices.ContainsFunc(list, func(f filter) bool { return f.Value != "" })
}

func filtersOf(q url.Values, names ...string) (list filters) {
	for _, name := range names {
		f := filter{Name: name, Value: q.Get(name)}
		if f.Value != "" {
			rest := url.Values{}
			for key, values := range q {
				if key != name && key != "cursor" {
					rest[key] = values
				}
			}
			f.Without = "?" + rest.Encode()
		}
		list = append(list, f)
	}
	return list
}

// searchShown is how many artifacts and sessions a search shows.
const searchShown = 30

// searchPage is what the page of a search shows.
type searchPage struct {
	Text   string
	All    bool
	Kind   string // one of Kinds, "" for all
	Kinds  []string
	Titles []subject // with the words, if Kind is inTitles
	workspace.SearchResult
	Conversations transcript.Matches
	Reading       bool // the threads are being read
	Files         bool // there is a page of changed files
}

// kindShown is how many things a search of one kind shows.
const kindShown = 100

// The kinds of a search besides those of the log.
const (
	inThreads = "threads"
	inTitles  = "titles" // of everything
)

// In returns the address of the same search for one kind, or for all.
func (v searchPage) In(kind string) string {
	q := url.Values{"q": {v.Text}}
	if v.All {
		q.Set("status", "all")
	}
	if kind != "" {
		q.Set("kind", kind)
	}
	return "?" + q.Encode()
}

// Count returns how many of a kind were found, with a plus if there may be more.
func (v searchPage) Count(n int) string {
	if v.More && n >= searchShown {
		return strconv.Itoa(n) + "+"
	}
	return strconv.Itoa(n)
}

// Limits of searching threads. The first search reads all of them.
const (
	searchWait = 2 * time.Second
	searchRest = 2 * time.Second
)

// searchThreads adds the threads of this repository with the words.
func (s *Server) searchThreads(p *page, v *searchPage, most int) {
	if s.o.Source.Threads == nil {
		return
	}
	v.Files = true
	found, known, err := s.searches.of(fmt.Sprint(most, v.Text)).get(s,
		reading[transcript.Matches]{wait: searchWait, least: searchRest,
			read: func(ctx context.Context) (transcript.Matches, error) {
				return s.o.Source.Conversations.Search(ctx,
					threads.SearchOptions{Text: v.Text, ListOptions: threads.ListOptions{Limit: most}})
			}})
	p.warn(err)
	p.Warnings = append(p.Warnings, found.Warnings...)
	v.Conversations, v.Reading = found, !known
	v.More = v.More || found.More
	p.Live = !known // until they have been read
}

// search finds artifacts, sessions and threads by words.
func (s *Server) search(r *http.Request) (page, error) {
	q := r.URL.Query()
	v := searchPage{Text: q.Get("q"), All: q.Get("status") == "all", Kind: q.Get("kind"),
		Kinds: workspace.SearchScopes()}
	if s.o.Source.Threads != nil {
		v.Kinds = append(v.Kinds, inThreads)
	}
	v.Kinds = append(v.Kinds, inTitles)
	p := page{Name: "search", Title: "Search"}
	o := workspace.SearchOptions{Text: v.Text, IncludeInactive: v.All, Limit: searchShown}
	if v.Kind != "" {
		o.Limit, o.In = kindShown, []string{v.Kind}
	}
	if v.Text != "" {
		switch v.Kind {
		case inTitles:
			titles, known := s.titlesWith(r.Context(), &p, v.Text)
			v.Titles, v.Reading, p.Live = titles, !known, !known
		case inThreads:
			s.searchThreads(&p, &v, o.Limit)
		default:
			var err error
			v.SearchResult, err = s.o.Source.Bodies.Search(r.Context(), o)
			p.warn(err)
			if v.Kind == "" {
				s.searchThreads(&p, &v, o.Limit)
			}
		}
		p.Title = v.Text
	}
	p.Data = v
	return p, nil
}
