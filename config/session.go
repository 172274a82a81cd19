package config

import "path/filepath"

// outputs is where sessions have their directories, below the workspace.
const outputs = "docs/agent-outputs"

// SessionDir returns the session's directory that the environment names, from
// the point of view of dir, or "" where it names none.
func SessionDir(getenv func(string) string, dir string) string {
	named := getenv("HANDOFF_SESSION_DIR")
	if named == "" && piRun(getenv) != "" {
		named = getenv("PI_ARTIFACT_SESSION_DIR")
	}
	if named == "" {
		return ""
	}
	return under(dir, named)
}

// SessionDir returns where a session's directory lies unless the environment
// says otherwise: in the main worktree, so that recycling a linked one loses
// nothing.
func (w Workspace) SessionDir(session string) string {
	base := w.Worktree("")
	if base == "" {
		base = w.Runtime // of a bare repository
	}
	return filepath.Join(base, filepath.FromSlash(outputs), session)
}

// piRun returns the run that pi's variables name. They count only together.
func piRun(getenv func(string) string) string {
	if getenv("PI_ARTIFACT_SESSION_DIR") == "" {
		return ""
	}
	return getenv("PI_ARTIFACT_RUN_ID")
}

// Warnings returns what is wrong with how the environment names a run.
func Warnings(getenv func(string) string) []string {
	id, dir := getenv("PI_ARTIFACT_RUN_ID"), getenv("PI_ARTIFACT_SESSION_DIR")
	if (id == "") != (dir == "") {
		return []string{"PI_ARTIFACT_RUN_ID and PI_ARTIFACT_SESSION_DIR count only together; the one that is set is ignored"}
	}
	return nil
}
