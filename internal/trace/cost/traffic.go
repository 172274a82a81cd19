package cost

// Traffic is how artifacts reached other work, as far as it was recorded.
type Traffic struct {
	RefsPassed  int    `json:"refsPassed"`            // reads of the artifacts by other work
	BytesRead   *int64 `json:"bytesRead,omitempty"`   // the sizes of what was read, once for each read
	BytesStayed *int64 `json:"bytesStayed,omitempty"` // the sizes of artifacts that no other work read
}
