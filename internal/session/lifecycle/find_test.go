package lifecycle_test

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/session"
)

func TestFind(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	here := handoff.Process{BootID: "b", PIDNamespace: "n", PID: 1}
	observer := lifecycle.Observer{BootID: "b", PIDNamespace: "n", Alive: func(handoff.Process) bool { return false }}
	var records []handoff.Record
	add := func(age time.Duration, typ string, p handoff.Producer, f handoff.Fact) {
		records = append(records, handoff.Record{Version: 1, Type: typ, ID: "r" + strconv.Itoa(len(records)),
			CreatedAt: now.Add(-age), Producer: p, Fact: f})
	}
	open := func(id string, age time.Duration, p handoff.Process, expected ...string) {
		add(age, "session.opened", handoff.Producer{},
			&handoff.SessionOpened{SessionID: id, Folder: id, Process: p, Agent: handoff.SessionAgent{Name: "casey"},
				Workflow: handoff.SessionWorkflow{Name: "deep-dive-app"}, Expected: expected})
	}
	end := func(id, status string) {
		add(time.Minute, "session.closed", handoff.Producer{}, &handoff.SessionClosed{SessionID: id, Status: status})
	}
	publish := func(id, path, kind string) {
		add(time.Minute, "artifact.published", handoff.Producer{Session: id},
			&handoff.ArtifactPublished{Channel: "handoff", Path: path, Kind: kind})
	}
	open("done", time.Minute, handoff.Process{}, "first.md", "never.md")
	publish("done", "done/first.md", "document")
	publish("done", "done/second.md", "document")
	publish("done", "elsewhere.md", "document") // outside the folder
	end("done", session.Completed)
	open("failed", time.Minute, handoff.Process{})
	end("failed", session.Failed)
	open("gone", time.Minute, here)
	add(time.Minute, "session.noted", handoff.Producer{}, &handoff.SessionNoted{SessionID: "gone", Child: here})
	open("quiet", 3*time.Hour, handoff.Process{})
	open("bare", time.Minute, handoff.Process{}, "new.md")
	publish("bare", "elsewhere.json", "data")
	end("bare", session.Completed)
	open("running", time.Minute, handoff.Process{}, "never.md")
	publish("running", "running/new.md", "document")
	m := logtest.NewReference()
	if err := m.Apply(t.Context(), logtest.Placed(records)...); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		status, output, notice string
		want                   []string
	}{
		{"", "", "", []string{"running", "bare", "gone", "failed", "done", "quiet"}},
		{session.Completed, "", "", []string{"bare", "done"}},
		{session.Failed, "", "", []string{"gone", "failed"}},
		{lifecycle.Stalled, "", "", []string{"quiet"}},
		{handoff.Running, "", "", []string{"running"}},
		{session.Cancelled, "", "", nil},
		{"", "document", "", []string{"running", "done"}},
		{session.Completed, "document", "", []string{"done"}},
		{"", "report", "", nil},
		{"", "data", "", nil}, // a file outside the folder is not an output
		{"", "", "session_failed", []string{"gone", "failed"}},
		{"", "", "process_gone", []string{"gone"}},
		{"", "", "silent", []string{"quiet"}},
		{"", "", "output_missing", []string{"bare", "done"}},
		{"", "document", "output_missing", []string{"done"}},
		{session.Failed, "", "output_missing", nil},
	} {
		for limit := range 4 { // 0 for all, and pages of every size
			q := lifecycle.Query{OutputType: tt.output, Notice: tt.notice, Observer: observer, Now: now}
			q.Status, q.Limit = tt.status, limit
			var got []string
			for {
				page, err := lifecycle.Find(t.Context(), m, q)
				if err != nil {
					t.Fatal(err)
				}
				if limit > 0 && len(page.Sessions) > limit {
					t.Errorf("page with limit %d has %d sessions", limit, len(page.Sessions))
				}
				for _, s := range page.Sessions {
					got = append(got, s.ID)
				}
				if q.Cursor = page.Cursor; q.Cursor == "" {
					break
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("Find(status %q, output %q, notice %q, limit %d) = %v, want %v", tt.status, tt.output, tt.notice, limit,
					got, tt.want)
			}
		}
	}
	if _, err := lifecycle.LatestOutput(t.Context(), m, "", nil, "report"); !errors.Is(err, handoff.NotFound) {
		t.Errorf("LatestOutput(report) = %v, want NotFound", err)
	}
	for _, q := range []lifecycle.Query{{SessionQuery: handoff.SessionQuery{Status: "finished"}}, {OutputType: "essay"},
		{Notice: "stale"}, {SessionQuery: handoff.SessionQuery{Limit: -1}}} {
		if _, err := lifecycle.Find(t.Context(), m, q); !errors.Is(err, handoff.Invalid) {
			t.Errorf("Find(%+v) = %v, want Invalid", q, err)
		}
	}
	a, err := lifecycle.LatestOutput(t.Context(), m, "casey", regexp.MustCompile("^deep-"), "document")
	if err != nil || a.Path != "done/second.md" {
		t.Errorf("LatestOutput = %s, %v, want done/second.md", a.Path, err)
	}
}

// TestFindOpen has sessions that run, that are silent, whose process is gone and that ended.
func TestFindOpen(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	observer := lifecycle.Observer{BootID: "b", PIDNamespace: "n", Alive: func(handoff.Process) bool { return false }}
	gone := handoff.Process{BootID: "b", PIDNamespace: "n", PID: 1}
	var records []handoff.Record
	add := func(age time.Duration, typ, id string, f handoff.Fact) {
		records = append(records, handoff.Record{Version: 1, Type: typ, ID: "r" + strconv.Itoa(len(records)),
			CreatedAt: now.Add(-age), Producer: handoff.Producer{Session: id}, Fact: f})
	}
	for i, id := range []string{"quiet1", "quiet2", "gone", "done", "running1", "running2", "quiet3"} {
		opened := &handoff.SessionOpened{SessionID: id, Folder: id}
		if id == "gone" {
			opened.Process = gone
		}
		add(time.Duration(20-i)*time.Hour, "session.opened", id, opened)
	}
	add(time.Hour, "session.noted", "gone", &handoff.SessionNoted{SessionID: "gone", Child: gone})
	add(time.Hour, "session.closed", "done", &handoff.SessionClosed{SessionID: "done", Status: session.Completed})
	for _, id := range []string{"running1", "running2"} {
		add(time.Minute, "artifact.published", id, &handoff.ArtifactPublished{Channel: "c", Path: id + "/a.md"})
	}
	m := logtest.NewReference()
	if err := m.Apply(t.Context(), logtest.Placed(records)...); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int]string{
		1: "quiet3 running2; more running,stalled", 2: "quiet3 running2 running1 quiet2; more stalled",
		3: "quiet3 running2 running1 quiet2 quiet1; more ",
	} {
		q := lifecycle.Query{Observer: observer, Now: now}
		q.Limit = limit
		open, more, err := lifecycle.FindOpen(t.Context(), m, q)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range open {
			got = append(got, v.ID)
		}
		if text := strings.Join(got, " ") + "; more " + strings.Join(more, ","); text != want {
			t.Errorf("limit %d: got %q, want %q", limit, text, want)
		}
	}
}
