package opencode_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread/opencode"
)

func TestSuite(t *testing.T) {
	threadtest.Run(t, threadtest.Suite{Driver: opencode.Driver(), Write: home, Big: big})
}

func TestXurl(t *testing.T) {
	const (
		copied = "the database is read, not a copy"
		unit   = "xurl shows milliseconds"
	)
	threadtest.Xurl(t, opencode.Driver(), "XDG_DATA_HOME", map[string]string{
		"opencode-detail thread_source":         copied,
		"opencode-detail child_thread_source":   copied,
		"opencode-detail child_last_updated_at": unit,
		"opencode-detail lifecycle":             "parent_id may be in a file as well",
		"opencode-head thread_source":           copied,
		"opencode-head last_update":             unit,
		"opencode-missing-child thread_source":  copied,
		"opencode-read thread_source":           copied,
		"opencode-read last_update":             unit,
		"real-opencode-head thread_source":      copied,
		"real-opencode-read thread_source":      copied,
	})
}

// TestWALOnly reads a database whose rows are all in its write-ahead log, in a directory
// that is not writable. No file may be created.
func TestWALOnly(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "opencode.db")
	write(t, path, true, session(parentID, "", 0).user("hello").step("stop", one, said("world")))
	if info, err := os.Stat(path); err != nil || info.Size() > 4096 {
		t.Fatalf("the database has rows: %v, %v", info.Size(), err)
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(dir, 0o700) })
	threadtest.CheckUnchanged(t, dir)
	th := threadtest.Load(t, provider(t, dir), parentID)
	if said, _ := threadtest.Messages(t, th); len(said) != 2 || said[1] != "assistant: world" ||
		th.Usage.Tokens != tokens(1, one) {
		t.Errorf("got %q, %+v", said, th.Usage)
	}
}
