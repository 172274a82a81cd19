package threadindex_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
)

// TestKilledBuild kills processes that build or update an index, after different times.
// The next one continues, and its answers are those of the files.
func TestKilledBuild(t *testing.T) {
	home, file := os.Getenv("HANDOFF_KILL_HOME"), os.Getenv("HANDOFF_KILL_FILE")
	if file != "" { // the process that is killed
		set := thread.NewSet(all.Drivers(), func(string) string { return "" }, home)
		later := func() time.Time { return time.Now().Add(time.Hour) }
		threadindex.NewIndex(threadindex.NewFiles(set), file, later, nil).Search(context.Background(),
			threadindex.Search{Text: "absent"})
		return
	}
	t.Parallel()
	tr := newTree(t, 2)
	tr.large = true
	size, waits := 50, []time.Duration{20, 40, 80, 160} // the race detector sees nothing of these processes
	if os.Getenv("HANDOFF_LONG") != "" {
		size, waits = 150, []time.Duration{20, 40, 80, 160, 40, 80, 160}
	}
	for range size {
		tr.create()
	}
	file = filepath.Join(t.TempDir(), "threads.db")
	for _, wait := range waits {
		for _, path := range tr.files() {
			if strings.HasSuffix(path, ".jsonl") && tr.r.IntN(3) == 0 {
				b, err := os.ReadFile(path)
				must(t, err)
				tr.write(path, string(b)+tr.more(path)+tr.more(path)+tr.more(path))
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), wait*time.Millisecond)
		c := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestKilledBuild$")
		c.Env = append(os.Environ(), "HANDOFF_KILL_HOME="+tr.home, "HANDOFF_KILL_FILE="+file)
		_ = c.Run() // it was killed, or was faster
		cancel()
	}
	tr.compare(file, func() time.Time { return time.Now().Add(time.Hour) })
}
