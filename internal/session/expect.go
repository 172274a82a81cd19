package session

import (
	"path"

	"github.com/agent-handoff/handoff"
)

// Delivered reports whether a session has an active artifact, not known to be
// empty, with the given name. It may be a name that was written, a path in the
// session's folder or a path in the workspace.
func Delivered(s handoff.Session, artifacts []handoff.Artifact, name string) bool {
	for _, a := range artifacts {
		file, _ := inFolder(s, a)
		empty := a.SizeBytes != nil && *a.SizeBytes == 0
		if a.Status == handoff.Active && !empty && (a.Name == name || file == name || a.Root == "" && a.Path == name) {
			return true
		}
	}
	return false
}

// GuessType guesses the type of an output by the name of its file.
func GuessType(file string) string {
	switch path.Ext(file) {
	case ".md", ".txt", ".html", ".pdf", ".adoc", ".rst":
		return "document"
	case ".json", ".jsonl", ".csv", ".yaml", ".yml", ".xml":
		return "data"
	}
	return "artifact"
}
