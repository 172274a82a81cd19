package handoff

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// Bodies stores copies of what artifacts point at, each once, by digest.
type Bodies interface {
	// Put stores the bytes of r. When it returns nil the body is on stable
	// storage. An error of r is returned unchanged, and nothing is stored.
	// Kinds: Corrupt (other bytes are stored under the digest), Unavailable,
	// Unsupported.
	Put(ctx context.Context, r io.Reader) (Digest, error)

	// Open opens a body after verifying its bytes. Kinds: NotFound, Corrupt (its
	// bytes don't match the digest), Unavailable.
	Open(ctx context.Context, d Digest) (io.ReadSeekCloser, error)

	// Has reports whether a body with this digest is stored. It does not read
	// the bytes. Kind: Unavailable.
	Has(ctx context.Context, d Digest) (bool, error)
}

// A FileBody is a reader of a whole regular file. Bodies.Put may clone the file
// on a file system that can, instead of reading r.
type FileBody interface {
	io.Reader
	File() *os.File
}

// A Keep selects the bodies that are kept.
type Keep string

const (
	// regular files of at most KeepLimit bytes; in a linked worktree larger ones and directories
	KeepAuto   Keep = "auto"
	KeepAlways Keep = "always" // every regular file and, if a Draft sets it, a directory
	KeepNever  Keep = "never"
)

// KeepLimit is the size, in bytes, up to which KeepAuto keeps a file.
const KeepLimit = 1 << 20

// BodiesOf returns the digests of the kept bodies that a fact refers to.
func BodiesOf(f Fact) (list []Digest) {
	switch f := f.(type) {
	case *ArtifactPublished:
		if f.Kept {
			list = append(list, Digest{SHA256, f.Digest.Value})
		}
		if f.Tree != nil && f.Tree.Changes != "" {
			list = append(list, Digest{SHA256, f.Tree.Changes})
		}
	case *ArtifactCommented:
		if f.Body.Value != "" {
			list = append(list, Digest{SHA256, f.Body.Value})
		}
	case *BodyRedacted:
		if f.Replacement.Value != "" {
			list = append(list, Digest{SHA256, f.Replacement.Value})
		}
	case *ThreadKept:
		list = append(list, Digest{SHA256, f.Digest.Value})
	}
	return list
}

// Check returns an error of kind Invalid unless k is a constant above or "".
func (k Keep) Check() error {
	switch k {
	case "", KeepAuto, KeepAlways, KeepNever:
		return nil
	}
	return E("keep", fmt.Sprintf("%q", string(k)), Invalid, errors.New("must be auto, always or never"),
		Advice("auto keeps files of up to 1 MiB, always keeps every file, never keeps none"))
}
