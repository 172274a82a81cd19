package fold

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff"
)

// CompareWork orders work by its start. Work whose start is not recorded comes
// first, by its ID.
func CompareWork(a, b handoff.Work) int {
	return cmp.Or(cmp.Compare(a.Started, b.Started), strings.Compare(a.Harness, b.Harness), strings.Compare(a.ID, b.ID))
}

// Unapplied returns the records after last, the sequence number of the last
// record that an index has applied. The records must be in the order of their
// Seq; a gap is an error of kind Conflict.
func Unapplied(last handoff.Seq, records []handoff.Record) ([]handoff.Record, error) {
	for len(records) > 0 && records[0].Seq <= last {
		records = records[1:]
	}
	for i, r := range records {
		if want := last + handoff.Seq(i) + 1; r.Seq != want {
			return nil, handoff.E("index", "", handoff.Conflict, fmt.Errorf("got record %d, want %d", r.Seq, want))
		}
	}
	return records, nil
}
