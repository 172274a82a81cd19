package workspace_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/storage"
	"github.com/agent-handoff/handoff/workspace/sessions"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/workspace"
)

// A watchedLog calls a function before each append.
type watchedLog struct {
	handoff.Log
	before func(handoff.Record) error
}

func (l watchedLog) Append(ctx context.Context, r handoff.Record) (handoff.Seq, error) {
	if err := l.before(r); err != nil {
		return 0, err
	}
	return l.Log.Append(ctx, r)
}

// openWatched opens a workspace in dir that calls before before each append.
func openWatched(t *testing.T, dir string, before func(handoff.Record) error,
	now func() time.Time) *workspace.Workspace {
	t.Helper()
	env := map[string]string{"HANDOFF_WORKSPACE": dir, "HANDOFF_LOG": "watched:"}
	w, err := workspace.Open(dir, workspace.Options{Getenv: func(name string) string {
		return env[name]
	}, Now: now, Backends: []storage.Backend{{Scheme: "watched",
		Open: func(o storage.BackendOptions) (handoff.Log, handoff.Bodies, error) {
			log := filelog.Open(o.Runtime, o.Rand)
			return watchedLog{log, before}, log.Bodies(), nil
		}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// TestOpenTwice opens a session under one ID twice, neither of which sees the other
// before it records its own: one of them is a conflict.
func TestOpenTwice(t *testing.T) {
	const id = "b0000001-0000-4000-8000-000000000000"
	var both sync.WaitGroup
	both.Add(2)
	w := openWatched(t, t.TempDir(), func(handoff.Record) error { both.Done(); both.Wait(); return nil }, nil)
	var errs [2]error
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			_, errs[i] = w.Sessions().Open(t.Context(),
				session.OpenOptions{ID: id, Agent: handoff.SessionAgent{Name: fmt.Sprint("agent ", i)},
					Workflow: handoff.SessionWorkflow{Name: "w"}})
		})
	}
	all.Wait()
	s, err := w.Hub().Session(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for i, err := range errs {
		if own := s.Agent.Name == fmt.Sprint("agent ", i); own && err != nil || !own && !errors.Is(err, handoff.Conflict) {
			t.Errorf("the session is of %s; opening it for agent %d: %v", s.Agent.Name, i, err)
		}
	}
}

const foreignID = "c0000001-0000-4000-8000-000000000000"

// writeForeign writes a session folder of another engine, and returns its name.
func writeForeign(t *testing.T, dir string) string {
	t.Helper()
	folder := "docs/agent-outputs/" + foreignID
	name := filepath.Join(dir, folder)
	err := errors.Join(os.MkdirAll(name, 0o777), os.WriteFile(filepath.Join(name, "one.md"), []byte("one\n"), 0o666),
		os.WriteFile(filepath.Join(name, "manifest.json"), []byte(`{
		"version": "1.0.0", "session_id": "`+foreignID+`", "agent": {"name": "casey", "title": "Casey", "bundle": "b"}, "workflow": {"name": "plan", "description": "Plans"},
		"execution": {"started_at": "2025-03-04T05:06:07Z", "completed_at": "2025-03-04T06:06:07Z", "status": "completed", "user": "Kim"},
		"outputs": [{"file": "one.md", "type": "document", "description": "The one", "created_at": "2025-03-04T06:00:00Z"}],
		"related_sessions": ["c0000002-0000-4000-8000-000000000000", "c0000003-0000-4000-8000-000000000000"],
		"userSummary": "Plan it", "messageCount": 12, "metadata": {"color": "blue", "handoff": {"tags": ["spring"]}}}`), 0o666))
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// adopted returns what a session says that was adopted, without its records.
func adopted(t *testing.T, w *workspace.Workspace) (s handoff.Session, outputs int) {
	t.Helper()
	s, err := w.Hub().Session(t.Context(), foreignID)
	if err != nil {
		t.Fatal(err)
	}
	page, err := w.List(t.Context(), workspace.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return handoff.Session{Status: s.Status, OpenedAt: s.OpenedAt, ClosedAt: s.ClosedAt, Links: s.Links, Tags: s.Tags,
		Summary:  s.Summary,
		Messages: s.Messages, Metadata: s.Metadata, Reclosed: s.Reclosed}, len(page.Artifacts)
}

// TestAdoptInterrupted ends an adoption after each of its records: repeated, it
// records everything that the manifest says.
func TestAdoptInterrupted(t *testing.T) {
	want := handoff.Session{Status: "completed", OpenedAt: time.Date(2025, 3, 4, 5, 6, 7, 0, time.UTC),
		ClosedAt: time.Date(2025, 3, 4, 6, 6, 7, 0, time.UTC),
		Links:    []string{"c0000002-0000-4000-8000-000000000000", "c0000003-0000-4000-8000-000000000000"}, Tags: []string{
			"spring"},
		Summary: "Plan it", Messages: 12, Metadata: map[string]json.RawMessage{"color": json.RawMessage(`"blue"`)}}
	for n := int64(0); ; n++ {
		dir, remaining := t.TempDir(), atomic.Int64{}
		remaining.Store(n)
		folder, w := writeForeign(t, dir), openWatched(t, dir, func(handoff.Record) error {
			if remaining.Add(-1) < 0 {
				return handoff.E("append", "", handoff.Unavailable, errors.New("disk is full"))
			}
			return nil
		}, nil)
		_, err := w.Sessions().Adopt(t.Context(), folder, session.AdoptOptions{})
		remaining.Store(100)
		if _, again := w.Sessions().Adopt(t.Context(), folder, session.AdoptOptions{}); again != nil {
			t.Fatalf("ended after %d records, repeated: %v", n, again)
		}
		got, outputs := adopted(t, w)
		if !reflect.DeepEqual(got, want) || outputs != 1 {
			t.Errorf("ended after %d records, repeated: %d outputs and\n%+v\nwant 1 and\n%+v", n, outputs, got, want)
		}
		if err == nil {
			if n < 5 {
				t.Errorf("an adoption makes %d records, want at least 5", n)
			}
			return
		}
	}
}

// TestAdoptTwice adopts one folder by two processes at once. Everything is recorded
// once.
func TestAdoptTwice(t *testing.T) {
	var mu sync.Mutex
	types, appends, second := map[string]int{}, 0, make(chan struct{})
	before := func(r handoff.Record) error {
		mu.Lock()
		types[r.Type]++
		appends++
		n := appends
		mu.Unlock()
		switch n {
		case 1: // the other one has decided what to record, unless it has to wait
			select {
			case <-second:
			case <-time.After(300 * time.Millisecond):
			}
		case 2:
			close(second)
		}
		return nil
	}
	dir := t.TempDir()
	folder := writeForeign(t, dir)
	var all sync.WaitGroup
	for range 2 {
		w := openWatched(t, dir, before, nil)
		all.Go(func() {
			if _, err := w.Sessions().Adopt(t.Context(), folder, session.AdoptOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	want := map[string]int{"session.opened": 1, "session.noted": 1, "session.linked": 2, "artifact.published": 1,
		"session.closed": 1}
	if !reflect.DeepEqual(types, want) {
		t.Errorf("records %v, want %v", types, want)
	}
}

// TestAdoptTimes adopts manifests with times that can't be used.
func TestAdoptTimes(t *testing.T) {
	for _, tt := range []struct {
		start, end string
		lenient    bool
		want       string // when the session ended, "" if it is refused
	}{
		{"2025-03-04T05:06:07Z", "2025-03-04 06:00", true, "2025-03-04T05:06:07Z"}, // its start, not now
		{"2025-03-04T05:06:07Z", "", true, "2025-03-04T05:06:07Z"},
		{"2025-03-04T05:06:07Z", "2025-03-04T07:00:00Z", false, "2025-03-04T07:00:00Z"},
		{"0000-01-01T00:00:00+02:00", "2025-03-04T06:06:07Z", true, ""}, // the year before 0 in UTC
		{"0000-01-01T00:00:00+02:00", "2025-03-04T06:06:07Z", false, ""},
	} {
		dir := t.TempDir()
		folder := writeForeign(t, dir)
		name := filepath.Join(dir, folder, "manifest.json")
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.NewReplacer("2025-03-04T05:06:07Z", tt.start, "2025-03-04T06:06:07Z", tt.end).Replace(string(b))
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		w := openIn(t, dir)
		_, err = w.Sessions().Adopt(t.Context(), folder, session.AdoptOptions{Lenient: tt.lenient})
		s, _ := w.Hub().Session(t.Context(), foreignID)
		if tt.want == "" {
			if !errors.Is(err, handoff.Invalid) || s.Opened != 0 {
				t.Errorf("started %s, lenient %t: %v, want Invalid", tt.start, tt.lenient, err)
			}
			continue
		}
		if got := s.ClosedAt.UTC().Format(time.RFC3339); err != nil || got != tt.want {
			t.Errorf("ended %q: ends at %s, %v, want %s", tt.end, got, err, tt.want)
		}
	}
}

// TestDurations compares a session with one that ended before it started, as after a
// change of the clock: its duration is not known.
func TestDurations(t *testing.T) {
	now := time.Date(2026, 3, 4, 8, 0, 0, 0, time.UTC)
	w := openWatched(t, t.TempDir(), func(handoff.Record) error { return nil }, func() time.Time { return now })
	var ids []string
	for _, took := range []time.Duration{time.Minute, -time.Minute} {
		o, err := w.Sessions().Open(t.Context(), session.OpenOptions{Agent: handoff.SessionAgent{Name: "casey"},
			Workflow: handoff.SessionWorkflow{Name: "w"}})
		if err != nil {
			t.Fatal(err)
		}
		now = now.Add(took)
		if _, err := w.Sessions().Close(t.Context(), o.ID, session.Completed, ""); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, o.ID)
	}
	c, err := w.Sessions().Compare(t.Context(), ids[0], ids[1])
	if err != nil || c.Before.DurationMS == nil || *c.Before.DurationMS != 60_000 || c.After.DurationMS != nil {
		t.Errorf("durations %v and %v, %v, want 60000 and none", c.Before.DurationMS, c.After.DurationMS, err)
	}
}

// TestStatusOfPublisher checks that a session that was opened long ago and publishes
// has one status wherever it is shown.
func TestStatusOfPublisher(t *testing.T) {
	dir, now := t.TempDir(), time.Date(2026, 3, 4, 8, 0, 0, 0, time.UTC)
	w := openWatched(t, dir, func(handoff.Record) error { return nil }, func() time.Time { return now })
	open := func(workflow string, links ...string) string {
		o, err := w.Sessions().Open(t.Context(), session.OpenOptions{Agent: handoff.SessionAgent{Name: "casey"},
			Workflow: handoff.SessionWorkflow{Name: workflow}, Links: links})
		if err != nil {
			t.Fatal(err)
		}
		return o.ID
	}
	id := open("harvest")
	quiet := open("harvest", id)
	now = now.Add(5 * time.Hour)
	if err := os.WriteFile(filepath.Join(dir, "n.md"), []byte("n\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := w.As(workspace.Caller{Producer: handoff.Producer{Session: id, Source: handoff.FromFlag}, Dir: dir}).
		Publish(t.Context(), handoff.Draft{Channel: "note", Path: "n.md"}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Minute)
	status := map[string]string{}
	for _, want := range []string{"", handoff.Running, sessions.Stalled} {
		page, err := w.Sessions().Find(t.Context(), sessions.Filter{Status: want})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range page.Sessions {
			status["find "+want+" "+v.ID] = v.Status
		}
	}
	found, err := w.Search(t.Context(), workspace.SearchOptions{Text: "harvest", In: []string{workspace.InSessions}})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range found.Sessions {
		status["search "+m.Session.ID] = m.Session.Status
	}
	shown, err := w.Show(t.Context(), quiet, false)
	if err != nil {
		t.Fatal(err)
	}
	status["related "+shown.Session.Related[0].ID] = shown.Session.Related[0].Status
	c, err := w.Sessions().Compare(t.Context(), id, quiet)
	if err != nil {
		t.Fatal(err)
	}
	status["compare "+id], status["compare "+quiet] = c.Before.Status, c.After.Status
	want := map[string]string{"find  " + id: "running", "find  " + quiet: "stalled", "find running " + id: "running",
		"find stalled " + quiet: "stalled",
		"search " + id:          "running", "search " + quiet: "stalled", "related " + id: "running",
		"compare " + id: "running", "compare " + quiet: "stalled"}
	if !reflect.DeepEqual(status, want) {
		t.Errorf("got\n%v\nwant\n%v", status, want)
	}
}
