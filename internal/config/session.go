package config

import (
	"cmp"

	"github.com/agent-handoff/handoff"
)

// SessionDir returns the session directory that the environment names, relative
// to dir and without symbolic links, or "" if it names none.
func SessionDir(getenv func(string) string, dir string) string {
	named := getenv("HANDOFF_SESSION_DIR")
	if named == "" && piRun(getenv) != "" {
		named = getenv("PI_ARTIFACT_SESSION_DIR")
	}
	if named == "" {
		return ""
	}
	return resolve(under(dir, named))
}

// Home returns the directory that contains the folders of sessions: the main
// worktree, so that recycling a linked one loses nothing, or the directory of a
// bare repository.
func (w Workspace) Home() string { return cmp.Or(w.Worktree(""), w.common) }

// ProjectRoot returns the value of {project-root} in the path of a session's
// folder. It is inside Home.
func (w Workspace) ProjectRoot() string {
	return cmp.Or(w.Worktree(""), gitDir{common: w.common}.runtime())
}

// piRun returns the run that pi's variables name. One alone is ignored.
func piRun(getenv func(string) string) string {
	if getenv("PI_ARTIFACT_SESSION_DIR") == "" {
		return ""
	}
	return getenv("PI_ARTIFACT_RUN_ID")
}

// Warnings returns the problems with the variables that name a run or a thread.
func Warnings(getenv func(string) string) (list []string) {
	if handoff.CheckThread(getenv("HANDOFF_THREAD")) != nil {
		list = append(list, "HANDOFF_THREAD is not a URI, and is ignored")
	}
	id, dir := getenv("PI_ARTIFACT_RUN_ID"), getenv("PI_ARTIFACT_SESSION_DIR")
	if (id == "") != (dir == "") {
		list = append(list, "PI_ARTIFACT_RUN_ID and PI_ARTIFACT_SESSION_DIR must both be set; the one that is set is ignored")
	}
	return list
}
