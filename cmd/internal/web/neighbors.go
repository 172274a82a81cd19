package web

import (
	"context"
	"net/url"
	"slices"
	"time"

	"github.com/agent-handoff/handoff/cmd/internal/preview"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
)

// How many threads of a list are beside one that is read.
const (
	neighborsBefore = 10
	neighborsShown  = 30
	neighborWait    = 10 * time.Millisecond
	neighborRest    = 10 * time.Second
)

// neighbors are the threads of the list from which one was opened, around that one.
type neighbors struct {
	List    string // its address
	Filters []filter
	Threads []neighbor
}

// title returns the title of the thread of the page, "" if it is not known.
func (n neighbors) title() string {
	for _, t := range n.Threads {
		if t.IsShown {
			return t.Title
		}
	}
	return ""
}

// A neighbor is a thread of the list.
type neighbor struct {
	URI      thread.URI
	Title    string
	Status   thread.Status
	Modified time.Time
	URL      string
	Cost     *trace.Usage // nil if it is not known yet
	IsShown  bool         // it is the thread of the page
}

// neighbors returns the threads around one in the list that a query names, as it was last read:
// a page does not wait for a list of many threads.
func (s *Server) neighbors(uri thread.URI, q url.Values, used map[string]*trace.Usage) neighbors {
	n := neighbors{List: "/threads"}
	if len(q) > 0 {
		n.List += "?" + q.Encode()
	}
	for _, f := range filtersOf(q, append(threadFilters, "sort")...) {
		if f.Value != "" {
			n.Filters = append(n.Filters, f)
		}
	}
	all, _, err := s.beside.of(q.Encode()).get(s, reading[[]neighbor]{wait: neighborWait, least: neighborRest,
		read: func(ctx context.Context) (list []neighbor, err error) {
			found, _, err := s.findThreads(ctx, q, s.costOfThreads(new(page)))
			for _, t := range found.Threads {
				list = append(list, neighbor{URI: t.URI, Title: preview.Title(t.Name()), Status: t.State.Status,
					Modified: t.Modified})
			}
			return list, err
		}})
	if err != nil { // the page of the list shows it
		return n
	}
	at := slices.IndexFunc(all, func(o neighbor) bool { return o.URI == uri })
	first := max(0, min(at-neighborsBefore, len(all)-neighborsShown))
	n.Threads = slices.Clone(all[first:min(len(all), first+neighborsShown)])
	for i := range n.Threads {
		o := &n.Threads[i]
		name := o.URI.String()
		o.URL, o.Cost, o.IsShown = threadURL(name)+listQuery("?", q), used[name], o.URI == uri
	}
	return n
}

// listQuery returns the part of the address of a thread that names the list from which it was
// opened, "" for that of all threads.
func listQuery(mark string, q url.Values) string {
	if len(q) == 0 {
		return ""
	}
	return mark + "list=" + url.QueryEscape(q.Encode())
}
