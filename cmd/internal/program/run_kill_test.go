package program

import (
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/workspace/runs"

	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/internal/session/manifest"
	"github.com/agent-handoff/handoff/workspace"
)

// A stage is a workspace in which handoff run has a child that lives until it
// is told to publish, and then until it is told to end.
type stage struct {
	*testing.T
	dir  string
	cmd  *exec.Cmd // handoff run
	id   string    // of the session
	pids [2]int    // of handoff and its child
}

const stageChild = `
echo $HANDOFF_SESSION >session.tmp && mv session.tmp session
echo $$ >child.tmp && mv child.tmp child
until test -e publish -o -e end; do sleep 0.02; done
if test -e publish; then
	echo part >$HANDOFF_SESSION_DIR/part.md
	handoff session add part.md --type document >added.tmp && mv added.tmp added
fi
until test -e end; do sleep 0.02; done
`

func newStage(t *testing.T) *stage {
	if runtime.GOOS != "linux" {
		t.Skip("this system can't identify a process")
	}
	s := &stage{T: t, dir: t.TempDir()}
	s.cmd = exec.Command("handoff", "run", "--agent", "alex", "--", "sh", "-c", stageChild)
	s.cmd.Dir, s.cmd.Env = s.dir, append(os.Environ(), "HANDOFF_WORKSPACE="+s.dir)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		s.cmd.Wait()
	})
	s.id = s.await("session")
	pid, err := strconv.Atoi(s.await("child"))
	if err != nil {
		t.Fatal(err)
	}
	s.pids = [2]int{s.cmd.Process.Pid, pid}
	// Until the child is recorded, no observer may conclude that it ended.
	s.until("the child is noted", func() bool { return s.view().Child.PID == pid })
	return s
}

// await returns the content of a file once it exists.
func (s *stage) await(name string) (text string) {
	s.Helper()
	s.until(name, func() bool {
		b, err := os.ReadFile(filepath.Join(s.dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.Fatal(err)
		}
		text = strings.TrimSpace(string(b))
		return err == nil
	})
	return text
}

func (s *stage) until(what string, so func() bool) {
	s.Helper()
	for deadline := time.Now().Add(time.Minute); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.Fatalf("not within a minute: %s", what)
		}
	}
}

func (s *stage) touch(name string) {
	if err := os.WriteFile(filepath.Join(s.dir, name), nil, 0o666); err != nil {
		s.Fatal(err)
	}
}

// kill kills a process, or with a negative number its group, and waits until
// it is gone.
func (s *stage) kill(pids ...int) {
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			s.Fatal(err)
		}
	}
	if pids[0] < 0 {
		pids = s.pids[:]
	}
	for _, pid := range pids {
		s.until("the process is gone", func() bool { return runs.ProcessOf(pid) == handoff.Process{} })
	}
}

// handoff runs a command in the stage's workspace, outside the session.
func (s *stage) handoff(args ...string) []byte {
	s.Helper()
	cmd := exec.Command("handoff", args...)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), "HANDOFF_WORKSPACE="+s.dir)
	out, err := cmd.Output()
	if err != nil {
		s.Fatalf("handoff %v: %v", args, err)
	}
	return out
}

// view returns the session as this machine shows it.
func (s *stage) view() (v session.Detail) {
	s.Helper()
	if err := json.Unmarshal(s.handoff("show", s.id, "--json"), &v); err != nil {
		s.Fatal(err)
	}
	return v
}

func (s *stage) shows(status, why string) {
	s.Helper()
	if v := s.view(); v.Status != status || v.Reason != why {
		s.Errorf("the session is shown as %s (%s), want %s (%s)", v.Status, v.Reason, status, why)
	}
}

// write is a command that writes, but not about the session.
func (s *stage) write() {
	s.Helper()
	s.touch("other.md")
	s.handoff("publish", "other.md", "--channel", "analysis")
}

// recorded checks the session in the log, as any observer sees it.
func (s *stage) recorded(status, why string) {
	s.Helper()
	w, err := workspace.Open(s.dir, workspace.Options{})
	if err != nil {
		s.Fatal(err)
	}
	defer w.Close()
	v, err := w.Hub().Session(s.Context(), s.id)
	if err != nil || v.Status != status || v.Reason != why {
		s.Errorf("the session is recorded as %s (%s), %v, want %s (%s)", v.Status, v.Reason, err, status, why)
	}
	b, err := os.ReadFile(filepath.Join(s.dir, "docs/agent-outputs", s.id, manifest.Name))
	if err != nil || !strings.Contains(string(b), `"status": "`+status+`"`) {
		s.Errorf("the manifest, %v, does not contain %s:\n%s", err, status, b)
	}
}

