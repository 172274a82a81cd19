package storage

import "github.com/agent-handoff/handoff"

// An UnneededBody is a stored body that no artifact and no thread needs.
type UnneededBody struct {
	handoff.StoredBody
	// Withdrawn: each of its artifacts was; Replaced: there is a later copy; Orphan: no record refers to it
	Need Reference `json:"need"`
}

// A Span selects a part of a body, in lines or in bytes. The first has offset 0.
type Span struct {
	Offset int64
	Limit  int64 // 0 for everything after Offset
	Bytes  bool  // Offset and Limit are in bytes, not lines
	Size   int64 // of lines, at most so many bytes; 0 for no limit
}

// A Page describes a part that was copied, in the unit of its span.
type Page struct {
	Next  int64 // the offset of the next page, 0 if this is the last
	Total int64 // the size of the body
}

// A BodyPage is a part of a body as data. Content has text; Base64 has what is
// not text.
type BodyPage struct {
	ID      string         `json:"id"`
	Path    string         `json:"path"` // as recorded
	File    string         `json:"file"` // absolute, "" if it can't be reached from this machine
	Target  handoff.Target `json:"target"`
	Kept    bool           `json:"kept"` // the bytes are the kept copy's
	Unit    string         `json:"unit"` // of Offset, Next and Total: lines or bytes
	Offset  int64          `json:"offset"`
	Next    int64          `json:"next,omitempty"` // where the next page starts; absent at the end
	Total   int64          `json:"total"`
	Content *string        `json:"content,omitempty"`
	Base64  []byte         `json:"base64,omitempty"`

	Notices []handoff.Notice `json:"notices,omitempty"` // of the artifact
}

// A Reference states whether records refer to a kept body.
type Reference string

const (
	Referenced Reference = "needed"    // by an artifact that is not withdrawn, or as the copy of a transcript
	Withdrawn  Reference = "withdrawn" // by withdrawn artifacts only
	Replaced   Reference = "replaced"  // by a copy of a transcript of which there is a later one
	Redacted   Reference = "redacted"  // by artifacts only whose content it no longer is, because it had a secret
	Dropped    Reference = "dropped"   // by records only whose copy of it a policy dropped
	Orphan     Reference = "orphan"    // by no record: its publish failed or is in progress
)
