package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
)

func TestProgress(t *testing.T) {
	var out strings.Builder
	now := time.Unix(0, 0)
	a := &App{Err: &out, Now: func() time.Time { return now }}
	if a.Progress("indexing") != nil {
		t.Error("progress is shown though standard error is not a terminal")
	}
	a.Watched = true
	draw := a.Progress("indexing")
	for _, tt := range []struct {
		after time.Duration
		done  int64
		want  string
	}{
		{0, 512, ""},
		{200 * time.Millisecond, 1024, ""},
		{200 * time.Millisecond, 5000, "\rindexing [===============               ] 5000 of 10000"},
		{time.Second, 10000, "\r\x1b[K"},
	} {
		out.Reset()
		now = now.Add(tt.after)
		draw(handoff.Seq(tt.done), 10000)
		if got := out.String(); got != tt.want {
			t.Errorf("after %d records: %q, want %q", tt.done, got, tt.want)
		}
	}
}
