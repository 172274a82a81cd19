package contract

import (
	"errors"
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff"
)

// maxIssue is the maximum length of an issue ID, in bytes. It leaves room for
// the suffix of an archived run.
const maxIssue = 200

// CheckIssue returns an error of kind Invalid if an ID can't name a run and its
// folder. An ID consists of letters, digits, dots, dashes and underscores and
// starts with a letter or digit. The names of files beside the runs are
// reserved, in any case.
func CheckIssue(id string) error {
	var reason string
	switch {
	case id == "":
		reason = "ID is empty"
	case len(id) > maxIssue:
		reason, id = fmt.Sprintf("ID has %d bytes, more than %d", len(id), maxIssue), id[:16]+"…"
	case !isPlain(id):
		reason, id = `ID may contain only letters, digits, ".", "-" and "_", and must start with a letter or digit`, fmt.Sprintf("%q", id)
	case strings.EqualFold(id, Completed), strings.EqualFold(id, Lessons):
		reason = "ID is reserved"
	default:
		return nil
	}
	return &handoff.Error{Op: "issue", Name: id, Kind: handoff.Invalid, Err: errors.New(reason), Hint: handoff.Advice("use an ID such as 42 or PROJ-7")}
}
