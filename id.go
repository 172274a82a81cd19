package handoff

import (
	"encoding/binary"
	"io"
	"time"
)

// crockford is the alphabet of a ULID: base 32 without I, L, O and U.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// artifactPrefix begins the ID of every artifact; 26 characters follow.
const artifactPrefix = "art_"

// newID returns prefix and a ULID: 48 bits of Unix time in milliseconds, then 80
// random bits. Ids therefore sort roughly by time.
func newID(prefix string, now time.Time, random io.Reader) (string, error) {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16)
	if _, err := io.ReadFull(random, b[6:]); err != nil {
		return "", err
	}
	hi, lo := binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
	var text [26]byte
	for i := len(text) - 1; i >= 0; i-- {
		text[i] = crockford[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return prefix + string(text[:]), nil
}

// IsArtifactID reports whether s has the form of an artifact's ID.
func IsArtifactID(s string) bool {
	return len(s) == len(artifactPrefix)+26 && IsArtifactIDPrefix(s)
}

// IsArtifactIDPrefix reports whether s has the form of a prefix of an artifact's
// ID and is longer than the prefix that all IDs share.
func IsArtifactIDPrefix(s string) bool {
	if len(s) <= len(artifactPrefix) || s[:len(artifactPrefix)] != artifactPrefix {
		return false
	}
	for _, c := range []byte(s[len(artifactPrefix):]) {
		if !isCrockford(c) {
			return false
		}
	}
	return true
}

func isCrockford(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' && c != 'I' && c != 'L' && c != 'O' && c != 'U'
}
