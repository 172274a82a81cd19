package remote

// A MissingError is the reason why there is no log at a location: nothing was reached
// that could be a log at another time. It is wrapped in an error of kind NotFound or
// Invalid.
type MissingError struct{ Reason string }

// Error implements error.
func (e *MissingError) Error() string { return e.Reason }
