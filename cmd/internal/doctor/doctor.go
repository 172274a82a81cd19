// Package doctor finds what prevents handoff from working on this machine and in the
// workspace of a directory, and how to repair it. It repairs nothing.
package doctor

import (
	"context"
	"errors"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/setup"
	"github.com/agent-handoff/handoff/workspace"
)

// A Severity says how bad a Finding is.
type Severity string

// The severities.
const (
	Problem Severity = "problem" // something does not work
	Warning Severity = "warning" // something may not work, or not as expected
)

// A Finding is one thing that is wrong.
type Finding struct {
	Check    string // one of Checks
	Severity Severity
	Text     string
	Repair   handoff.Hint // zero if the text says what to do
}

// A Machine is what is examined.
type Machine struct {
	Self     string // path of this program
	Dir      string // where the user works
	Getenv   func(string) string
	LookPath func(program string) string // the file that a shell starts, "" for none
	Target   setup.Target                // of the user
	State    string                      // the directory of the user's state
	Options  workspace.Options
}

// A check looks at one subject.
type check struct {
	name string
	find func(context.Context, *Machine, *findings)
}

// checks are all checks, in the order of the report.
var checks = []check{
	{"path", findPath},
	{"directories", findDirectories},
	{"programs", findPrograms},
	{"threads", findThreads},
	{"workspace", findWorkspace},
	{"environment", findEnvironment},
}

// Checks returns the names of all checks.
func Checks() []string {
	var names []string
	for _, c := range checks {
		names = append(names, c.name)
	}
	return names
}

// Examine returns what is wrong, in the order of Checks. It writes nothing but a
// temporary file in each directory of handoff, or where it would be created.
func Examine(ctx context.Context, m Machine) []Finding {
	var f findings
	for _, c := range checks {
		f.check = c.name
		c.find(ctx, &m, &f)
	}
	return f.list
}

// findings collects what the checks find.
type findings struct {
	check string
	list  []Finding
}

func (f *findings) add(s Severity, text string, repair handoff.Hint) {
	f.list = append(f.list, Finding{f.check, s, text, repair})
}

func (f *findings) problem(text string, repair handoff.Hint) { f.add(Problem, text, repair) }
func (f *findings) warn(text string, repair handoff.Hint)    { f.add(Warning, text, repair) }

// fail adds an error with its own hint.
func (f *findings) fail(err error) { f.problem(err.Error(), hintOf(err)) }

// hintOf returns the hint of an error, the zero value if it has none.
func hintOf(err error) handoff.Hint {
	var known *handoff.Error
	if errors.As(err, &known) {
		return known.Hint
	}
	return handoff.Hint{}
}
