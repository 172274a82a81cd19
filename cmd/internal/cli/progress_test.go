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
		{200 * time.Millisecond, 5000, "\r\x1b[Kindexing [===============               ] 5000 of 10000"},
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

// TestBytes checks that the progress of a copy is in sizes, and drawn only so often.
func TestBytes(t *testing.T) {
	var out strings.Builder
	now := time.Unix(0, 0)
	a := &App{Err: &out, Now: func() time.Time { return now }, Watched: true}
	draw := a.progressInBytes("copying")
	for range 100 {
		draw(1<<20, 4<<20)
	}
	now = now.Add(quietFor)
	for range 100 {
		draw(2<<20, 4<<20)
	}
	draw(4<<20, 4<<20)
	if got := out.String(); got != "\r\x1b[Kcopying [===============               ] 2.0 MiB of 4.0 MiB\r\x1b[K" {
		t.Errorf("it draws %q", got)
	}
}
