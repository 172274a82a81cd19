package opencode_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread/opencode"
)

// TestKilo reads a database of Kilo, which has the schema of OpenCode.
func TestKilo(t *testing.T) {
	dir := t.TempDir()
	home(t, dir)
	data := filepath.Join(dir, ".local", "share")
	if err := os.Rename(filepath.Join(data, "opencode"), filepath.Join(data, "kilo")); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal"} {
		if err := os.Rename(filepath.Join(data, "kilo", "opencode.db"+suffix),
			filepath.Join(data, "kilo", "kilo.db"+suffix)); err != nil && suffix == "" {
			t.Fatal(err)
		}
	}
	p := threadtest.Open(t, opencode.Kilo(), dir)
	threadtest.CheckThread(t, p, parentID)
	if th := threadtest.Load(t, p, parentID); th.Provider != "kilo" || filepath.Base(th.Source) != "kilo.db" {
		t.Errorf("got %+v", th)
	}
}
