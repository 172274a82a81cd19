package bucketlog_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/handoff-s3/internal/bucketlog"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/storage"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/johannesboyne/gofakes3"
)

// workspaceAt opens a workspace of its own, whose clock can be changed.
func (s *store) workspaceAt(t *testing.T, clock *time.Duration) *workspace.Workspace {
	t.Helper()
	dir := t.TempDir()
	env := map[string]string{"HANDOFF_WORKSPACE": dir, "HANDOFF_LOG": "s3://bucket/team?poll=0s&endpoint=" + s.URL,
		"AWS_REGION": "us-east-1", "XDG_CACHE_HOME": t.TempDir()}
	w, err := workspace.Open(dir, workspace.Options{Backends: []storage.Backend{bucketlog.Backend},
		Getenv: func(name string) string { return env[name] }, Now: func() time.Time { return time.Now().Add(*clock) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// TestClocks has machines whose clocks are hours apart and are set back while they
// work. The log orders what they publish, and what a key or a revision names does not
// depend on a clock.
func TestClocks(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "k")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s")
	s := newStore(t)
	clocks := []time.Duration{-5 * time.Hour, 7 * time.Hour}
	machines := []*workspace.Workspace{s.workspaceAt(t, &clocks[0]), s.workspaceAt(t, &clocks[1])}
	var ids []string
	for i := range 8 {
		if i == 4 { // one clock is set back by a day, the other is corrected
			clocks = append(clocks[:0], -29*time.Hour, 0)
		}
		p := handoff.Draft{Body: strings.NewReader(fmt.Sprint("text ", i)), Filename: "a.md", Channel: "design",
			Title: fmt.Sprint(i), Key: fmt.Sprint("k", i), Keep: handoff.KeepAlways}
		if i > 0 {
			p.Replaces = []string{"design:latest"}
		}
		done, err := machines[i%2].Publish(t.Context(), p)
		if err != nil || done.Seq != handoff.Seq(i+1) || done.Existing {
			t.Fatalf("publish %d = %+v, %v", i, done, err)
		}
		ids = append(ids, done.ID)
	}
	for i, w := range machines {
		page, err := w.List(t.Context(), workspace.ListOptions{Filter: workspace.Filter{IncludeInactive: true}})
		if err != nil {
			t.Fatal(err)
		}
		var titles string
		for _, a := range page.Artifacts {
			titles += a.Title
		}
		if titles != "76543210" {
			t.Errorf("machine %d lists %s", i, titles)
		}
		for j, id := range ids {
			a, err := w.Hub().Artifact(t.Context(), id)
			if want := map[bool]handoff.Status{true: handoff.Active, false: handoff.Superseded}[j == 7]; err != nil ||
				a.Status != want || a.Revision != j+1 {
				t.Errorf("machine %d: artifact %d is %s, revision %d, %v", i, j, a.Status, a.Revision, err)
			}
		}
		again, err := w.Publish(t.Context(), handoff.Draft{Body: strings.NewReader("text 2"), Filename: "a.md",
			Channel: "design", Title: "2", Key: "k2", Keep: handoff.KeepAlways})
		if err != nil || !again.Existing || again.ID != ids[2] {
			t.Errorf("machine %d: the key names %s, existing %t, %v, want %s", i, again.ID, again.Existing, err, ids[2])
		}
	}
}

// TestStoreClock has a store whose clock is hours ahead: it refuses what is signed, and
// the error says why.
func TestStoreClock(t *testing.T) {
	s := newStore(t, gofakes3.WithTimeSource(gofakes3.FixedTimeSource(time.Now().Add(3*time.Hour))))
	_, err := s.machine(t, t.TempDir()).Append(t.Context(), logtest.NewRecord("a.md"))
	var e *handoff.Error
	if !errors.As(err, &e) || e.Kind != handoff.Unavailable || !strings.Contains(e.Hint.Text, "clock") {
		t.Errorf("Append = %v, want kind Unavailable and a hint about the clock", err)
	}
}
