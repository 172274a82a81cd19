package handoff

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Bodies keeps copies of what artifacts point at, each once, by its digest.
type Bodies interface {
	// Put keeps what r yields until its end. When it returns nil the body is
	// on stable storage. An error of r's is returned as it is, and nothing is
	// kept. Kinds: Corrupt (what is kept under the digest is something else),
	// Unavailable, Unsupported.
	Put(ctx context.Context, r io.Reader) (Digest, error)

	// Open opens a body that it has verified. Kinds: NotFound, Corrupt (it is
	// not what was kept), Unavailable.
	Open(ctx context.Context, d Digest) (io.ReadSeekCloser, error)

	// Has reports whether there is a body of this digest, without a look at
	// its bytes. Kind: Unavailable.
	Has(ctx context.Context, d Digest) (bool, error)
}

// A Keep says which bodies are kept.
type Keep string

const (
	KeepAuto   Keep = "auto"   // files of at most KeepLimit bytes
	KeepAlways Keep = "always" // every file and, where a Draft says so, the directory
	KeepNever  Keep = "never"
)

// Check returns an error of kind Invalid unless k is one of those, or "".
func (k Keep) Check() error {
	switch k {
	case "", KeepAuto, KeepAlways, KeepNever:
		return nil
	}
	return &Error{Op: "keep", Name: fmt.Sprintf("%q", string(k)), Kind: Invalid, Err: errors.New("is not auto, always or never"),
		Hint: Advice("auto keeps files of up to 1 MiB, always keeps any, never none")}
}

// KeepLimit is the size up to which KeepAuto keeps a file.
const KeepLimit = 1 << 20
