package storage

import "github.com/agent-handoff/handoff"

// A LogCopy is what a copy did.
type LogCopy struct {
	Records int         `json:"records"` // of the source
	Copied  int         `json:"copied"`  // of them in this run; the others were in the target
	Bodies  int         `json:"bodies"`  // copied in this run
	Missing []string    `json:"missingBodies"`
	Last    handoff.Seq `json:"lastSeq"` // of the target
}
