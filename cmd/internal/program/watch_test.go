package program

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/spf13/cobra"
)

// TestTimedOut checks that the hint works: --notices has no position to resume from.
func TestTimedOut(t *testing.T) {
	for _, tt := range []struct {
		printed int
		notices bool
		want    string
	}{
		{0, false, "run: handoff list"}, {1, false, "run: handoff watch --after 7"},
		{0, true, "news shows what needs you"}, {1, true, "news shows what needs you"},
	} {
		c := &cobra.Command{Use: "watch"}
		c.Flags().Bool("notices", false, "")
		if tt.notices {
			c.Flags().Set("notices", "true")
		}
		var e *handoff.Error
		errors.As(timedOut(c, time.Second, tt.printed, 7), &e)
		hint := cli.HintText(e.Hint)
		if !strings.Contains(hint, tt.want) || tt.notices && strings.Contains(hint, "--after") {
			t.Errorf("%+v: got the hint %q", tt, hint)
		}
	}
}
