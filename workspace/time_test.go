package workspace_test

import (
	"testing"
	"time"

	"github.com/agent-handoff/handoff/workspace"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func FuzzParseTime(f *testing.F) {
	for _, text := range []string{"", "2h", "3d", "99999d", "2026-11-21", "2026-11-21T09:00:00Z", "9223372036854775807ns",
		"-1h", "1e9h", "d", "٣d"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := workspace.ParseTime("since", text, noon)
		if err != nil && !got.IsZero() {
			t.Errorf("ParseTime(%q) = %v and %v", text, got, err)
		}
		if _, ago := time.ParseDuration(text); err == nil && ago == nil && got.After(noon) {
			t.Errorf("ParseTime(%q) = %v, after now", text, got)
		}
	})
}
