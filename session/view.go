// Package session has the types of sessions and runs: what is shown of one, how it is opened,
// compared and put away, and what it left.
//
// It has nouns only. The packages workspace/sessions and workspace/runs return them.
package session

import "github.com/agent-handoff/handoff"

type Output struct {
	File        string `json:"file"` // slash-separated, in the session's folder
	Type        string `json:"type"` // document, data, report or artifact
	Description string `json:"description"`
	CreatedAt   string `json:"created_at"`

	Artifact *handoff.Artifact `json:"-"` // the newest of the file that is not withdrawn
}

// A View is a session as its reader sees it: with the status that StatusAt
// returns, and the names of that time. Its processes are those of a session that
// is running.
type View struct {
	handoff.Session
	DisplayName      string   `json:"displayName"`
	DisplayTimestamp string   `json:"displayTimestamp,omitempty"` // its start, as in the display name
	LongName         string   `json:"longName"`
	Outputs          []Output `json:"outputs,omitzero"` // if the query asked for them
	Published        int      `json:"-"`                // active artifacts, if the query asked for counts

	// Notices are what somebody should know of it, the worst first. Outputs that it did
	// not leave are among them if the query asked for outputs.
	Notices []handoff.Notice `json:"notices,omitempty"`
}

// A Page is one page of a list of sessions, newest first.
type Page struct {
	Sessions []View `json:"sessions"`
	Cursor   string `json:"cursor,omitempty"`

	IsCut bool `json:"-"` // more sessions have the words of the query than were looked at
}
