package transcript

import "github.com/agent-handoff/handoff/thread"

// A Match is a thread or subagent that was found.
type Match struct {
	Item
	Snippets []Snippet `json:"snippets"`
}

// A Snippet is a part of a thread that contains words of a search.
type Snippet struct {
	URI    thread.URI `json:"uri"`   // of the message
	Field  string     `json:"field"` // title, prompt, answer, summary or tool
	Text   string     `json:"text"`
	Pieces []string   `json:"pieces"` // joined, they are the text; every second one was found

	Inferred bool `json:"inferred,omitempty"` // of a call, see thread.Call
}

// A Matches is the answer to a Search.
type Matches struct {
	Matches  []Match  `json:"threads"`
	More     bool     `json:"more"` // there are more than the limit
	Warnings []string `json:"warnings,omitempty"`
}

// A Selection is what a URI identifies that names several threads: those of some
// providers, with a role, in a directory, or with some words.
type Selection struct {
	Providers []string // nil for all
	Role      string
	Dir       string // absolute; "" for all
	Words     string // "" for all
	Limit     int    // -1 if the URI has none
	Warnings  []string
}
