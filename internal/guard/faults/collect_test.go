//go:build linux && amd64

package faults

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
)

var collectArgs = []string{"gc", "--keep-last", "1", "--collect"}

// TestCollectInterrupted makes system calls on files fail, and kills the process before
// them, while a policy drops bodies: at every call with HANDOFF_LONG, otherwise at some of
// those that change something. Every record remains, nothing protected is dropped, a body is
// missing only if a record names it, and check finds nothing. Repeating the command
// completes it, and once more drops nothing.
func TestCollectInterrupted(t *testing.T) {
	t.Parallel()
	b := bench{program: build(t), dir: t.TempDir()}
	base := filepath.Join(b.dir, "base")
	must(t, os.MkdirAll(filepath.Join(base, ".git"), 0o755))
	run := func(ws string, args ...string) string {
		t.Helper()
		cmd := exec.Command(b.program, args...)
		cmd.Dir, cmd.Env = ws, b.env()
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	var last string
	kept := map[string]bool{} // the artifacts whose bodies must remain
	for i := range 6 {
		must(t, os.WriteFile(filepath.Join(base, "a.md"), fmt.Append(nil, "revision ", i), 0o644))
		args := []string{"publish", "a.md", "--channel", "patch"}
		if i > 0 {
			args = append(args, "--replaces", last)
		}
		if i == 2 {
			args = append(args, "--claim", "it works") // protected
		}
		last = run(base, args...)
		kept[last] = i == 2 || i == 5
	}
	age := time.Now().Add(-2 * time.Hour)
	must(t, filepath.WalkDir(filepath.Join(base, ".handoff/bodies"), func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, age, age))
	}))
	start := func(tr *tracer) trial {
		t.Helper()
		r := trial{ws: t.TempDir()}
		copyTree(t, base, r.ws)
		r.code, r.out, r.err = b.trace(t, r.ws, scenario{args: collectArgs}, tr)
		return r
	}
	all := new(tracer)
	r := start(all)
	done, err := collected(t, r.ws, kept)
	if r.code != 0 || err != nil || !done {
		t.Fatalf("without a fault: exits %d, done: %t, %v: %s", r.code, done, err, r.err)
	}
	var points []int
	for i, at := range all.calls {
		if changesNames[at.number] || at.number == syscall.SYS_FSYNC || at.number == syscall.SYS_WRITE ||
			os.Getenv("HANDOFF_LONG") != "" {
			points = append(points, i+1)
		}
	}
	step := 1
	if os.Getenv("HANDOFF_LONG") == "" {
		step = max(1, len(points)/4)
	}
	failed, killed := 0, 0
	for i := len(points) - 1; i >= 0; i -= step {
		for _, tr := range []*tracer{{fail: points[i]}, {fail: points[i], kill: true}} {
			r := start(tr)
			done, err := collected(t, r.ws, kept)
			if err != nil || r.code == 0 && !done || strings.Contains(r.err, "goroutine ") {
				t.Errorf("system call %d of %d (%d), killed: %t, exits %d: done: %t, %v: %s", tr.fail, len(tr.calls),
					tr.failed.number, tr.kill, r.code, done, err, r.err)
			}
			run(r.ws, collectArgs...)
			facts := len(records(t, r.ws, "bodies.dropped"))
			run(r.ws, collectArgs...)
			if done, err := collected(t, r.ws, kept); err != nil || !done || len(records(t, r.ws, "bodies.dropped")) != facts {
				t.Errorf("system call %d, repeated: done: %t, %v", tr.fail, done, err)
			}
			if r.code != 0 && tr.kill {
				killed++
			} else if r.code != 0 {
				failed++
			}
			os.RemoveAll(r.ws) // there are many
		}
	}
	t.Logf("%d system calls; %d runs failed, %d were killed", len(all.calls), failed, killed)
	if killed == 0 || failed == 0 {
		t.Errorf("got %d killed and %d failed runs, want some", killed, failed)
	}
}

// collected reports whether all bodies but those of some artifacts were dropped. The error is
// what a policy must not do.
func collected(t *testing.T, ws string, kept map[string]bool) (done bool, err error) {
	t.Helper()
	w, err := workspace.Open(ws, workspace.Options{})
	must(t, err)
	defer w.Close()
	if report, err := w.Store().Check(t.Context()); err != nil || !report.OK() {
		return false, errors.Join(err, errors.New("check finds "+findings(report)))
	}
	dropped := map[string]bool{}
	for _, r := range records(t, ws, "bodies.dropped") {
		for _, b := range r.Fact.(*handoff.BodiesDropped).Bodies {
			dropped[b.Digest.Value] = true
		}
	}
	page, err := w.Hub().Artifacts(t.Context(), handoff.ArtifactQuery{IncludeInactive: true})
	if err != nil || len(page.Artifacts) != len(kept) {
		return false, fmt.Errorf("%d artifacts, %w", len(page.Artifacts), err)
	}
	done = true
	for _, a := range page.Artifacts {
		digest := a.Digest.Value
		_, err := os.Stat(filepath.Join(ws, ".handoff/bodies/sha256", digest[:2], digest[2:]))
		switch {
		case kept[a.ID] && (err != nil || dropped[digest]):
			return false, fmt.Errorf("the body of %s is protected: %w", a.ID, err)
		case err != nil && !dropped[digest]:
			return false, fmt.Errorf("no record names the missing body of %s", a.ID)
		case err == nil && !kept[a.ID]:
			done = false
		}
	}
	return done, nil
}
