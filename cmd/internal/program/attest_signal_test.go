package program

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
)

// TestAttestSignals sends signals to handoff, or to handoff and its command as a terminal
// does. What ended is recorded, and is no success.
func TestAttestSignals(t *testing.T) {
	const wait = `touch ready; while :; do sleep 0.02; done; `
	for _, tt := range []struct {
		name, command string
		signal        syscall.Signal
		group         bool
		code          int
		want          string
	}{
		{"interrupted", wait, syscall.SIGINT, false, 130, "interrupt"},
		{"interrupted in a terminal", wait, syscall.SIGINT, true, 130, "interrupt"},
		{"terminated", wait, syscall.SIGTERM, false, 143, "terminated"},
		{"a success after it was asked to end", "trap 'exit 0' TERM; " + wait, syscall.SIGTERM, false, 0, "terminated"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &stage{T: t, dir: t.TempDir()}
			s.cmd = exec.Command("handoff", "attest", "--", "sh", "-c", tt.command)
			s.cmd.Dir, s.cmd.Env = s.dir, append(os.Environ(), "HANDOFF_WORKSPACE="+s.dir)
			s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			if err := s.cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer s.cmd.Process.Kill()
			s.await("ready")
			pid := s.cmd.Process.Pid
			if tt.group {
				pid = -pid
			}
			if err := syscall.Kill(pid, tt.signal); err != nil {
				t.Fatal(err)
			}
			s.ended(tt.code)
			w, err := workspace.Open(s.dir, workspace.Options{Getenv: func(string) string { return "" }})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			page, err := w.Hub().Artifacts(t.Context(), handoff.ArtifactQuery{Kind: "attestation"})
			if err != nil || len(page.Artifacts) != 1 || page.Artifacts[0].Attestation.Signal != tt.want ||
				page.Artifacts[0].Attestation.ExitStatus != tt.code {
				t.Fatalf("got %+v, %v, want one attestation with signal %s", page.Artifacts, err, tt.want)
			}
			if v, err := w.Claims(nil).Verify(t.Context(), page.Artifacts[0].ID); err != nil ||
				v.Verdict != handoff.VerdictContradicted {
				t.Errorf("got %s, %v, want contradicted", v.Verdict, err)
			}
		})
	}
}
