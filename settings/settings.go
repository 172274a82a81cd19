// Package settings has the types of settings, and of the variables in paths.
//
// It has nouns only. Package workspace and workspace/runs return them.
package settings

import "github.com/agent-handoff/handoff"

// An Entry is a setting that applies, with its value for people to read, or one
// that is ignored.
type Entry struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Source  string `json:"source"`            // a file, an environment variable, or "default"
	Ignored bool   `json:"ignored,omitempty"` // the source is a file of the workspace, which can't decide this
}

// IgnoredNote says that the setting is ignored, and what the user can do. The action has
// no value, because it is the repository that asks for one.
func (s Entry) IgnoredNote() (text string, how handoff.Hint) {
	return s.Name + " in " + s.Source + " is ignored: a repository can't decide this",
		handoff.Suggest("decide it", handoff.ActionSet, s.Name, "VALUE")
}

// A Change is a change of the user's own settings.
type Change struct {
	Name     string
	Value    string // as a file of settings has it
	Unset    bool   // remove the setting
	Defaults bool   // for every workspace that has no value of its own
}
