package session

// A TransferManifest describes an exported session.
type TransferManifest struct {
	Format    string `json:"format"`
	Version   int    `json:"version"`
	SessionID string `json:"sessionId"`
	Folder    string `json:"folder,omitempty"` // in which the session was opened
	Sessions  int    `json:"sessions"`         // with runs
	Records   int    `json:"records"`
	Bodies    int    `json:"bodies"`
	Files     int    `json:"files"`
}

// A Transfer is the outcome of an export or import.
type Transfer struct {
	TransferManifest
	File      string   `json:"file"`
	SizeBytes int64    `json:"sizeBytes,omitempty"` // of an exported file
	Warnings  []string `json:"warnings,omitempty"`
}
