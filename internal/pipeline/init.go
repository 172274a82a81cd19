package pipeline

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/durable"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
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
	name := path.Join(Folder, issue)
	initError := func(kind handoff.Kind, err error, hint string) error {
		return &handoff.Error{Op: "init", Name: name, Kind: kind, Err: err, Hint: handoff.Advice(hint)}
	}
	if complexity != "" && !slices.Contains(Complexities, complexity) {
		return "", initError(handoff.Invalid, fmt.Errorf("invalid complexity %q", complexity), "use "+strings.Join(Complexities, ", "))
	}
	if err := workspace.MkdirAll(name, 0o777); err != nil {
		return "", initError(handoff.Unavailable, durable.Reason(err), writableHint)
	}
	if complexity == "" {
		return name, nil
	}
	err := durable.Create(workspace, path.Join(name, contract.StateFile), func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "issue: %q\nstatus: in_progress\ncurrent_stage: triage\ncomplexity: %s\n", issue, complexity)
		return err
	})
	if errors.Is(err, fs.ErrExist) {
		return "", initError(handoff.Conflict, fmt.Errorf("%s exists", contract.StateFile), "set complexity: "+complexity+" in that file")
	}
	if err != nil {
		return "", initError(handoff.Unavailable, durable.Reason(err), writableHint)
	}
	return name, nil
}

// writableHint is the advice for a failed write.
const writableHint = "make " + Folder + " writable and check that the disk has free space"
