package contract

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
)

// maxIssue is the maximum length of an issue ID, in bytes. It leaves room for
// the suffix of an archived run.
const maxIssue = 200

// CheckIssue returns an error of kind Invalid if an ID can't name a run and its
// folder. An ID consists of letters, digits, dots, dashes and underscores and
// starts with a letter or digit. The names of the folder of archived runs, of files
// and of devices of Windows are reserved, in any case.
func CheckIssue(id string) error {
	var reason string
	switch {
	case id == "":
		reason = "ID is empty"
	case len(id) > maxIssue:
		reason, id = fmt.Sprintf("ID has %d bytes, more than %d", len(id), maxIssue), id[:16]+"…"
	case !isPlain(id):
		reason, id = `ID may contain only letters, digits, ".", "-" and "_", and must start with a letter or digit`,
			fmt.Sprintf("%q", id)
	case strings.EqualFold(id, Completed), isDevice(id):
		reason = "ID is reserved"
	case hasSuffixFold(id, ".json"), hasSuffixFold(id, ".yaml"):
		reason = "ID is that of a file"
	default:
		return nil
	}
	return handoff.E("issue", id, handoff.Invalid, errors.New(reason), handoff.Advice("use an ID such as 42 or PROJ-7"))
}

// numberMark separates the ID of an issue, which can't have it, from the number of a
// later archived run.
const numberMark = "~"

// ArchivedName returns the name of the nth archived run of an issue, from 1.
func ArchivedName(issue string, n int) string {
	if n == 1 {
		return issue
	}
	return fmt.Sprint(issue, numberMark, n)
}

// IssueOf returns the issue of an archived run by its name: 42 for 42~2.
func IssueOf(name string) string {
	issue, number, ok := strings.Cut(name, numberMark)
	if ok && number != "" && strings.Trim(number, "0123456789") == "" {
		return issue
	}
	return name
}

func hasSuffixFold(s, suffix string) bool {
	return len(s) >= len(suffix) && strings.EqualFold(s[len(s)-len(suffix):], suffix)
}

// isDevice reports whether Windows takes a name for that of a device, with any
// extension.
func isDevice(name string) bool {
	base, _, _ := strings.Cut(strings.ToUpper(name), ".")
	if len(base) == 4 && base[3] >= '1' && base[3] <= '9' {
		return base[:3] == "COM" || base[:3] == "LPT"
	}
	return slices.Contains([]string{"CON", "PRN", "AUX", "NUL"}, base)
}
