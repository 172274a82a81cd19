package workspace_test

import (
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/news"
)

// A paper is an artifact as the naive model of TestNeeds knows it.
type paper struct {
	id, input string
	replaces  string
	withdrawn bool
}

// A folder is a session as that model knows it.
type folder struct {
	agent, id, need string
	archived        bool
}

// model derives what needs a person from all that happened, without the index.
type model struct {
	papers  []*paper
	folders []*folder
}

func (m *model) active() (list []*paper) {
	for _, p := range m.papers {
		replaced := slices.ContainsFunc(m.papers, func(q *paper) bool { return !q.withdrawn && m.follows(q, p) })
		if !p.withdrawn && !replaced {
			list = append(list, p)
		}
	}
	return list
}

// follows reports whether p replaces another one, or something that did, even if that was
// withdrawn.
func (m *model) follows(p, other *paper) bool {
	for p.replaces != "" {
		if p = m.before(p); p == other {
			return true
		}
	}
	return false
}

// before returns what p replaces.
func (m *model) before(p *paper) *paper {
	return m.papers[slices.IndexFunc(m.papers, func(q *paper) bool { return q.id == p.replaces })]
}

func (m *model) root(p *paper) string {
	for p.replaces != "" {
		p = m.before(p)
	}
	return p.id
}

// needs returns the codes by refs. Of competing artifacts, the newest has the row.
func (m *model) needs() map[string]string {
	active, needs, rows := m.active(), map[string]string{}, map[string]bool{}
	isActive := func(id string) bool { return slices.ContainsFunc(active, func(p *paper) bool { return p.id == id }) }
	for _, p := range slices.Backward(active) {
		root := m.root(p)
		rivals := slices.ContainsFunc(active, func(q *paper) bool { return q != p && m.root(q) == root })
		switch {
		case rivals && !rows[root]:
			needs[p.id], rows[root] = "competing", true
		case rivals:
		case p.input != "" && !isActive(p.input):
			needs[p.id] = "stale"
		}
	}
	settled := map[string]bool{}
	for _, f := range slices.Backward(m.folders) {
		switch {
		case f.archived:
		case f.need == "":
			settled[f.agent] = true
		case !settled[f.agent]:
			needs[f.id] = f.need
		}
	}
	return needs
}

// TestNeeds compares what needs a person with a model that shares no code with it, after
// each of many random steps.
func TestNeeds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, clock := t.TempDir(), time.Now()
		w, err := workspace.Open(dir, workspace.Options{Now: func() time.Time { return clock },
			Getenv: func(name string) string { return map[string]string{"HANDOFF_WORKSPACE": dir}[name] }})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		m := &model{}
		for range rapid.IntRange(1, 10).Draw(rt, "steps") {
			clock = clock.Add(time.Minute)
			step(t, rt, w, m)
			r, err := w.News(noThreads()).Report(t.Context(), news.ReportOptions{})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, n := range r.Needs {
				got[n.Ref] = string(n.Notice.Code)
			}
			if want := m.needs(); !maps.Equal(got, want) {
				rt.Fatalf("needs: got %v, want %v", got, want)
			}
		}
	})
}

func noThreads() *thread.Set { return thread.NewSet(nil, func(string) string { return "" }, "") }

