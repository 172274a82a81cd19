package cost

import "github.com/agent-handoff/handoff"

// Traffic is how artifacts reached other work, as far as it was recorded.
type Traffic struct {
	RefsPassed  int    `json:"refsPassed"`            // reads of the artifacts by other work
	BytesRead   *int64 `json:"bytesRead,omitempty"`   // the sizes of what was read, once for each read
	BytesStayed *int64 `json:"bytesStayed,omitempty"` // the sizes of artifacts that no other work read
}

// add adds the traffic of an artifact. A directory has no size.
func (t *Traffic) add(a handoff.Artifact) {
	readers := 0
	for _, u := range a.UsedBy {
		if own := a.Producer; u.Harness != own.Harness || u.WorkID != own.WorkID || u.WorkID == "" {
			readers++
		}
	}
	t.RefsPassed += readers
	if a.SizeBytes == nil {
		return
	}
	if readers == 0 {
		t.BytesStayed = sum(t.BytesStayed, a.SizeBytes)
		return
	}
	read := int64(readers) * *a.SizeBytes
	t.BytesRead = sum(t.BytesRead, &read)
}
