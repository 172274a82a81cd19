// Package folder creates, finds and locks the folders of pipeline runs.
package folder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/tool/durable"
)

// Complexities are the valid complexities of an issue.
var Complexities = []string{"trivial", "standard", "complex"}

// Init creates the folder of a run, unless it exists, and returns its path. With
// a complexity it also creates state.yaml, which must not exist. Its kinds are
// Invalid, Conflict and Unavailable.
func Init(workspace *os.Root, issue, complexity string) (string, error) {
	if err := contract.CheckIssue(issue); err != nil {
		return "", err
	}
	name := path.Join(contract.Folder, issue)
	initError := func(kind handoff.Kind, err error, hint string) error {
		return handoff.E("init", name, kind, err, handoff.Advice(hint))
	}
	if complexity != "" && !slices.Contains(Complexities, complexity) {
		return "", initError(handoff.Invalid, fmt.Errorf("invalid complexity %q", complexity),
			"use "+strings.Join(Complexities, ", "))
	}
	if err := workspace.MkdirAll(name, 0o777); err != nil {
		return "", initError(handoff.Unavailable, durable.Reason(err), WritableHint)
	}
	if complexity == "" {
		return name, nil
	}
	err := durable.Create(workspace, path.Join(name, contract.StateFile), func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "issue: %q\nstatus: in_progress\ncurrent_stage: triage\ncomplexity: %s\n", issue, complexity)
		return err
	})
	if errors.Is(err, fs.ErrExist) {
		return "", initError(handoff.Conflict, fmt.Errorf("%s exists", contract.StateFile),
			"set complexity: "+complexity+" in that file")
	}
	if err != nil {
		return "", initError(handoff.Unavailable, durable.Reason(err), WritableHint)
	}
	return name, nil
}

// WritableHint is the advice for a failed write.
const WritableHint = "make " + contract.Folder + " writable and check that the disk has free space"

// Exists reports whether an issue has a run that is not archived, in the
// directory that contains .pipeline.
func Exists(dir, issue string) bool {
	info, err := os.Lstat(filepath.Join(dir, contract.Folder, issue))
	return contract.CheckIssue(issue) == nil && err == nil && info.IsDir()
}

// IsArchived reports whether a directory has the folder of an archived run, by its name: 42,
// 42~2 or completed/42.
func IsArchived(dir, name string) bool {
	name = strings.TrimPrefix(name, contract.Completed+"/")
	info, err := os.Lstat(filepath.Join(dir, contract.Folder, contract.Completed, name))
	issue := contract.IssueOf(name)
	return contract.CheckIssue(issue) == nil && err == nil && info.IsDir()
}

// Open returns the issues that have a run that is not archived, sorted.
func Open(workspace *os.Root) []string {
	return runs(workspace, contract.Folder, func(name string) string { return name })
}

// Archived returns the names of the folders of archived runs, sorted.
func Archived(workspace *os.Root) []string {
	return runs(workspace, path.Join(contract.Folder, contract.Completed), contract.IssueOf)
}

// runs returns the folders in dir that are named after an issue.
func runs(workspace *os.Root, dir string, issue func(name string) string) []string {
	entries, _ := fs.ReadDir(workspace.FS(), dir)
	var names []string
	for _, e := range entries {
		if e.IsDir() && contract.CheckIssue(issue(e.Name())) == nil {
			names = append(names, e.Name())
		}
	}
	return names
}

// HasArchive reports whether any run was archived.
func HasArchive(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, contract.Folder, contract.Completed))
	return err == nil
}

// OpenFile opens a regular file in the folder of a run and returns its path,
// relative to dir.
func OpenFile(dir, issue, name string) (f *os.File, file string, err error) {
	if err := contract.CheckIssue(issue); err != nil {
		return nil, "", err
	}
	if !fs.ValidPath(name) {
		return nil, "", fs.ErrInvalid
	}
	root, err := os.OpenRoot(filepath.Join(dir, contract.Folder, issue))
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	info, err := root.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		return nil, "", err
	}
	f, err = root.Open(name)
	return f, path.Join(contract.Folder, issue, name), err
}
