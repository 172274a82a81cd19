package workspace_test

import (
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/storage"
	"github.com/agent-handoff/handoff/workspace/runs"

	"github.com/agent-handoff/handoff/engines/memory"

	"context"
	"errors"
	"iter"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/workspace/sessions"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/workspace"
)

// openWorkspace opens a workspace in a temporary directory.
func openWorkspace(t *testing.T) *workspace.Workspace {
	t.Helper()
	dir := t.TempDir()
	w, err := workspace.Open(dir, workspace.Options{Getenv: func(name string) string {
		return map[string]string{"HANDOFF_WORKSPACE": dir}[name]
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// TestProcessGone opens a session as a command that starts others would, lets
// its processes end one after the other, and looks on.
func TestProcessGone(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this system can't tell a process from all others")
	}
	w := openWorkspace(t)
	engine, child := exec.Command("sleep", "60"), exec.Command("sleep", "60")
	for _, cmd := range []*exec.Cmd{engine, child} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Process.Kill()
	}
	opened, err := w.Sessions().Open(t.Context(), session.OpenOptions{
		Agent: handoff.SessionAgent{Name: "alex"}, Workflow: handoff.SessionWorkflow{
			Name: "intake-app"}, Process: runs.ProcessOf(engine.Process.Pid),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Runs().RecordChild(t.Context(), opened.ID, child.Process.Pid); err != nil {
		t.Fatal(err)
	}
	gone := func() bool {
		s, err := w.Hub().Session(t.Context(), opened.ID)
		if err != nil {
			t.Fatal(err)
		}
		elsewhere := lifecycle.ThisObserver()
		elsewhere.BootID = "another"
		if status, _ := lifecycle.StatusAt(s, elsewhere, time.Now(), time.Time{}); status != handoff.Running {
			t.Errorf("status for an observer on another machine = %s, want running", status)
		}
		_, reason := lifecycle.StatusAt(s, lifecycle.ThisObserver(), time.Now(), time.Time{})
		return reason == handoff.ProcessGone
	}
	if gone() {
		t.Error("gone while both live")
	}
	engine.Process.Kill()
	engine.Wait()
	if gone() {
		t.Error("gone while the child lives on")
	}
	child.Process.Kill() // not waited for: a zombie is gone too
	for deadline := time.Now().Add(time.Minute); !gone(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not gone, though both are")
		}
	}
	child.Wait()
	page, err := w.Sessions().Find(t.Context(), sessions.Filter{Status: session.Failed})
	if err != nil || len(page.Sessions) != 1 || page.Sessions[0].Reason != handoff.ProcessGone {
		t.Errorf("%d failed sessions, %v, want the one whose process is gone", len(page.Sessions), err)
	}
}

// TestRun opens a run within a session: it has a folder there, and no manifest.
func TestRun(t *testing.T) {
	w := openWorkspace(t)
	open := func(o session.OpenOptions) session.Opened {
		t.Helper()
		opened, err := w.Sessions().Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return opened
	}
	outer := open(session.OpenOptions{
		Agent: handoff.SessionAgent{Name: "alex"}, Workflow: handoff.SessionWorkflow{Name: "intake-app"}})
	for id, folder := range map[string]string{"run-7": "run-7", "a/../b": "~612f2e2e2f62", "..": "~2e2e"} {
		run := open(session.OpenOptions{ID: id, Parent: outer.ID})
		if want := outer.Folder + "/artifacts/" + folder; run.Folder != want || run.Manifest != "" {
			t.Errorf("run %q is in %s with manifest %q, want %s and none", id, run.Folder, run.Manifest, want)
		}
		if run.Env["HANDOFF_SESSION"] != outer.ID || run.Env["HANDOFF_RUN"] != id ||
			run.Env["HANDOFF_SESSION_DIR"] != outer.Folder {
			t.Errorf("run %q has environment %v", id, run.Env)
		}
	}
	if _, err := w.Sessions().Open(t.Context(), session.OpenOptions{ID: "r", Parent: "nowhere"}); err == nil {
		t.Error("a run in no session was opened")
	}
}

// A brokenLog can't be read after a record of a session was appended to it.
type brokenLog struct {
	handoff.Log
	broken *bool
}

func (l brokenLog) Append(ctx context.Context, r handoff.Record) (handoff.Seq, error) {
	seq, err := l.Log.Append(ctx, r)
	*l.broken = true
	return seq, err
}

func (l brokenLog) Read(ctx context.Context, after handoff.Seq) iter.Seq2[handoff.Record, error] {
	if *l.broken {
		return func(yield func(handoff.Record, error) bool) {
			yield(handoff.Record{}, handoff.E("read log", "", handoff.Unavailable, errors.New("too many open files")))
		}
	}
	return l.Log.Read(ctx, after)
}

// TestOpenWithoutIndex opens sessions and runs whose record is stored and can't
// be indexed: they are open, with a warning.
func TestOpenWithoutIndex(t *testing.T) {
	log, broken := memory.NewLog(), false
	dir := t.TempDir()
	env := map[string]string{"HANDOFF_WORKSPACE": dir, "HANDOFF_LOG": "broken:"}
	w, err := workspace.Open(dir, workspace.Options{Getenv: func(name string) string {
		return env[name]
	}, Backends: []storage.Backend{{Scheme: "broken",
		Open: func(storage.BackendOptions) (handoff.Log, handoff.Bodies, error) {
			return brokenLog{log, &broken}, nil, nil
		}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	options := session.OpenOptions{Agent: handoff.SessionAgent{Name: "alex"},
		Workflow: handoff.SessionWorkflow{Name: "intake"}}
	first, err := w.Sessions().Open(t.Context(), options)
	if err != nil || first.ID == "" || len(first.Warnings) == 0 || first.Env["HANDOFF_SESSION_DIR"] != first.Folder ||
		first.Env["HANDOFF_AGENT"] != "alex" {
		t.Errorf("OpenSession = %+v, %v, want the session and a warning", first, err)
	}
	broken = false
	options.Parent = first.ID
	run, err := w.Runs().Start(t.Context(), options)
	if err != nil || run.ID == "" || len(run.Warnings) == 0 || run.Env["HANDOFF_SESSION_DIR"] != first.Folder ||
		run.Env["HANDOFF_RUN"] != run.ID {
		t.Errorf("StartRun = %+v, %v, want the run and a warning", run, err)
	}
	broken = false
	if records := logtest.Collect(t, log, 0); len(records) != 2 {
		t.Errorf("%d records, want 2", len(records))
	}
}
