package session

import "github.com/agent-handoff/handoff"

// Delivered reports whether one of a session's artifacts stands under a name,
// and is not known to be empty: a name that was written, a file of the
// session's folder, or a path of the workspace.
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
