package handoff

import "cmp"

// A Kind says what sort of error happened, for a program to act upon. It is
// itself an error, so errors.Is(err, handoff.NotFound) works through any
// wrapping.
type Kind string

// The kinds. An error without a kind is a bug, or the machine's.
const (
	Invalid     Kind = "invalid"       // usage error, or invalid input
	NotFound    Kind = "not found"     // it does not exist
	Conflict    Kind = "conflict"      // it already exists, or several match
	Unavailable Kind = "unavailable"   // it exists, but can't be reached now
	Corrupt     Kind = "corrupt"       // handoff's own data is damaged
	Unsupported Kind = "not supported" // this backend or provider can't do it
)

func (k Kind) Error() string { return string(k) }

// An Error reads as one sentence, "operation subject: reason", in lower case.
type Error struct {
	Op   string // what was tried: "publish"
	Name string // on what: a path, an id
	Kind Kind
	Err  error // the reason; the kind serves where it is nil
	Hint Hint  // what to do instead; never something that destroys data
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

// Unwrap makes both the kind and the reason visible to errors.Is and errors.As.
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
