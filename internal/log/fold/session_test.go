package fold_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"pgregory.net/rapid"
)

// A sessionOracle has the records of a session and examines all of them for each
// question.
type sessionOracle []handoff.Record

func newSessionOracle(records []handoff.Record, id string) sessionOracle {
	var o sessionOracle
	seen := map[string]bool{}
	for _, r := range records {
		v := reflect.ValueOf(r.Fact)
		if seen[r.ID] || !strings.HasPrefix(r.Type, "session.") {
			continue
		}
		seen[r.ID] = true
		if field := v.Elem().FieldByName("SessionID"); field.IsValid() && field.String() == id {
			o = append(o, r)
		}
	}
	return o
}

// first returns the first record of a type, if there is one.
func (o sessionOracle) first(typ string) (handoff.Record, bool) {
	i := slices.IndexFunc(o, func(r handoff.Record) bool { return r.Type == typ })
	if i < 0 {
		return handoff.Record{}, false
	}
	return o[i], true
}

func (o sessionOracle) has(tag string) bool {
	for _, r := range slices.Backward(o) {
		if n, ok := r.Fact.(*handoff.SessionNoted); ok {
			switch {
			case slices.Contains(n.Tags, tag): // a tag that one note adds and removes is added
				return true
			case slices.Contains(n.RemovedTags, tag):
				return false
			}
		}
	}
	return false
}

func TestSessionFold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := logtest.DrawRecords(t)
		m := memoryOf(t, records)
		for _, id := range []string{"s1", "s2", "run1"} {
			o := newSessionOracle(records, id)
			s, err := m.Session(t.Context(), id)
			if (err == nil) != (len(o) > 0) {
				t.Fatalf("%s has %d records; the index returns %v", id, len(o), err)
			}
			if err != nil {
				continue
			}
			var last handoff.Record // of its activity
			for _, r := range o {
				switch r.Fact.(type) {
				case *handoff.SessionArchived, *handoff.SessionDeleted, *handoff.SessionRestored:
				default:
					last = r
				}
			}
			if s.Newest != last.Seq || !s.NewestAt.Equal(last.CreatedAt) {
				t.Errorf("%s: newest %d, want %d", id, s.Newest, last.Seq)
			}
			if r, ok := o.first("session.opened"); ok {
				f := r.Fact.(*handoff.SessionOpened)
				started := r.CreatedAt
				if !f.StartedAt.IsZero() {
					started = f.StartedAt
				}
				if s.Opened != r.Seq || !s.OpenedAt.Equal(started) || s.Agent != f.Agent || s.Folder != f.Folder ||
					s.Process != f.Process || !reflect.DeepEqual(s.Inputs, f.Inputs) {
					t.Errorf("%s: %+v, opened as %+v", id, s, f)
				}
			} else if s.Opened != 0 {
				t.Errorf("%s: opened by record %d, want none", id, s.Opened)
			}
			reported := slices.DeleteFunc(slices.Clone(o), func(r handoff.Record) bool {
				f, ok := r.Fact.(*handoff.SessionClosed)
				return ok && f.Reason == handoff.ProcessGone
			})
			r, ok := reported.first("session.closed")
			if !ok {
				r, ok = o.first("session.closed")
			}
			if ok {
				f := r.Fact.(*handoff.SessionClosed)
				if s.Closed != r.Seq || s.Status != f.Status || !s.ClosedAt.Equal(f.EndedAt) {
					t.Errorf("%s: %s at %v, closed as %+v", id, s.Status, s.ClosedAt, f)
				}
			} else if s.Status != handoff.Running || s.Closed != 0 {
				t.Errorf("%s is %s, want running", id, s.Status)
			}
			for _, tag := range []string{"t1", "t2", "t3"} {
				if got, want := slices.Contains(s.Tags, tag), o.has(tag); got != want {
					t.Errorf("%s has tag %s: %v, want %v", id, tag, got, want)
				}
			}
		}
	})
}

