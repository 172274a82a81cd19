package bucketlog_test

import (
	"context"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/workspace"
)

// TestOutage has a store that answers every request with an error under a watch.
func TestOutage(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "k")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s")
	s := newStore(t)
	writer, watcher := s.workspaceAt(t, new(time.Duration)), s.workspaceAt(t, new(time.Duration))
	const many = 1 << 40
	logtest.Outage{
		Publish: func(title string) (string, error) {
			done, err := writer.Publish(t.Context(), handoff.Draft{Body: strings.NewReader(title), Filename: "a.md",
				Channel: "design", Title: title})
			return done.ID, err
		},
		Watch: func(ctx context.Context) iter.Seq2[handoff.Artifact, error] {
			return watcher.Watch(ctx, workspace.WatchOptions{After: "0"})
		},
		Away:  func() { s.failAll(http.StatusServiceUnavailable, true) },
		Asked: func() bool { return s.fail.Load() <= many-10 }, // several tries
		Back:  func() { s.failAll(0, false) },
	}.Run(t)
}
