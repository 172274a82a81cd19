package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/logtest"
)

// TestLogLost takes the end of a log away, which its index knows: what is left
// is read, no record is put where one was, by this process or another, until a
// repair says that they are gone; and reading makes nobody forget it.
func TestLogLost(t *testing.T) {
	dir := testWorkspace(t)
	publishSome(t, dir, 10)
	runtime := filepath.Join(dir, ".handoff")
	for _, name := range []string{"000000000009.json", "000000000010.json"} {
		must(t, os.Remove(filepath.Join(runtime, "log", "00000000", name)))
	}
	for range 2 {
		w := openDir(t, dir)
		checkWorkspace(t, dir, 8)
		for range 2 {
			_, err := w.Publish(t.Context(), Publication{Path: "a.md", Channel: "design"})
			if !errors.Is(err, handoff.Corrupt) {
				t.Errorf("Publish = %v, want kind Corrupt", err)
			}
			if n := len(logtest.Collect(t, w.Log, 0)); n != 8 {
				t.Errorf("there are %d records, want 8", n)
			}
		}
	}
	w := openDir(t, dir)
	if _, err := w.Newest(t.Context()); err != nil {
		t.Error(err)
	}
	report, err := w.Check(t.Context())
	if err != nil || report.OK() {
		t.Errorf("check finds %v, %v", report.Findings, err)
	}
	if _, err := w.Repair(t.Context(), time.Now()); err != nil {
		t.Error(err)
	}
	if _, err := w.Publish(t.Context(), Publication{Path: "a.md", Channel: "design"}); err != nil {
		t.Errorf("after a repair, Publish = %v", err)
	}
	checkWorkspace(t, dir, 9)
}