// step does something at random, in the workspace and in the model.
func step(t *testing.T, rt *rapid.T, w *workspace.Workspace, m *model) {
	var err error
	ops := []string{"input", "made", "replace", "withdraw", "session", "archive"}
	switch op := rapid.SampledFrom(ops).Draw(rt, "op"); {
	case op == "session":
		f := &folder{agent: rapid.SampledFrom([]string{"ada", "bo"}).Draw(rt, "agent"),
			need: rapid.SampledFrom([]string{"", "session_failed", "output_missing"}).Draw(rt, "end")}
		o := session.OpenOptions{Agent: handoff.SessionAgent{Name: f.agent}, Workflow: handoff.SessionWorkflow{Name: "x"}}
		status := session.Completed
		switch f.need {
		case "output_missing":
			o.Expected = []string{"report.md"}
		case "session_failed":
			status = session.Failed
		}
		opened, openErr := w.Sessions().Open(t.Context(), o)
		if err = openErr; err == nil {
			f.id, m.folders = opened.ID, append(m.folders, f)
			_, err = w.Sessions().Close(t.Context(), f.id, status, "")
		}
	case op == "archive" && len(m.folders) > 0:
		f := rapid.SampledFrom(m.folders).Draw(rt, "folder")
		_, err = w.Sessions().Archive(t.Context(), []string{f.id}, false)
		f.archived = true
	case op == "withdraw" && len(m.papers) > 0:
		p := rapid.SampledFrom(m.papers).Draw(rt, "paper")
		_, err = w.Withdraw(t.Context(), p.id, "")
		p.withdrawn = true
	case op == "input", op == "made", op == "replace":
		p := &paper{}
		d := handoff.Draft{Channel: "design", Body: strings.NewReader(fmt.Sprint(len(m.papers)))}
		roots := slices.DeleteFunc(slices.Clone(m.papers), func(q *paper) bool { return q.input != "" })
		switch {
		case op == "made" && len(roots) > 0:
			p.input = rapid.SampledFrom(roots).Draw(rt, "of").id
			d.Parents, d.Channel = []string{p.input}, "patch"
		case op == "replace" && len(roots) > 0:
			p.replaces = rapid.SampledFrom(roots).Draw(rt, "before").id
			d.Replaces = []string{p.replaces}
		}
		done, publishErr := w.Publish(t.Context(), d)
		err, p.id = publishErr, done.ID
		m.papers = append(m.papers, p)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestSeen has processes of one user, who look at the same time, and other users.
func TestSeen(t *testing.T) {
	dir, clock := t.TempDir(), time.Now()
	open := func(user string) *workspace.Workspace {
		w, err := workspace.Open(dir, workspace.Options{Now: func() time.Time { return clock },
			Getenv: func(name string) string {
				return map[string]string{"HANDOFF_WORKSPACE": dir, "XDG_STATE_HOME": filepath.Join(dir, "state"+user)}[name]
			}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.Close() })
		return w
	}
	w := open("")
	source := w.News(noThreads())
	sources := map[string]news.Source{"": source}
	for _, user := range []string{"early", "bob"} {
		sources[user] = open(user).News(noThreads())
	}
	ended := func() {
		clock = clock.Add(time.Minute)
		opened, err := w.Sessions().Open(t.Context(), session.OpenOptions{Agent: handoff.SessionAgent{Name: "ada"},
			Workflow: handoff.SessionWorkflow{Name: "x"}})
		if err == nil {
			_, err = w.Sessions().Close(t.Context(), opened.ID, session.Completed, "")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	look := func(user string, want int) news.Report {
		t.Helper()
		r, err := sources[user].Report(t.Context(), news.ReportOptions{})
		if err != nil || len(r.Done) != want {
			t.Fatalf("user %q: got %d that ended, %v, want %d", user, len(r.Done), err, want)
		}
		return r
	}
	mark := func(r news.Report) {
		t.Helper()
		if err := source.Mark(r); err != nil {
			t.Fatal(err)
		}
	}
	mark(look("early", 0)) // of a log without a record
	clock = clock.Add(-time.Hour)
	ended()
	clock = clock.Add(time.Hour)
	look("early", 1)
	first := look("", 1)
	clock = clock.Add(-time.Hour) // another machine, whose clock is late, records the next end
	ended()
	clock = clock.Add(time.Hour + time.Minute)
	mark(first)
	second := look("", 1) // by its number in the log
	ended()
	third := look("", 2)
	mark(third)
	mark(second) // this process was slower
	look("", 0)
	look("bob", 3)
	if r := look("", 0); r.First {
		t.Error("a user who has seen something is new")
	}
}

// TestReaders has two readers of one name, who look while sessions end, and are killed now and
// then after they have printed and before that is noted. No end is missed by both.
func TestReaders(t *testing.T) {
	dir := t.TempDir()
	getenv := func(name string) string {
		return map[string]string{"HANDOFF_WORKSPACE": dir, "XDG_STATE_HOME": filepath.Join(dir, "state")}[name]
	}
	open := func() *workspace.Workspace {
		w, err := workspace.Open(dir, workspace.Options{Now: time.Now, Getenv: getenv})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	printed, ended := map[string]bool{}, make(chan bool)
	read := func(w *workspace.Workspace, killed bool) {
		source := w.News(noThreads())
		r, err := source.Report(t.Context(), news.ReportOptions{})
		if err != nil {
			t.Error(err)
			return
		}
		mu.Lock()
		for _, d := range r.Done {
			printed[d.Session] = true
		}
		mu.Unlock()
		if !killed {
			if err := source.Mark(r); err != nil {
				t.Error(err)
			}
		}
	}
	for reader := range 2 {
		wg.Go(func() {
			w := open()
			defer w.Close()
			for i := 0; ; i++ {
				select {
				case <-ended:
					return
				default:
					read(w, (i+reader)%3 == 0)
				}
			}
		})
	}
	w := open()
	defer w.Close()
	var all []string
	for range 30 {
		opened, err := w.Sessions().Open(t.Context(), session.OpenOptions{Agent: handoff.SessionAgent{Name: "ada"},
			Workflow: handoff.SessionWorkflow{Name: "x"}})
		if err == nil {
			_, err = w.Sessions().Close(t.Context(), opened.ID, session.Completed, "")
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, opened.ID)
	}
	close(ended)
	wg.Wait()
	read(w, false)
	for _, id := range all {
		if !printed[id] {
			t.Errorf("the end of %s was not shown", id)
		}
	}
	printed = map[string]bool{}
	if read(w, false); len(printed) > 0 {
		t.Errorf("shown again: %v", printed)
	}
}

// TestWatchNeeds checks that what needs a person is yielded once, when it arises.
func TestWatchNeeds(t *testing.T) {
	dir := t.TempDir()
	w, err := workspace.Open(dir, workspace.Options{Now: time.Now,
		Getenv: func(name string) string { return map[string]string{"HANDOFF_WORKSPACE": dir}[name] }})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	fail := func(agent string) string {
		opened, err := w.Sessions().Open(t.Context(), session.OpenOptions{Agent: handoff.SessionAgent{Name: agent},
			Workflow: handoff.SessionWorkflow{Name: "x"}})
		if err == nil {
			_, err = w.Sessions().Close(t.Context(), opened.ID, session.Failed, "no disk")
		}
		if err != nil {
			t.Fatal(err)
		}
		return opened.ID
	}
	before := fail("ada")
	next, stop := iter.Pull2(w.News(noThreads()).WatchNeeds(t.Context(), time.Millisecond))
	defer stop()
	arisen := make(chan string, 1)
	go func() {
		n, _, _ := next()
		arisen <- n.Ref
	}()
	after := map[string]bool{}
	for i := 0; ; i++ { // until it has looked at what was there before
		select {
		case got := <-arisen:
			if !after[got] {
				t.Errorf("got %s, want one of %v, not %s of before", got, after, before)
			}
			return
		case <-time.After(100 * time.Millisecond):
			after[fail(fmt.Sprint("bo-", i))] = true
		}
	}
}

// TestWatch checks when a watch finds again what needs a person: at once if the log has grown,
// otherwise after ten seconds.
func TestWatch(t *testing.T) {
	dir, clock := t.TempDir(), time.Now()
	w, err := workspace.Open(dir, workspace.Options{Now: func() time.Time { return clock },
		Getenv: func(name string) string { return map[string]string{"HANDOFF_WORKSPACE": dir}[name] }})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	open := func() string {
		opened, err := w.Sessions().Open(t.Context(), session.OpenOptions{Agent: handoff.SessionAgent{Name: "ada"},
			Workflow: handoff.SessionWorkflow{Name: "x"}})
		if err != nil {
			t.Fatal(err)
		}
		return opened.ID
	}
	open()
	next, stop := iter.Pull2(w.News(noThreads()).Watch(t.Context(), time.Millisecond))
	defer stop()
	look := func(after time.Duration, want int) {
		t.Helper()
		clock = clock.Add(after)
		status, err, _ := next()
		if err != nil || len(status.Needs) != want {
			t.Errorf("after %v: got %v, %v, want %d", after, status.Needs, err, want)
		}
	}
	look(29*time.Minute+55*time.Second, 0)
	look(6*time.Second, 0) // it is silent since a second
	look(5*time.Second, 1)
	failed := open()
	if _, err := w.Sessions().Close(t.Context(), failed, session.Failed, "no disk"); err != nil {
		t.Fatal(err)
	}
	look(time.Second, 2)
}

// TestActiveThread has a session whose records are old, and a thread of it that runs: the
// session is running, so it is not silent.
func TestActiveThread(t *testing.T) {
	dir, clock := t.TempDir(), time.Now()
	w, err := workspace.Open(dir, workspace.Options{Now: func() time.Time { return clock },
		Getenv: func(name string) string { return map[string]string{"HANDOFF_WORKSPACE": dir}[name] }})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	opened, err := w.Sessions().Open(t.Context(), session.OpenOptions{Agent: handoff.SessionAgent{Name: "ada"},
		Workflow: handoff.SessionWorkflow{Name: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	const uri = "agents://codex/019c871c-b1f9-7f60-9c4f-87ed09f13592"
	by := workspace.Caller{Dir: dir, Producer: handoff.Producer{Session: opened.ID, Thread: uri}}
	d := handoff.Draft{Channel: "design", Body: strings.NewReader("a")}
	if _, err := w.As(by).Publish(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	clock = clock.Add(5 * time.Hour)
	for want, running := range map[string][]trace.RunningThread{"stalled": nil,
		handoff.Running: {{URI: uri, ActiveAt: clock}}} {
		a, err := w.News(noThreads()).Activity(t.Context(), running, 10)
		if err != nil || len(a.Sessions) != 1 {
			t.Fatalf("got %+v, %v", a.Sessions, err)
		}
		if s := a.Sessions[0]; s.Status != want || (len(s.Notices) == 0) != (want == handoff.Running) {
			t.Errorf("with the threads %v: got status %s and %v, want %s", running, s.Status, s.Notices, want)
		}
	}
}

// TestMostNeeds publishes more artifacts that need a review than are looked at.
func TestMostNeeds(t *testing.T) {
	dir := t.TempDir()
	w, err := workspace.Open(dir, workspace.Options{
		Getenv: func(name string) string { return map[string]string{"HANDOFF_WORKSPACE": dir}[name] }})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for i := range 201 {
		if _, err := w.Publish(t.Context(), handoff.Draft{Channel: "design", Body: strings.NewReader(fmt.Sprint(i)),
			AskReview: true}); err != nil {
			t.Fatal(err)
		}
		if i < 199 {
			continue
		}
		r, err := w.News(noThreads()).Report(t.Context(), news.ReportOptions{})
		if err != nil || len(r.Needs) != 200 || r.IsCut != (i == 200) || len(r.Warnings) != i-199 {
			t.Errorf("of %d: got %d needs, cut %v, warnings %q, %v", i+1, len(r.Needs), r.IsCut, r.Warnings, err)
		}
	}
	text, err := w.News(noThreads()).Digest(t.Context(), w.Threads(noThreads()))
	if err != nil || !strings.Contains(text, "and at least 1") {
		t.Errorf("got %v and\n%s", err, text)
	}
}
