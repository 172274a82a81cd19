package config

import (
	"cmp"

	"github.com/agent-handoff/handoff"
)

// SessionDir returns the session directory that the environment names, relative
// to dir and without symbolic links, or "" if it names none.
func SessionDir(getenv func(string) string, dir string) string {
	_, named := run(getenv)
	if named == "" {
		return ""
	}
	return Resolve(under(dir, named))
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

// run returns the run and the session directory that the environment names. handoff
// run exports both in its own words and in pi's: if pi's variables say something
// else, a program inside has set them since, and they count.
func run(getenv func(string) string) (id, dir string) {
	id, dir = getenv("HANDOFF_RUN"), getenv("HANDOFF_SESSION_DIR")
	pi, piDir := getenv("PI_ARTIFACT_RUN_ID"), getenv("PI_ARTIFACT_SESSION_DIR")
	switch {
	case pi == "" || piDir == "": // one alone is ignored
		return id, dir
	case dir == "":
		return cmp.Or(id, pi), piDir
	case pi != cmp.Or(id, getenv("HANDOFF_SESSION")) || piDir != dir:
		return pi, piDir
	}
	return id, dir
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
