package program

import (
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestLongRunOutput lets a gigabyte through a child's output, by itself and
// through handoff by turns, and reports how long it took from the first byte to
// the last: what opening and closing a session costs is no matter of its size.
func TestLongRunOutput(t *testing.T) {
	if os.Getenv("HANDOFF_LONG") == "" {
		t.Skip("takes a while; HANDOFF_LONG=1 runs it")
	}
	const size = 1 << 30
	dir := t.TempDir()
	best := map[string]time.Duration{}
	for range 3 {
		for _, how := range []string{"", "handoff run -- "} {
			cmd := exec.Command("sh", "-c", "exec "+how+"head -c 1073741824 /dev/zero")
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "HANDOFF_WORKSPACE="+dir)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := io.CopyN(io.Discard, out, 1); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			n, err := io.CopyN(io.Discard, out, size-1)
			took := time.Since(began)
			rest, _ := io.Copy(io.Discard, out)
			if err != nil || n != size-1 || rest != 0 {
				t.Errorf("%q: %d bytes came through, and %d, %v, want %d", how, n+1, rest, err, size)
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			if best[how] == 0 || took < best[how] {
				best[how] = took
			}
		}
	}
	by, through := best[""], best["handoff run -- "]
	t.Logf("1 GiB: %v by itself, %v through handoff run, %.2f times as fast", by, through, float64(by)/float64(through))
}
