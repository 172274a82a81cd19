// Package ulid makes unique IDs that sort roughly by time
// (https://github.com/ulid/spec).
package ulid

import (
	"encoding/binary"
	"io"
	"strings"
	"time"
)

// alphabet is base 32 without I, L, O and U, as Crockford defines it.
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// Len is the length of a ULID.
const Len = 26

// New returns a ULID: 48 bits of Unix time in milliseconds, then 80 random bits.
func New(now time.Time, random io.Reader) (string, error) {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16)
	if _, err := io.ReadFull(random, b[6:]); err != nil {
		return "", err
	}
	hi, lo := binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
	var text [Len]byte
	for i := len(text) - 1; i >= 0; i-- {
		text[i] = alphabet[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return string(text[:]), nil
}

// Valid reports whether s consists of characters of a ULID.
func Valid(s string) bool {
	for _, c := range []byte(s) {
		if strings.IndexByte(alphabet, c) < 0 {
			return false
		}
	}
	return true
}