// TestConcludedEnd checks that an end that an observer concluded counts until an
// end is reported, which is then final.
func TestConcludedEnd(t *testing.T) {
	closed := func(status, reason string) handoff.Fact {
		return &handoff.SessionClosed{SessionID: "s", Status: status, Reason: reason}
	}
	s := handoff.Session{ID: "s"}
	for i, tt := range []struct {
		fact   handoff.Fact
		status string
		closed handoff.Seq
	}{
		{&handoff.SessionOpened{SessionID: "s"}, "running", 0},
		{closed("failed", handoff.ProcessGone), "failed", 2},
		{closed("failed", handoff.ProcessGone), "failed", 2},
		{closed("completed", ""), "completed", 4},
		{closed("failed", handoff.ProcessGone), "completed", 4},
		{closed("failed", "again"), "completed", 4},
	} {
		fold.ApplySession(&s, handoff.Record{Seq: handoff.Seq(i + 1), Fact: tt.fact})
		if s.Status != tt.status || s.Closed != tt.closed {
			t.Errorf("after record %d: %s by record %d, want %s by %d", i+1, s.Status, s.Closed, tt.status, tt.closed)
		}
	}
}

// TestClosedTwice holds that the first end of a session counts, and that a later
// one is kept beside it. The same holds for opening it, and for work.
func TestClosedTwice(t *testing.T) {
	at := func(second int64) time.Time { return time.Unix(second, 0).UTC() }
	facts := []handoff.Fact{
		&handoff.SessionOpened{SessionID: "s", User: "first", StartedAt: at(1)},
		&handoff.SessionOpened{SessionID: "s", User: "second", StartedAt: at(2)},
		&handoff.SessionClosed{SessionID: "s", Status: "completed", Reason: "first", EndedAt: at(3)},
		&handoff.SessionClosed{SessionID: "s", Status: "failed", Reason: "second", EndedAt: at(4)},
		&handoff.WorkStarted{WorkID: "w", Name: "first", StartedAt: at(5)},
		&handoff.WorkStarted{WorkID: "w", Name: "second", StartedAt: at(6)},
		&handoff.WorkEnded{WorkID: "w", EndedAt: at(7)},
		&handoff.WorkEnded{WorkID: "w", EndedAt: at(8), IsError: true},
	}
	var records []handoff.Record
	for i, f := range facts {
		records = append(records, handoff.Record{Version: 1, ID: fmt.Sprint("rec_", i), Fact: f})
	}
	m := logtest.NewReference()
	if err := m.Apply(t.Context(), logtest.Placed(records)...); err != nil {
		t.Fatal(err)
	}
	s, err := m.Session(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	if s.Status != "completed" || s.Reason != "first" || s.Closed != 3 || !s.ClosedAt.Equal(at(3)) {
		t.Errorf("closed as %s, %q, by record %d at %v, want the first end", s.Status, s.Reason, s.Closed, s.ClosedAt)
	}
	if want := []handoff.SessionClosed{*facts[3].(*handoff.SessionClosed)}; !slices.Equal(s.Reclosed, want) {
		t.Errorf("later ends are %+v, want %+v", s.Reclosed, want)
	}
	if s.User != "first" || s.Opened != 1 || !s.OpenedAt.Equal(at(1)) || s.Newest != 4 {
		t.Errorf("opened by %s in record %d at %v, newest %d, want the first opening", s.User, s.Opened, s.OpenedAt, s.Newest)
	}
	w, err := m.Work(t.Context(), "", "w")
	if err != nil || w.Name != "first" || w.Started != 5 || w.Ended != 7 || w.IsError || !w.EndedAt.Equal(at(7)) {
		t.Errorf("work is %+v, %v, want the first start and end", w, err)
	}
}

// TestSessionViewsAreCopies checks that a returned view does not change with later
// records.
func TestSessionViewsAreCopies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := logtest.DrawRecords(t)
		m := logtest.NewReference()
		type shown struct {
			view handoff.Session
			text []byte
		}
		var views []shown
		for _, r := range records {
			if err := m.Apply(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			page, err := m.Sessions(t.Context(), handoff.SessionQuery{IncludeRuns: true, IncludeArchived: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range page.Sessions {
				b, err := json.Marshal(s)
				if err != nil {
					t.Fatal(err)
				}
				views = append(views, shown{s, b})
			}
		}
		for _, v := range views {
			if b, err := json.Marshal(v.view); err != nil || !bytes.Equal(b, v.text) {
				t.Fatalf("a view changed to %s, was %s", b, v.text)
			}
		}
	})
}

func TestSessionQuery(t *testing.T) {
	m := logtest.NewReference()
	open := func(seq handoff.Seq, id, agent, workflow, user, parent string) handoff.Record {
		return handoff.Record{Seq: seq, Version: 1, Type: "session.opened", ID: id, CreatedAt: time.Unix(int64(seq), 0),
			Fact: &handoff.SessionOpened{SessionID: id, Parent: parent, Process: handoff.Process{BootID: "boot of " + user},
				Agent: handoff.SessionAgent{Name: agent}, Workflow: handoff.SessionWorkflow{Name: workflow}, User: user}}
	}
	if err := m.Apply(t.Context(),
		open(1, "a", "alex", "intake-app", "Bryan", ""), open(2, "b", "casey", "deep-dive-app", "Bryan", ""),
		open(3, "c", "casey", "deep-dive-itsm", "Ann", ""), open(4, "r", "casey", "deep-dive-app", "Bryan", "a"),
		handoff.Record{Seq: 5, Version: 1, Type: "session.closed", ID: "e", CreatedAt: time.Unix(5, 0),
			Fact: &handoff.SessionClosed{SessionID: "a", Status: "completed"}},
	); err != nil {
		t.Fatal(err)
	}
	re := regexp.MustCompile
	for _, tt := range []struct {
		q    handoff.SessionQuery
		want []string
	}{
		{handoff.SessionQuery{}, []string{"c", "b", "a"}},
		{handoff.SessionQuery{IncludeRuns: true}, []string{"r", "c", "b", "a"}},
		{handoff.SessionQuery{Parent: "a"}, []string{"r"}},
		{handoff.SessionQuery{Agent: "casey"}, []string{"c", "b"}},
		{handoff.SessionQuery{Agent: "cas"}, nil},
		{handoff.SessionQuery{Workflow: re("^deep-")}, []string{"c", "b"}},
		{handoff.SessionQuery{Workflow: re("-app$")}, []string{"b", "a"}},
		{handoff.SessionQuery{User: "Bryan", Agent: "casey"}, []string{"b"}},
		{handoff.SessionQuery{Since: time.Unix(2, 0), Until: time.Unix(3, 0)}, []string{"b"}},
		{handoff.SessionQuery{BootID: "boot of Bryan", IncludeRuns: true}, []string{"r", "b"}},
		{handoff.SessionQuery{IDs: []string{"a", "b", "r"}}, []string{"b", "a"}},
		{handoff.SessionQuery{IDs: []string{}}, nil},
		{handoff.SessionQuery{Limit: 1}, []string{"c"}},
	} {
		page, err := m.Sessions(t.Context(), tt.q)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range page.Sessions {
			got = append(got, s.ID)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%+v selects %v, want %v", tt.q, got, tt.want)
		}
	}
}

// TestExecutions checks the numbers of the executions of a workflow by an agent.
func TestExecutions(t *testing.T) {
	m := logtest.NewReference()
	for i, tt := range []struct {
		id, parent, agent, workflow string
		want                        int
	}{
		{"s1", "", "alex", "intake", 1},
		{"s2", "", "alex", "intake", 2},
		{"s1", "", "alex", "intake", 1}, // opened again
		{"s3", "", "casey", "intake", 1},
		{"s4", "", "alex", "", 0},
		{"part", "s1", "alex", "intake", 0},
		{"own", "s1", "alex", "review", 1},
		{"lost", "unknown", "alex", "intake", 3},
	} {
		r := handoff.Record{Seq: handoff.Seq(i + 1), ID: fmt.Sprint("rec_", i), Fact: &handoff.SessionOpened{
			SessionID: tt.id, Parent: tt.parent, Agent: handoff.SessionAgent{Name: tt.agent},
			Workflow: handoff.SessionWorkflow{Name: tt.workflow}}}
		if err := m.Apply(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if s, err := m.Session(t.Context(), tt.id); err != nil || s.Execution != tt.want {
			t.Errorf("record %d: got execution %d of %s, %v, want %d", i+1, s.Execution, tt.id, err, tt.want)
		}
	}
}
