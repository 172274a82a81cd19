package pipeline

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
)

// complexities are what a planner may say of an issue.
var complexities = []string{"trivial", "standard", "complex"}

// Init makes a run's folder below the workspace; that it is there already is no
// error. With a complexity it also writes state.yaml, which must not exist. It
// returns the folder's path. Its kinds are Invalid, Conflict and Unavailable.
func Init(workspace *os.Root, issue, complexity string) (string, error) {
	if err := contract.CheckIssue(issue); err != nil {
		return "", err
	}
	name := path.Join(Folder, issue)
	initError := func(kind handoff.Kind, err error, hint string) error {
		return &handoff.Error{Op: "init", Name: name, Kind: kind, Err: err, Hint: handoff.Advice(hint)}
	}
	if complexity != "" && !slices.Contains(complexities, complexity) {
		return "", initError(handoff.Invalid, fmt.Errorf("%q is no complexity", complexity), "they are "+strings.Join(complexities, ", "))
	}
	if err := workspace.MkdirAll(name, 0o777); err != nil {
		return "", initError(handoff.Unavailable, err, "")
	}
	if complexity == "" {
		return name, nil
	}
	dir, err := workspace.OpenRoot(name)
	if err != nil {
		return "", initError(handoff.Unavailable, err, "")
	}
	defer dir.Close()
	err = writeNew(dir, contract.StateFile, fmt.Appendf(nil, "issue: %q\nstatus: in_progress\ncurrent_stage: triage\ncomplexity: %s\n", issue, complexity))
	if errors.Is(err, fs.ErrExist) {
		return "", initError(handoff.Conflict, errors.New("has a state.yaml already"), "write complexity: "+complexity+" into it")
	}
	if err != nil {
		return "", initError(handoff.Unavailable, err, "")
	}
	return name, nil
}

// writeNew writes a file that must not exist yet, whole or not at all.
func writeNew(dir *os.Root, name string, b []byte) error {
	temporary := fmt.Sprintf(".%s.%d.tmp", name, os.Getpid())
	f, err := dir.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer dir.Remove(temporary)
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := dir.Link(temporary, name); err != nil {
		return err
	}
	at, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer at.Close()
	return at.Sync()
}
