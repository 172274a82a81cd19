package web

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/workspace/sessions"
)

// sessionsShown is how many sessions a page lists.
const sessionsShown = 50

// folderWait is how long the page of sessions waits for their folders to be read for
// the first time. Reading 10,000 of them takes a second.
const folderWait = 50 * time.Millisecond

// sessionList is what the page of sessions shows.
type sessionList struct {
	Agents     []agentSessions
	Unrecorded []session.Adoption
	Reading    bool // the folders are being read
	Filter     sessions.Filter
	Statuses   []string
	Notices    []handoff.NoticeCode
	Place      string // "", archive or trash
	Next       string // the query of the next page, "" at the end
	Filters    filters
	sorting
}

// sessionOrders are the orders of sessions besides the newest first. A sorted list is not by agent.
var sessionOrders = map[string]func(a, b session.View) int{
	"name":     func(a, b session.View) int { return strings.Compare(a.LongName, b.LongName) },
	"agent":    func(a, b session.View) int { return strings.Compare(a.Agent.Name, b.Agent.Name) },
	"workflow": func(a, b session.View) int { return strings.Compare(a.Workflow.Name, b.Workflow.Name) },
	"status":   func(a, b session.View) int { return strings.Compare(a.Status, b.Status) },
	"duration": func(a, b session.View) int {
		return cmp.Compare(b.ClosedAt.Sub(b.OpenedAt), a.ClosedAt.Sub(a.OpenedAt))
	},
	"artifacts": func(a, b session.View) int { return cmp.Compare(b.Published, a.Published) },
}

// agentSessions are the sessions of one agent, newest first.
type agentSessions struct {
	Name     string
	Sessions []session.View
}

// sessions lists sessions by agent. Agents are in the order of their newest
// session.
func (s *Server) sessions(r *http.Request) (page, error) {
	q := r.URL.Query()
	f := sessions.Filter{Agent: q.Get("agent"), Status: q.Get("status"), Notice: q.Get("notice"), Tag: q.Get("tag"),
		Workflow: q.Get("workflow"), Text: q.Get("text"), Since: q.Get("since"), Until: q.Get("until"),
		Cursor: q.Get("cursor"), Limit: sessionsShown, WithCounts: true,
		Archived: q.Get("in") == "archive", Deleted: q.Get("in") == "trash"}
	if in := q.Get("in"); in != "" && !f.Archived && !f.Deleted {
		return page{}, handoff.E("list sessions", in, handoff.Invalid, errors.New("no such place"),
			handoff.Advice("use archive or trash"))
	}
	compare := sessionOrders[q.Get("sort")]
	if compare != nil {
		f.Limit, f.Cursor = sorted, ""
	}
	p := page{Name: "sessions", Title: "Sessions", Section: "/sessions", Live: f.Cursor == ""}
	found, err := s.o.Source.Sessions.Find(r.Context(), f)
	if err != nil {
		return page{}, err
	}
	list := sessionList{Filter: f, Statuses: sessions.Statuses(), Place: q.Get("in"),
		sorting: sortingOf(q, found.Cursor != "", sessionOrders),
		Filters: filtersOf(q, "text", "agent", "workflow", "tag", "since", "until", "status", "notice", "in")}
	list.IsTextCut = found.IsCut
	for _, code := range sessions.Notices() {
		list.Notices = append(list.Notices, handoff.NoticeCode(code))
	}
	if compare != nil && len(found.Sessions) > 0 {
		order.Sort(found.Sessions, compare)
		list.Agents = []agentSessions{{Name: "By " + list.Sort, Sessions: found.Sessions}}
	} else if list.Agents = byAgent(found.Sessions); found.Cursor != "" {
		q.Set("cursor", found.Cursor)
		list.Next = "?" + q.Encode()
	}
	p.Data = list
	if f.Agent+f.Status+f.Notice+f.Tag+f.Workflow+f.Text+f.Since+f.Until+list.Place+f.Cursor+list.Sort != "" {
		return p, nil
	}
	unrecorded, known, err := s.unrecordedFolders()
	p.warn(err)
	p.Warnings = append(p.Warnings, unrecorded.Warnings...)
	list.Unrecorded, list.Reading = unrecorded.Sessions, !known
	if list.Reading {
		p.Poll = threadRest // that the folders are read is not in the log
	}
	p.Data = list
	return p, nil
}

// unrecordedFolders returns the folders of sessions that are not recorded, as they were last
// read.
func (s *Server) unrecordedFolders() (list sessions.Adoptions, known bool, err error) {
	return s.folders.get(s,
		reading[sessions.Adoptions]{read: s.o.Source.Sessions.Unrecorded, wait: folderWait})
}

// isUnrecorded reports whether an ID is that of a folder that is not recorded. A page does not
// read all folders for an ID that nothing has.
func (s *Server) isUnrecorded(id string) bool {
	if s.events == nil { // an export, which ends before a list is read
		return true
	}
	list, _, _ := s.unrecordedFolders()
	return slices.ContainsFunc(list.Sessions, func(a session.Adoption) bool { return a.ID == id })
}

func byAgent(list []session.View) []agentSessions {
	var groups []agentSessions
	at := map[string]int{}
	for _, v := range list {
		name := cmp.Or(v.Agent.Title, v.Agent.Name, "Unknown agent")
		i, ok := at[name]
		if !ok {
			i = len(groups)
			at[name] = i
			groups = append(groups, agentSessions{Name: name})
		}
		groups[i].Sessions = append(groups[i].Sessions, v)
	}
	return groups
}