// elsewhere lets an observer on another machine write: it must close nothing,
// and show what is recorded.
func (s *stage) elsewhere() {
	s.Helper()
	w, err := workspace.Open(s.dir, workspace.Options{})
	if err != nil {
		s.Fatal(err)
	}
	defer w.Close()
	before, err := w.Hub().Session(s.Context(), s.id)
	if err != nil {
		s.Fatal(err)
	}
	self := runs.ThisProcess()
	alive := func(p handoff.Process) bool { return runs.ProcessOf(p.PID) == p }
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		s.Fatal(err)
	}
	defer root.Close()
	sessions := lifecycle.New(w.Hub(), lifecycle.Options{Files: root, Root: s.dir, Now: time.Now, Rand: rand.Reader})
	for _, o := range []lifecycle.Observer{
		{BootID: "another", PIDNamespace: self.PIDNamespace, Alive: alive},
		{BootID: self.BootID, PIDNamespace: "another", Alive: alive},
		{},
	} {
		if _, err := sessions.CloseAbandoned(s.Context(), o); err != nil {
			s.Fatal(err)
		}
		after, err := w.Hub().Session(s.Context(), s.id)
		if err != nil || after.Status != before.Status {
			s.Errorf("observer %+v closed the session: %s, %v", o, after.Status, err)
		}
		if status, _ := lifecycle.StatusAt(before, o, time.Now(), time.Time{}); status != before.Status {
			s.Errorf("observer %+v sees %s, want %s", o, status, before.Status)
		}
		late, _ := lifecycle.StatusAt(before, o, time.Now().Add(2*lifecycle.StalledAfter), time.Time{})
		if before.Status == handoff.Running && late != lifecycle.Stalled {
			s.Errorf("observer %+v sees %s long after, want it stalled", o, late)
		}
	}
}

// ended waits for handoff run and checks its exit code.
func (s *stage) ended(code int) {
	s.Helper()
	s.cmd.Wait()
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		s.Errorf("handoff run exits %d, want %d", got, code)
	}
}

func TestKillChild(t *testing.T) {
	s := newStage(t)
	s.kill(s.pids[1])
	s.ended(128 + 9)
	s.recorded(session.Failed, "signal 9 (killed)")
	s.shows(session.Failed, "signal 9 (killed)")
}

// TestKillHandoffAlone lets the child live on: what it publishes is the
// session's, which still runs, until the child ends too.
func TestKillHandoffAlone(t *testing.T) {
	s := newStage(t)
	s.kill(s.pids[0])
	s.write()
	s.shows(handoff.Running, "")
	s.touch("publish")
	id := s.await("added")
	s.write()
	s.shows(handoff.Running, "")
	s.elsewhere()
	s.recorded(handoff.Running, "")
	s.touch("end")
	s.until("the child ends", func() bool { return runs.ProcessOf(s.pids[1]) == handoff.Process{} })
	s.shows(session.Failed, handoff.ProcessGone)
	s.recorded(handoff.Running, "") // showing writes nothing
	s.elsewhere()
	s.write()
	s.recorded(session.Failed, handoff.ProcessGone)
	var a handoff.Artifact
	if err := json.Unmarshal(s.handoff("show", id, "--json"), &struct {
		Late *bool `json:"late"`
	}{&a.Late}); err != nil || a.Late {
		s.Errorf("what the child published while it lived is late: %t, %v", a.Late, err)
	}
	if v := s.view(); len(v.Outputs) != 1 || len(v.Reclosed) != 0 {
		s.Errorf("the session has outputs %v and was closed again %v, want one, never", v.Outputs, v.Reclosed)
	}
}

func TestKillBoth(t *testing.T) {
	s := newStage(t)
	s.kill(s.pids[0], s.pids[1])
	s.shows(session.Failed, handoff.ProcessGone)
	s.elsewhere()
	s.recorded(handoff.Running, "")
	s.write()
	s.recorded(session.Failed, handoff.ProcessGone)
	s.shows(session.Failed, handoff.ProcessGone)
}

func TestKillGroup(t *testing.T) {
	s := newStage(t)
	s.kill(-s.pids[0])
	s.elsewhere()
	s.write()
	s.recorded(session.Failed, handoff.ProcessGone)
}

// TestNobodyClosesWhatLives lets others write while all is well.
func TestNobodyClosesWhatLives(t *testing.T) {
	s := newStage(t)
	s.write()
	s.elsewhere()
	s.recorded(handoff.Running, "")
	s.touch("publish")
	s.await("added")
	s.touch("end")
	s.ended(0)
	s.recorded(session.Completed, "")
}
