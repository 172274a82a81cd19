package handoff

import (
	"context"
	"time"
)

// A Production is what a thread published. Without a thread, it is what was
// published in a session and run by an agent for the same work.
type Production struct {
	Thread          string // of the thread, "" if it is not known
	Harness, WorkID string // of the work, "" if the thread is known and the query is not by work

	Key    string   // what the query groups by
	Values []string // the tags or labels that each artifact has, if the query asks for them, sorted

	Count     int // artifacts
	Revisions int // those of them that have an earlier revision
	Active    int // those of them that are active

	// Session, RunID and Agent are those of the artifact that was recorded last, and
	// Newest is when that was published.
	Session, RunID, Agent string
	Newest                time.Time

	RefsPassed  int    // reads by other work
	BytesRead   *int64 // the sizes of what other work read, once for each read; nil if no size is known
	BytesStayed *int64 // the sizes of artifacts that no other work read
}

// A ProductionQuery selects artifacts of every status.
type ProductionQuery struct {
	// By is what the artifacts of a thread are told apart by, the Key: "" for
	// nothing, "work", "session" (SESSION/RUN), "channel", "day" (as in 2006-01-02, in UTC),
	// "revision" ("1" or "0", for the first), or "artifact" (an ID). With "tag" they are told apart by their
	// Values and have no Key. With "label" those that have labels, and those of Apart, are
	// told apart by artifact and have Values; the others have no Key.
	By string

	Apart   []string // IDs of artifacts, for "label"
	Without []string // IDs of artifacts that are not counted

	Since, Until time.Time // published at or after, and before
	OfThreads    bool      // only artifacts whose records name a thread

	// In asks for the threads that published in a session or run: one production each, of
	// which only Thread is set. The other fields of the query are ignored.
	In string
}

// productionKeys are the values of By.
var productionKeys = []string{"", "work", "session", "channel", "day", "revision", "artifact", "tag", "label"}

// A ProductionLister is an Index that adds up artifacts without reading
// their records.
type ProductionLister interface {
	// Productions returns what q selects, in no order.
	Productions(ctx context.Context, q ProductionQuery) ([]Production, error)
}
