package web

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/transcript"
	"github.com/agent-handoff/handoff/workspace/threads"
	"github.com/agent-handoff/handoff/workspace/work"
)

// threadsShown is how many threads a page lists.
const threadsShown = 50

// threadsPage is what the list of threads shows.
type threadsPage struct {
	Threads  []threadRow
	Reading  bool // the threads are being read
	Filters  filters
	Statuses []string
	Next     string
	More     int // threads that are not shown, if they are sorted
	sorting
}

// A threadRow is a thread in a list.
type threadRow struct {
	transcript.Item
	Cost *trace.Usage // nil if it is not known yet
}

// Models returns the names of the models that a thread used.
func (r threadRow) Models() string {
	var names []string
	for _, m := range r.Usage.Models {
		if !slices.Contains(names, m.Model) {
			names = append(names, m.Model)
		}
	}
	return strings.Join(names, ", ")
}

// Took returns the time from the first to the last record of a thread.
func (r threadRow) Took() time.Duration {
	if r.Started.IsZero() || r.Seen().Before(r.Started) {
		return 0
	}
	return r.Seen().Sub(r.Started)
}

// threadFilters are the filters of the list of threads.
var threadFilters = []string{"text", "program", "model", "branch", "since", "until", "status"}

// threadOrders are the orders of threads besides the newest first, by the name of the column.
var threadOrders = map[string]func(a, b threadRow) int{
	"title":    func(a, b threadRow) int { return strings.Compare(a.Name(), b.Name()) },
	"program":  func(a, b threadRow) int { return strings.Compare(a.Provider, b.Provider) },
	"branch":   func(a, b threadRow) int { return strings.Compare(a.Branch, b.Branch) },
	"status":   func(a, b threadRow) int { return strings.Compare(string(a.State.Status), string(b.State.Status)) },
	"model":    func(a, b threadRow) int { return strings.Compare(a.Models(), b.Models()) },
	"messages": func(a, b threadRow) int { return cmp.Compare(b.Messages, a.Messages) },
	"duration": func(a, b threadRow) int { return cmp.Compare(b.Took(), a.Took()) },
	"cost":     func(a, b threadRow) int { return cmp.Compare(b.dollars(), a.dollars()) },
}

// Direction is the order of the sorted column, as an attribute of its head: the most is first.
func (p threadsPage) Direction() string {
	switch p.Sort {
	case "messages", "duration", "cost":
		return "descending"
	}
	return "ascending"
}

func (r threadRow) dollars() float64 {
	if r.Cost == nil {
		return 0
	}
	return amount(r.Cost.Cost)
}

// threadList lists the threads of this repository by what the address names. A sorted list has
// all of them, but for what does not fit on a page.
func (s *Server) threadList(r *http.Request) (page, error) {
	if s.o.Source.Threads == nil {
		return page{}, errNoThreads
	}
	q := r.URL.Query()
	p := page{Name: "threads", Title: "Threads", Section: "/threads", Styles: []string{"threads.css"}}
	if q.Get("cursor") == "" {
		p.Poll = threadRest
	}
	used := s.costOfThreads(&p)
	if o, _ := threadOptions(q); o.All {
		if _, known := s.threadTitles(&p, costWait); !known { // it creates the index
			p.Data = threadsPage{Reading: true, Filters: filtersOf(q, threadFilters...), Statuses: thread.Statuses(),
				sorting: sortingOf(q, false, threadOrders)}
			return p, nil
		}
	}
	v, warnings, err := s.findThreads(r.Context(), q, used)
	if err != nil {
		return page{}, err
	}
	p.Warnings, p.Data = append(p.Warnings, warnings...), v
	return p, nil
}

// findThreads returns the list of threads that an address names, with what they cost.
func (s *Server) findThreads(ctx context.Context, q url.Values, used map[string]*trace.Usage) (v threadsPage,
	warnings []string, err error) {
	o, compare := threadOptions(q)
	v = threadsPage{Filters: filtersOf(q, threadFilters...), Statuses: thread.Statuses(),
		sorting: sortingOf(q, false, threadOrders)}
	found, err := s.o.Source.Conversations.List(ctx, o)
	if err != nil {
		return v, nil, err
	}
	for _, i := range found.Threads {
		if branch := q.Get("branch"); branch == "" || i.Branch == branch {
			v.Threads = append(v.Threads, threadRow{i, used[i.URI.String()]})
		}
	}
	if compare != nil {
		order.Sort(v.Threads, compare)
	}
	v.More = max(0, len(v.Threads)-sorted)
	v.Threads = v.Threads[:len(v.Threads)-v.More]
	if found.Cursor != "" {
		next := maps.Clone(q)
		next.Set("cursor", found.Cursor)
		v.Next = "?" + next.Encode()
	}
	return v, found.Warnings, nil
}

// threadOptions returns the threads that an address names, and their order, nil for the newest first.
// Those of a branch and in another order are selected from all.
func threadOptions(q url.Values) (o threads.ListOptions, compare func(a, b threadRow) int) {
	o = threads.ListOptions{Limit: threadsShown, Cursor: q.Get("cursor"), Status: thread.Status(q.Get("status")),
		Model: q.Get("model"), Title: q.Get("text"), Since: q.Get("since"), Until: q.Get("until")}
	if program := q.Get("program"); program != "" {
		o.Providers = []string{program}
	}
	if compare = threadOrders[q.Get("sort")]; compare != nil || q.Get("branch") != "" {
		o.Limit, o.Cursor = 0, ""
	}
	o.All = o.Limit == 0 || o.Title+o.Model != ""
	return o, compare
}

// costOfThreads returns what threads cost, by their URI, as it was last read.
func (s *Server) costOfThreads(p *page) map[string]*trace.Usage {
	costs, _, err := s.costs(work.CostOptions{By: "thread"}, threadWait)
	p.warn(err)
	used := map[string]*trace.Usage{}
	for i, row := range costs.Rows {
		used[row.Key] = &costs.Rows[i].Amount
	}
	return used
}

// Open returns the address of a thread of the list, which names the list.
func (v threadsPage) Open(uri thread.URI) string {
	return threadURL(uri.String()) + listQuery("?", v.link)
}

// Columns returns the names of the columns that the list can be sorted by.
func (v threadsPage) Columns() []string {
	return []string{"title", "program", "branch", "status", "model", "messages", "duration", "cost"}
}
