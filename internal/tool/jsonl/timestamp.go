package jsonl

import "time"

// Encodable returns t, the zero time if a number of nanoseconds or JSON can't express it
// in UTC: if its year is before 1678 or after 2261.
func Encodable(t time.Time) time.Time {
	if y := t.UTC().Year(); y < 1678 || y > 2261 {
		return time.Time{}
	}
	return t
}

// Milliseconds returns the time of a number of milliseconds since 1970, in UTC. It
// returns the zero time for 0, for negative numbers, and for a time after 2261.
func Milliseconds(n int64) time.Time {
	if n <= 0 {
		return time.Time{}
	}
	return Encodable(time.UnixMilli(n).UTC())
}

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
		return Milliseconds(n)
	}
}
