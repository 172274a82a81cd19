package session

import (
	"time"

	"github.com/agent-handoff/handoff"
)

// A Thread is one that the main agent of a program had in a session, as the
// hooks of the program reported it. What only its transcript shows is added by
// whoever can read it.
type Thread struct {
	Thread    string    `json:"thread"` // its URI
	Harness   string    `json:"harness,omitempty"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
	Status    string    `json:"status,omitempty"` // of the transcript, otherwise what the program reported at the end

	Subagents    int            `json:"subagents,omitempty"` // of the transcript
	Usage        *handoff.Usage `json:"usage,omitempty"`     // of the transcript, including subagents
	Completeness string         `json:"completeness,omitempty"`
	Reason       string         `json:"reason,omitempty"` // why usage is not exact
}

// A Detail is a session with its outputs, artifacts, threads and files, and the
// sessions that it builds on or that build on it.
type Detail struct {
	View
	Others       []Other    `json:"artifacts,omitempty"`
	Expectations []Expected `json:"expectedOutputs,omitempty"` // each of Expected
	Related      []Related  `json:"related,omitempty"`
	Read         []Other    `json:"read,omitempty"` // the newest artifacts that its work read
	// URIs of the threads of those who opened it, published in it or worked in it
	Threads []string `json:"threads,omitempty"`

	Conversations []Thread `json:"conversations,omitempty"`
	Files         []File   `json:"files,omitempty"` // the result of List, if requested

	Published []handoff.Artifact `json:"-"` // newest first: what is outside the folder or withdrawn
}

// An Other is an active artifact of a session that is not one of its outputs: it
// was published outside the session's folder.
type Other struct {
	ID      string `json:"id"`
	Channel string `json:"channel"`
	Path    string `json:"path"`
	Title   string `json:"title,omitempty"`
}

// Related is a session that another one links to, or that links to it.
type Related struct {
	ID     string `json:"id"`
	Link   string `json:"link"`           // from: the session builds on it; into: it builds on the session
	Name   string `json:"name,omitempty"` // "" if it is not recorded here
	Status string `json:"status,omitempty"`
}

// A File is one file or directory of a session's folder.
type File struct {
	Path     string    `json:"path"` // slash-separated, relative to the folder
	Type     string    `json:"type"` // file, directory, symlink or other
	Size     int64     `json:"sizeBytes"`
	Modified time.Time `json:"modifiedAt"`
	Internal bool      `json:"isInternal"` // written by handoff: the manifest or a temporary file
}
