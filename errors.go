package handoff

import "cmp"

// A Kind classifies errors. It is itself an error: errors.Is(err,
// handoff.NotFound) works through any wrapping.
type Kind string

// The kinds. An error without a kind is a bug or an unexpected error of the
// system.
const (
	Invalid     Kind = "invalid"       // usage error, or invalid input
	NotFound    Kind = "not found"     // it does not exist
	Conflict    Kind = "conflict"      // it already exists, or several match
	Unavailable Kind = "unavailable"   // it exists, but can't be reached now
	Corrupt     Kind = "corrupt"       // handoff's own data is damaged
	Unsupported Kind = "not supported" // this backend or provider can't do it
)

func (k Kind) Error() string { return string(k) }

// An Error is a failed operation. Its text is "operation subject: reason", in
// lower case.
type Error struct {
	Op   string // the operation: "publish"
	Name string // the subject: a path, an ID
	Kind Kind
	Err  error // the reason; if nil, Kind is the reason
	Hint Hint  // a suggestion that destroys no data

	Details []string // the single problems, where the reason counts them
}

// E returns the *Error of a failed operation: every package of handoff makes its
// errors with it. A nil reason means that kind is the reason. An error has at
// most one hint.
func E(op, name string, kind Kind, reason error, hint ...Hint) *Error {
	e := &Error{Op: op, Name: name, Kind: kind, Err: reason}
	if len(hint) > 0 {
		e.Hint = hint[0]
	}
	return e
}

func (e *Error) Error() string {
	space, colon := " ", ": "
	if e.Op == "" || e.Name == "" {
		space = ""
	}
	if e.Op == "" && e.Name == "" {
		colon = ""
	}
	return e.Op + space + e.Name + colon + cmp.Or(e.Err, error(e.Kind)).Error()
}

// Unwrap returns the kind and the reason.
func (e *Error) Unwrap() []error {
	var errs []error
	if e.Kind != "" {
		errs = append(errs, e.Kind)
	}
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	return errs
}
