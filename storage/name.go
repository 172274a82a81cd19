package storage

// An AdoptedName is a file of a name that had no record.
type AdoptedName struct {
	Ref    string `json:"ref"` // namespace/name
	ID     string `json:"id,omitempty"`
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}
