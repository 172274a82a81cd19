package workspace

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/workspace/sessions"

	"pgregory.net/rapid"

	"github.com/agent-handoff/handoff"
)

// TestRenderLeft appends records as a process does that is killed before it
// renders; the next one renders what is left, where the folder is here.
func TestRenderLeft(t *testing.T) {
	dir := t.TempDir()
	w := openDir(t, dir)
	var opened [3]session.Opened
	for i := range opened {
		var err error
		if opened[i], err = w.Sessions().Open(t.Context(),
			session.OpenOptions{Agent: handoff.SessionAgent{Name: "alex"},
				Workflow: handoff.SessionWorkflow{Name: "w"}}); err != nil {
			t.Fatal(err)
		}
	}
	left := func(w *Workspace) int {
		t.Helper()
		ids, err := w.c.Index.Manifests().Unrendered(t.Context(), 0, 32)
		if err != nil {
			t.Fatal(err)
		}
		return len(ids)
	}
	if n := left(w); n != 0 {
		t.Errorf("%d sessions are to be rendered after all were", n)
	}
	summary := "what was said"
	for _, o := range opened {
		f := &handoff.SessionNoted{SessionID: o.ID, UserSummary: &summary}
		if _, _, err := w.c.Hub.Record(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(opened[1].Folder); err != nil { // as on another machine
		t.Fatal(err)
	}
	if err := os.Remove(opened[2].Manifest); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(opened[2].Manifest, 0o777); err != nil { // which can't be rendered over
		t.Fatal(err)
	}
	next := openDir(t, dir)
	if err := (lifecycle.Follower{Sessions: next.sessions}).Render(t.Context(), next.c, 0); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(opened[0].Manifest); err != nil || !strings.Contains(string(b), summary) {
		t.Errorf("the manifest, %v, was not rendered:\n%s", err, b)
	}
	if _, err := os.Stat(opened[1].Folder); err == nil {
		t.Error("a folder was made that was not there")
	}
	if n := left(next); n != 1 {
		t.Errorf("%d sessions are still to be rendered, want the one that can't be", n)
	}
	// An index that is built anew knows of no rendering: all are looked at.
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"index.db", "index.db-wal", "index.db-shm"} {
		os.Remove(filepath.Join(dir, ".handoff", name))
	}
	if err := os.Remove(opened[2].Manifest); err != nil {
		t.Fatal(err)
	}
	again := openDir(t, dir)
	if _, err := again.c.Anonymous.Newest(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := left(again); n != 3 {
		t.Errorf("%d sessions are to be looked at after the index was lost, want 3", n)
	}
	err := lifecycle.Follower{Sessions: again.sessions}.Render(t.Context(), again.c, 0)
	if err != nil || left(again) != 0 {
		t.Errorf("%d sessions are still to be rendered, %v", left(again), err)
	}
	if b, err := os.ReadFile(opened[2].Manifest); err != nil || !strings.Contains(string(b), summary) {
		t.Errorf("the manifest, %v, was not rendered again:\n%s", err, b)
	}
}

// TestRenderedAtExit adds many outputs in one process: when it closes the
// testWorkspace the manifest lists them all.
func TestRenderedAtExit(t *testing.T) {
	w := openDir(t, t.TempDir())
	o, err := w.Sessions().Open(t.Context(), session.OpenOptions{
		Agent: handoff.SessionAgent{Name: "alex"}, Workflow: handoff.SessionWorkflow{Name: "w"}})
	if err != nil {
		t.Fatal(err)
	}
	const outputs = 30
	for i := range outputs {
		name := fmt.Sprintf("part-%d.md", i)
		if err := os.WriteFile(filepath.Join(o.Folder, name), []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Sessions().AddOutput(t.Context(), o.ID, sessions.Output{File: name, Type: "document"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(o.Manifest)
	if got := strings.Count(string(b), `"file": "part-`); err != nil || got != outputs {
		t.Errorf("the manifest lists %d outputs, %v, want %d", got, err, outputs)
	}
}

// TestManifestExtended adds, replaces, withdraws and reads outputs of a session, whose
// manifest is extended where that is possible: it is always the one that is rendered from the log.
func TestManifestExtended(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		must(t, err)
		must(t, os.Mkdir(filepath.Join(dir, ".git"), 0o755))
		w := openDir(t, dir)
		opened, err := w.Sessions().Open(t.Context(), session.OpenOptions{Agent: handoff.SessionAgent{Name: "alex"},
			Inputs:   map[string]any{"handoff": map[string]any{"logSeq": 1}},
			Workflow: handoff.SessionWorkflow{Name: "w"}})
		must(t, err)
		as := w.As(Caller{Dir: dir, Producer: handoff.Producer{Session: opened.ID, Source: handoff.FromFlag}})
		var ids []string
		for range rapid.IntRange(3, 9).Draw(rt, "steps") {
			step := rapid.SampledFrom([]string{"add", "add", "add", "publish", "withdraw", "note", "edit"}).Draw(rt, "step")
			name := fmt.Sprintf("f%d.md", rapid.IntRange(0, 20).Draw(rt, "file"))
			must(t, os.WriteFile(filepath.Join(opened.Folder, name), []byte(rapid.String().Draw(rt, "text")), 0o644))
			switch {
			case step == "publish":
				_, err = as.Publish(t.Context(), handoff.Draft{Channel: "c", Body: strings.NewReader(name), Title: `"a"`})
			case step == "withdraw" && len(ids) > 0:
				_, err = w.Withdraw(t.Context(), rapid.SampledFrom(ids).Draw(rt, "withdrawn"), "")
			case step == "note":
				_, err = as.Sessions().Set(t.Context(), "", sessions.Note{Tags: []string{name}})
			case step == "edit":
				err = os.WriteFile(opened.Manifest, []byte("{}"), 0o644)
			default:
				var done handoff.Published
				done, err = as.Sessions().AddOutput(t.Context(), "", sessions.Output{File: name, Type: "report",
					Description: rapid.StringMatching(`[a-z"\\<é ]{0,9}`).Draw(rt, "description")})
				ids = append(ids, done.ID)
			}
			must(t, err)
			if rapid.IntRange(0, 2).Draw(rt, "compare") > 0 {
				continue
			}
			must(t, w.sessions.Render(t.Context(), opened.ID))
			got, err := os.ReadFile(opened.Manifest)
			must(t, err)
			must(t, os.Remove(opened.Manifest))
			must(t, w.sessions.Render(t.Context(), opened.ID))
			want, err := os.ReadFile(opened.Manifest)
			must(t, err)
			if !bytes.Equal(got, want) {
				rt.Fatalf("after %s:\n%s\nwant\n%s", step, got, want)
			}
		}
	})
}
