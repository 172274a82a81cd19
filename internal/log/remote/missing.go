package remote

import (
	"errors"

	"github.com/agent-handoff/handoff"
)

// A MissingError is the reason why there is no log at a location: nothing was reached
// that could be a log at another time. It is wrapped in an error of kind NotFound or
// Invalid.
type MissingError struct{ Reason string }

// Error implements error.
func (e *MissingError) Error() string { return e.Reason }

// BodyError returns an error about a body. If there is no log at the location, its kind is
// Unavailable: NotFound would mean that the body is lost.
func BodyError(op string, d handoff.Digest, err error) error {
	if missing := (*MissingError)(nil); errors.As(err, &missing) {
		return handoff.E(op, d.Value, handoff.Unavailable, err, handoff.Advice("check the location of the log"))
	}
	return err
}
