package web_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/web"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace/reviews"
)

// TestArtifactFilters lists artifacts by each filter of the address.
func TestArtifactFilters(t *testing.T) {
	s := newSite(t)
	s.publishAs(handoff.Producer{Agent: "builder", Harness: "codex", TaskID: "T-1"},
		handoff.Draft{Body: strings.NewReader("a"), Channel: "patch", Title: "Alpha", AskReview: true})
	s.publishAs(handoff.Producer{Agent: "reviewer", Harness: "pi"},
		handoff.Draft{Body: strings.NewReader("b"), Channel: "design", Title: "Beta", Tags: []string{"old"}})
	reviewed := s.publish(handoff.Draft{Body: strings.NewReader("c"), Channel: "design", Title: "Gamma"})
	_, err := s.ws.Reviews().Review(t.Context(), reviewed.ID,
		reviews.Draft{Decision: handoff.ChangesRequested, Text: "Shorter", User: "sam", Via: handoff.ViaTerminal})
	must(t, err)
	gone := s.publish(handoff.Draft{Body: strings.NewReader("d"), Channel: "design", Title: "Delta"})
	_, err = s.ws.Withdraw(t.Context(), gone.ID, "")
	must(t, err)
	must(t, os.MkdirAll(filepath.Join(s.ws.Root(), "docs"), 0o755))
	must(t, os.WriteFile(filepath.Join(s.ws.Root(), "docs", "api.md"), []byte("e"), 0o644))
	named := s.publish(handoff.Draft{Path: "docs/api.md", Channel: "api", Title: "Epsilon"})
	if link := `<a href="/artifacts?path=docs%2fapi.md&amp;status=all">`; !strings.Contains(s.get("/artifacts/"+named.ID), link) {
		t.Errorf("the page of an artifact has no link %s", link)
	}
	for query, want := range map[string]string{
		"path=docs%2Fapi.md": "Epsilon", "path=api.md": "", "path=docs%2fapi.md&status=superseded": "",
		"path=" + url.QueryEscape(filepath.Join(s.ws.Root(), "docs", "api.md")): "Epsilon",
		"": "Alpha Beta Gamma Epsilon", "agent=builder": "Alpha", "program=pi": "Beta", "task=T-1": "Alpha",
		"channel=design": "Beta Gamma", "tag=old": "Beta", "notice=review_asked": "Alpha",
		"notice=changes_requested": "Gamma", "status=withdrawn": "Delta", "status=all&channel=design": "Beta Gamma Delta",
		"since=1h": "Alpha Beta Gamma Epsilon", "until=2020-01-01": "", "channel=design&notice=review_asked": "",
	} {
		page := s.get("/artifacts?" + query)
		var got []string
		for _, title := range []string{"Alpha", "Beta", "Gamma", "Delta", "Epsilon"} {
			if strings.Contains(page, ">"+title+"</a>") {
				got = append(got, title)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
		if query != "" && !strings.Contains(page, "title=\"Remove this filter\"") {
			t.Errorf("%s: the page shows no filter\n%s", query, page)
		}
	}
	for _, query := range []string{"since=nonsense", "path=..%2Fother.md"} {
		if r, _ := s.do(request("GET", "/artifacts?"+query)); r.StatusCode != 400 {
			t.Errorf("%s: got status %d, want 400", query, r.StatusCode)
		}
	}
}

// TestThreadColumns lists threads with their branch, model, duration and cost, by filters and in
// each order.
func TestThreadColumns(t *testing.T) {
	home := t.TempDir()
	s := newSite(t, func(o *web.Options) {
		o.Source.Threads = thread.NewSet(all.Drivers(), func(string) string { return "" }, home)
	})
	for i, tt := range []struct{ branch, model string }{{"main", "claude-opus-4-1-20250805"},
		{"retries", "claude-sonnet-4-20250514"}} {
		x := &transcript{t: t, id: fmt.Sprintf("2823d1df-720a-4c31-ac55-ae8ba726%04d", i+1), dir: s.ws.Root(),
			at: time.Now().Add(-time.Hour)}
		more := map[string]any{"gitBranch": tt.branch, "requestId": "r1"}
		x.add("user", map[string]any{"role": "user", "content": "Work on " + tt.branch}, more)
		x.at = x.at.Add(time.Duration(i) * time.Minute)
		x.add("assistant", map[string]any{"id": "m1", "role": "assistant", "model": tt.model,
			"content": []any{said("hi")}, "stop_reason": "end_turn",
			"usage": map[string]any{"input_tokens": 1000000, "output_tokens": 0}}, more)
		x.store(home)
	}
	page := s.eventually("/threads", "$15.00")
	for _, want := range []string{"claude-opus-4-1-20250805", "retries", "1m 10s", "10s", "$3.00"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %s\n%s", want, page)
		}
	}
	page = s.get("/threads/claude/2823d1df-720a-4c31-ac55-ae8ba7260001")
	if !strings.Contains(page, "<span>0 tool calls</span><span>") || !strings.Contains(page, "$15.00</span>") {
		t.Errorf("the page of a thread has not what it cost\n%s", page)
	}
	for query, want := range map[string]string{
		"branch=main": "main", "branch=none": "", "model=opus": "main", "program=codex": "",
		"status=completed&model=sonnet": "retries",
		"sort=cost":                     "main retries", "sort=duration": "retries main", "sort=branch": "main retries",
		"sort=title": "main retries", "text=ON+retr": "retries", "text=none": "",
	} {
		page, got := s.get("/threads?"+query), ""
		for _, row := range strings.Split(page, "<tr data-row>")[1:] {
			got += between(row, ">Work on ", "<") + " "
		}
		if strings.TrimSpace(got) != want {
			t.Errorf("%s: got %q, want %q\n%s", query, got, want, page)
		}
	}
	for query, want := range map[string]string{"sort=cost": "descending", "sort=title": "ascending", "": "descending"} {
		if got := between(s.get("/threads?"+query), `aria-sort="`, `"`); got != want {
			t.Errorf("%s: the arrow of the column is %q, want %q", query, got, want)
		}
	}
	for query, status := range map[string]int{"status=odd": 400, "since=odd": 400, "program=odd": 422} {
		if r, body := s.do(request("GET", "/threads?"+query)); r.StatusCode != status {
			t.Errorf("%s: got %d, want %d\n%s", query, r.StatusCode, status, body)
		}
	}
}

// TestTextAndOrder selects artifacts and sessions by words, and sorts them.
func TestTextAndOrder(t *testing.T) {
	s := newSite(t)
	for i, name := range []string{"beta", "alpha", "gamma"} {
		o, err := s.ws.Sessions().Open(t.Context(), session.OpenOptions{Agent: handoff.SessionAgent{Name: name},
			Workflow: handoff.SessionWorkflow{Name: fmt.Sprint("flow-", 9-i)}, Expected: []string{"part.md"}})
		must(t, err)
		if name == "beta" {
			_, err = s.ws.Sessions().Close(t.Context(), o.ID, session.Completed, "")
			must(t, err)
		}
		s.publishAs(handoff.Producer{Agent: name, Session: o.ID}, handoff.Draft{Channel: fmt.Sprint("c", i),
			Title: "Part " + name, Body: strings.NewReader(strings.Repeat("the word of "+name+"\n", i+1))})
	}
	for path, want := range map[string]string{
		"/artifacts?": "gamma alpha beta", "/artifacts?text=alpha": "alpha", "/artifacts?text=word+gamma": "gamma",
		"/artifacts?text=alpha&channel=c0": "", "/artifacts?text=part&agent=beta": "beta",
		"/artifacts?sort=title": "alpha beta gamma", "/artifacts?sort=size": "gamma alpha beta",
		"/artifacts?sort=channel": "beta alpha gamma", "/artifacts?sort=odd": "gamma alpha beta",
		"/sessions?": "gamma alpha beta", "/sessions?text=alpha": "alpha", "/sessions?text=flow+gamma": "gamma",
		"/sessions?text=none": "", "/sessions?sort=agent": "alpha beta gamma", "/sessions?sort=workflow": "gamma alpha beta",
		"/sessions?text=flow*&sort=name": "alpha beta gamma", "/sessions?notice=output_missing": "beta",
	} {
		page := s.get(path)
		var got []string
		for _, row := range strings.Split(page, "<li class=\"row\" data-row>")[1:] {
			name := strings.TrimPrefix(between(row, `<a class="what"`, "</a>"), "Part ")
			name = name[strings.IndexByte(name, '>')+1:]
			name, _, _ = strings.Cut(strings.TrimPrefix(name, "Part "), " ")
			got = append(got, name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %q, want %q\n%s", path, got, want, page)
		}
	}
	for _, path := range []string{"/artifacts?text=*", "/sessions?text=*", "/sessions?notice=stale"} {
		if r, body := s.do(request("GET", path)); r.StatusCode != 400 {
			t.Errorf("%s: got %d, want 400\n%s", path, r.StatusCode, body)
		}
	}
}

// TestTextIsCut lists what has a word that more than the newest 200 have.
func TestTextIsCut(t *testing.T) {
	s := newSite(t)
	for i := range 201 {
		s.publish(handoff.Draft{Channel: "design", Title: fmt.Sprint("Part ", i), Body: strings.NewReader("x")})
		s.open(fmt.Sprint("agent-", i))
	}
	const note = "of the newest 200 with these words"
	for path, want := range map[string]bool{"/artifacts?text=part": true, "/artifacts?text=part&sort=title": true,
		"/artifacts?text=200": false, "/artifacts": false, "/sessions?text=w": true, "/sessions?text=agent+7": false,
		"/sessions": false} {
		if page := s.get(path); strings.Contains(page, note) != want {
			t.Errorf("%s: the page has the note: %v, want %v\n%.3000s", path, !want, want, page)
		}
	}
}

// TestEmptyLists shows lists without a row: one that filters select from links to the list without filters, and
// only the complete one suggests what to do.
func TestEmptyLists(t *testing.T) {
	s, _ := newThreads(t)
	const nothing = "<p>Nothing matches the filters.</p>"
	for list, filters := range map[string]string{"/artifacts": "agent=nobody", "/sessions": "in=archive",
		"/threads": "program=codex&sort=cost", "/files": "text=absent"} {
		page, all := s.get(list+"?"+filters), `<a href="`+list+`">Remove all filters</a>`
		if !strings.Contains(page, nothing) || !strings.Contains(page, all) ||
			strings.Contains(page, `<code class="command">`) {
			t.Errorf("%s?%s: the page does not link to the list without filters, or suggests a command\n%s", list, filters, page)
		}
		if page := s.get(list); strings.Contains(page, nothing) || !strings.Contains(page, `<div class="empty">`) {
			t.Errorf("%s: the page shows filters, or not that it is empty\n%s", list, page)
		}
	}
}

// TestCommentsAtLines shows comments below the lines where they end, in the page of an artifact.
func TestCommentsAtLines(t *testing.T) {
	s := newSite(t)
	a := s.publish(handoff.Draft{Body: strings.NewReader("one\ntwo\nthree\n"), Channel: "design", Title: "A poem"})
	for _, d := range []reviews.Draft{{Lines: "1-2", Text: "Which two?"}, {Text: "About all of it"}} {
		_, err := s.ws.Reviews().Review(t.Context(), a.ID, d)
		must(t, err)
	}
	page := s.get("/artifacts/" + a.ID)
	if !strings.Contains(page, "Which two?") || !strings.Contains(page, `href="/artifacts/`+a.ID+`?lines"`) {
		t.Errorf("the page has no comments or no link to their lines\n%s", page)
	}
	page = s.get("/artifacts/" + a.ID + "?lines")
	said := between(page, `id="L2"`, `id="L3"`)
	if !strings.Contains(said, "Which two?") || strings.Contains(said, "all of it") {
		t.Errorf("the comment is not below line 2\n%s", page)
	}
	if !strings.Contains(between(page, "<h2>Comments", "</section>"), "About all of it") {
		t.Errorf("the comment on the artifact is missing\n%s", page)
	}
}

// TestPreviousExecution compares a session with the execution of its workflow before, and shows
// when it published what.
func TestPreviousExecution(t *testing.T) {
	s := newSite(t)
	var ids []string
	for i, agent := range []string{"casey", "casey", "alex"} { // another agent has the same workflow
		o, err := s.ws.Sessions().Open(t.Context(), session.OpenOptions{Agent: handoff.SessionAgent{Name: agent},
			Workflow: handoff.SessionWorkflow{Name: "deep-dive"}})
		must(t, err)
		ids = append(ids, o.ID)
		s.publishAs(handoff.Producer{Session: o.ID},
			handoff.Draft{Body: strings.NewReader(fmt.Sprint("report ", i)), Channel: "design", Title: fmt.Sprint("Report ", i)})
		_, err = s.ws.Sessions().Close(t.Context(), o.ID, session.Completed, "")
		must(t, err)
	}
	if page := s.get("/sessions/" + ids[0]); strings.Contains(page, "Compared with") {
		t.Errorf("the first execution is compared\n%s", page)
	}
	page := s.get("/sessions/" + ids[1])
	if !strings.Contains(page, "Compared with execution 1") || !strings.Contains(page, `href="/sessions/`+ids[0]+`"`) {
		t.Errorf("the second execution is not compared\n%s", page)
	}
	if page := s.get("/compare?ref=" + ids[0] + "&ref=" + ids[2]); !strings.Contains(page, `execution 1 <code class="ref">`+
		ids[0][:8]+"</code></th>") || !strings.Contains(page, `execution 1 <code class="ref">`+ids[2][:8]+"</code></th>") {
		t.Errorf("the columns of compared sessions do not name them\n%s", page)
	}
	if line := between(page, `id="timeline"`, "</section>"); !strings.Contains(line, "<title>Report 1, ") ||
		!strings.Contains(line, "<li>artifacts</li>") {
		t.Errorf("the timeline has no artifact\n%s", line)
	}
}

// TestSessionsByAgent lists the sessions of an agent by its name and by the title that pages show.
func TestSessionsByAgent(t *testing.T) {
	s := newSite(t)
	for _, a := range []handoff.SessionAgent{{Name: "alex", Title: "Alex the Architect"}, {Name: "casey"}} {
		_, err := s.ws.Sessions().Open(t.Context(), session.OpenOptions{Agent: a,
			Workflow: handoff.SessionWorkflow{Name: "work-of-" + a.Name}})
		must(t, err)
	}
	for agent, want := range map[string]string{"alex": "alex", "Alex+the+Architect": "alex", "alex+the+architect": "alex",
		"casey": "casey", "Alex": "", "the": "", "%22%3E": ""} {
		page, got := s.get("/sessions?agent="+agent), ""
		for _, name := range []string{"alex", "casey"} {
			if strings.Contains(page, "work-of-"+name) {
				got += name
			}
		}
		if got != want {
			t.Errorf("agent=%s: got the sessions of %q, want %q", agent, got, want)
		}
	}
}
