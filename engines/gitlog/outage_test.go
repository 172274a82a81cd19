package gitlog

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/workspace"
)

// TestOutage has a server that is away under a watch.
func TestOutage(t *testing.T) {
	url := server(t)
	away := filepath.Join(filepath.Dir(url), "away")
	writer := workspaceAt(t, url, new(time.Duration), workspace.Options{})
	watcher := workspaceAt(t, url, new(time.Duration), workspace.Options{})
	var since time.Time
	rename := func(from, to string) func() {
		return func() {
			if err := os.Rename(from, to); err != nil {
				t.Fatal(err)
			}
		}
	}
	logtest.Outage{
		Publish: func(title string) (string, error) {
			done, err := writer.Publish(t.Context(), handoff.Draft{Body: strings.NewReader(title), Filename: "a.md",
				Channel: "design", Title: title})
			return done.ID, err
		},
		Watch: func(ctx context.Context) iter.Seq2[handoff.Artifact, error] {
			return watcher.Watch(ctx, workspace.WatchOptions{After: "0"})
		},
		Away: func() {
			rename(url, away)()
			since = time.Now()
		},
		Asked: func() bool { return time.Since(since) > time.Second }, // a watch asks several times
		Back:  rename(away, url),
	}.Run(t)
}
