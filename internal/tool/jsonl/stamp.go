package jsonl

import "time"

// A Stamp keeps the last time stamp of a file as bytes, so that only one of them
// has to be parsed.
type Stamp struct {
	raw [48]byte
	n   int
}

// Set keeps v, unless it is absent or too long.
func (s *Stamp) Set(v Value) {
	if len(v) > 0 && len(v) <= len(s.raw) {
		s.n = copy(s.raw[:], v)
	}
}

// Time returns the time that was set last.
func (s *Stamp) Time() time.Time { return Value(s.raw[:s.n]).Time() }

// MarshalBinary returns the value that was set last.
func (s Stamp) MarshalBinary() ([]byte, error) { return s.raw[:s.n], nil }

// UnmarshalBinary sets what MarshalBinary returned.
func (s *Stamp) UnmarshalBinary(b []byte) error {
	s.n = copy(s.raw[:], b)
	return nil
}
