package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
)

// quietFor is how long an activity may take before its progress is shown, and redrawAfter
// how long a drawing stays.
const (
	quietFor    = 300 * time.Millisecond
	redrawAfter = 50 * time.Millisecond
)

// Progress returns a function that draws the progress of an activity, nil unless
// standard error is a terminal.
func (a *App) Progress(activity string) func(done, total handoff.Seq) {
	if !a.Watched {
		return nil
	}
	draw := a.bar(activity)
	return func(done, total handoff.Seq) {
		draw(int64(done), int64(total), func(n int64) string { return fmt.Sprint(n) })
	}
}

// progressInBytes is Progress for an activity that is measured in bytes.
func (a *App) progressInBytes(activity string) func(done, total int64) {
	if !a.Watched {
		return nil
	}
	draw := a.bar(activity)
	return func(done, total int64) { draw(done, total, textfmt.Size) }
}

// bar returns a function that draws how much of an activity is done.
func (a *App) bar(activity string) func(done, total int64, text func(int64) string) {
	const width = 30
	var began, drawn time.Time
	return func(done, total int64, text func(int64) string) {
		now := a.Now()
		if began.IsZero() {
			began = now
		}
		switch {
		case done >= total && !drawn.IsZero():
			fmt.Fprint(a.Err, "\r\x1b[K")
			began, drawn = time.Time{}, time.Time{}
		case done >= total:
			began = time.Time{}
		case now.Sub(began) >= quietFor && now.Sub(drawn) >= redrawAfter:
			drawn = now
			n := int(width * done / total)
			fmt.Fprintf(a.Err, "\r\x1b[K%s [%s%s] %s of %s", activity, strings.Repeat("=", n), strings.Repeat(" ", width-n),
				text(done), text(total))
		}
	}
}
