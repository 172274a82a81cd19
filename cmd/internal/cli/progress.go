package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
)

// quietFor is how long the index may take to catch up before it is shown.
const quietFor = 300 * time.Millisecond

// Progress returns a function that draws the progress of an activity, nil unless
// standard error is a terminal.
func (a *App) Progress(activity string) func(done, total handoff.Seq) {
	if !a.Watched {
		return nil
	}
	const width = 30
	var began time.Time
	return func(done, total handoff.Seq) {
		now := a.Now()
		switch {
		case began.IsZero():
			began = now
		case now.Sub(began) < quietFor:
		case done >= total:
			fmt.Fprint(a.Err, "\r\x1b[K")
		default:
			n := int(int64(width) * int64(done) / int64(total))
			fmt.Fprintf(a.Err, "\r%s [%s%s] %d of %d", activity, strings.Repeat("=", n), strings.Repeat(" ", width-n), done,
				total)
		}
	}
}
