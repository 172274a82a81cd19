package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
)

// quietFor is how long the index may take to catch up before it is shown.
const quietFor = 300 * time.Millisecond

// progress returns what shows how far the index has come, nil where nobody
// looks on.
func (a *app) progress() func(done, total handoff.Seq) {
	if !a.watched {
		return nil
	}
	const width = 30
	var began time.Time
	return func(done, total handoff.Seq) {
		now := a.now()
		switch {
		case began.IsZero():
			began = now
		case now.Sub(began) < quietFor:
		case done >= total:
			fmt.Fprint(a.err, "\r\x1b[K")
		default:
			n := int(int64(width) * int64(done) / int64(total))
			fmt.Fprintf(a.err, "\rindexing [%s%s] %d of %d records", strings.Repeat("=", n), strings.Repeat(" ", width-n), done, total)
		}
	}
}
