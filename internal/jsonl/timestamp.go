package jsonl

import "time"

// Timestamp returns the time v in UTC: a number of seconds or milliseconds since 1970,
// or a text as in Time. It returns the zero time for 0 and for anything else.
func (v Value) Timestamp() time.Time {
	const seconds = 1e11 // greater numbers are milliseconds
	switch n := v.Int(); {
	case n <= 0:
		return v.Time().UTC()
	case n < seconds:
		return time.Unix(n, 0).UTC()
	default:
		return time.UnixMilli(n).UTC()
	}
}
