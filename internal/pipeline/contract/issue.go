package contract

import (
	"errors"
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff"
)

// maxIssue is the length of the longest issue id, in bytes. It leaves room for
// the suffix that an archived run may get.
const maxIssue = 200

// CheckIssue reports whether an id can name a run and its folder: letters,
// digits, dots, dashes and underscores, a letter or digit first, and none of the
// names that lie beside the runs, in any case. Its kind is Invalid.
func CheckIssue(id string) error {
	var reason string
	switch {
	case id == "":
		reason = "is empty"
	case len(id) > maxIssue:
		reason, id = fmt.Sprintf("has %d bytes, more than %d", len(id), maxIssue), id[:16]+"…"
	case !isPlain(id):
		reason, id = "has other characters than letters, digits, dots, dashes and underscores, or begins with one of the last three", fmt.Sprintf("%q", id)
	case strings.EqualFold(id, Completed), strings.EqualFold(id, Lessons):
		reason = "is a name that lies beside the runs"
	default:
		return nil
	}
	return &handoff.Error{Op: "issue", Name: id, Kind: handoff.Invalid, Err: errors.New(reason), Hint: handoff.Advice("write an id such as 42 or PROJ-7")}
}
