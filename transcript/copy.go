package transcript

import "github.com/agent-handoff/handoff"

// A Secret is what looks like a secret. It has where the secret is, not the secret.
type Secret struct {
	Kind    string `json:"kind"`
	Thread  string `json:"thread"`            // the URI of the thread or subagent
	Message int    `json:"message,omitempty"` // its number, 0 if it is in no message
	Line    int    `json:"line,omitempty"`    // of the transcript, if it is in no message
	Count   int    `json:"count"`
}

// A CopyStatus is what was done with a transcript.
type CopyStatus string

// The statuses.
const (
	Kept        CopyStatus = "kept"        // or would be
	Unchanged   CopyStatus = "unchanged"   // it was kept before
	Refused     CopyStatus = "refused"     // it has secrets
	Missing     CopyStatus = "missing"     // the program has no transcript, or it can't be read now
	Unsupported CopyStatus = "unsupported" // the program keeps threads together
)

// A Copy is what was done with one transcript.
type Copy struct {
	URI             string         `json:"uri"`
	Status          CopyStatus     `json:"status"`
	Reason          string         `json:"reason,omitempty"`
	RecordID        string         `json:"recordId,omitempty"`
	Digest          handoff.Digest `json:"digest,omitzero"`
	SizeBytes       int64          `json:"sizeBytes,omitempty"` // of the copy
	Files           int            `json:"files,omitempty"`
	TranscriptBytes int64          `json:"transcriptBytes,omitempty"` // of the files
	Redacted        int            `json:"redacted,omitempty"`        // how many secrets are replaced
	Secrets         int            `json:"secrets,omitempty"`         // how many are not
	Findings        []Secret       `json:"findings,omitempty"`

	Err error `json:"-"` // of a transcript that is missing or unsupported
}
