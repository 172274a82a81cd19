// Package remote has what the logs on other machines share: a body store that
// copies the bodies of a remote store to this machine when they are first read.
package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/agent-handoff/handoff"
)

// A Store is a body store on another machine.
type Store interface {
	// Put stores a body of a size. When it returns nil, the body is stored before
	// any record that refers to it. Kinds: Invalid (too large), Unavailable.
	Put(ctx context.Context, d handoff.Digest, size int64, r io.ReadSeeker) error

	// Open opens a body, which is not verified. Kinds: NotFound, Unavailable.
	Open(ctx context.Context, d handoff.Digest) (io.ReadCloser, error)

	// Has reports whether a body is stored. Kind: Unavailable.
	Has(ctx context.Context, d handoff.Digest) (bool, error)
}

// A Collector is a Store whose bodies one machine at a time may list and remove.
type Collector interface {
	handoff.BodyLister
	handoff.BodyRemover

	// Claim makes this machine the one that may remove bodies, until release is called or
	// claimed ends, which is when the claim expires. now is the time of the store. Kinds:
	// Conflict (another machine has the claim), Unavailable.
	Claim(ctx context.Context) (claimed context.Context, now time.Time, release func(), err error)
}

// A Local is the body store of this machine.
type Local interface {
	handoff.Bodies
	handoff.BodyChecker
	handoff.BodyLister
	handoff.Repairer
}

// Bodies are the bodies of a remote store and their copies on this machine. What
// they list, check and repair are the copies.
type Bodies struct {
	Local  // Open opens what was fetched
	remote Store
}

var _ handoff.BodyFetcher = (*Bodies)(nil)

// NewBodies returns the bodies of a remote store, with copies in a local one.
func NewBodies(local Local, store Store) *Bodies { return &Bodies{local, store} }

// Collector returns the bodies of the remote store for a collection. Kind: Unsupported.
func (b *Bodies) Collector() (Collector, error) {
	if c, ok := b.remote.(Collector); ok {
		return c, nil
	}
	reason := "the log keeps every body in its history"
	if _, erases := b.remote.(handoff.BodyEraser); erases {
		reason = "the bodies of this kind of log can't be collected"
	}
	return nil, handoff.E("collect", "", handoff.Unsupported, errors.New(reason),
		handoff.Advice("list the copies on this machine"))
}

// Put implements handoff.Bodies. The body is stored on this machine first.
func (b *Bodies) Put(ctx context.Context, r io.Reader) (handoff.Digest, error) {
	d, err := b.Local.Put(ctx, r)
	if err != nil {
		return d, err
	}
	return d, b.Send(ctx, d)
}

// Send stores a body of this machine in the remote store. Kinds: NotFound (it is not
// on this machine), and those of Store.Put.
func (b *Bodies) Send(ctx context.Context, d handoff.Digest) error {
	copied, err := b.Local.Open(ctx, d)
	if err != nil {
		return err
	}
	defer copied.Close()
	size, err := copied.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = copied.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	return b.remote.Put(ctx, d, size, copied)
}

// Erase implements handoff.BodyEraser. The remote store is first, so that a body on this
// machine shows that it is not done.
func (b *Bodies) Erase(ctx context.Context, d handoff.Digest) error {
	local, ok := b.Local.(handoff.BodyEraser)
	if !ok {
		return handoff.E("redact body", d.Value, handoff.Unsupported,
			errors.New("the copies on this machine can't be removed"))
	}
	err := error(handoff.E("redact body", d.Value, handoff.Unsupported,
		errors.New("the log keeps every body in its history")))
	if e, ok := b.remote.(handoff.BodyEraser); ok {
		err = e.Erase(ctx, d)
	}
	if err != nil && !errors.Is(err, handoff.Unsupported) {
		return err
	}
	return errors.Join(err, local.Erase(ctx, d))
}

// Has implements handoff.Bodies.
func (b *Bodies) Has(ctx context.Context, d handoff.Digest) (bool, error) {
	if there, err := b.Local.Has(ctx, d); err != nil || there || !isDigest(d) {
		return there, err
	}
	return b.remote.Has(ctx, d)
}

// Fetched implements handoff.BodyFetcher.
func (b *Bodies) Fetched(ctx context.Context, d handoff.Digest) (bool, error) {
	return b.Local.Has(ctx, d)
}

// Fetch implements handoff.BodyFetcher.
func (b *Bodies) Fetch(ctx context.Context, d handoff.Digest, size int64) error {
	if there, err := b.Local.Has(ctx, d); err != nil || there {
		return err
	}
	if !isDigest(d) {
		return handoff.E("read body", d.Value, handoff.NotFound, errors.New("not stored"))
	}
	r, err := b.remote.Open(ctx, d)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = b.Local.Put(ctx, &verifier{r: r, want: d, size: size, left: size, sum: sha256.New(),
		report: progress(ctx, size)})
	return err
}

// isDigest reports whether a body can have the digest d.
func isDigest(d handoff.Digest) bool {
	if d.Algorithm != handoff.SHA256 || len(d.Value) != 2*sha256.Size {
		return false
	}
	return len(bytes.Trim([]byte(d.Value), "0123456789abcdef")) == 0
}

// A verifier reads a body and fails at its end unless it has the wanted digest,
// and before that if it is larger than it may be.
type verifier struct {
	r    io.Reader
	want handoff.Digest
	size int64 // that its record states
	left int64
	sum  hash.Hash

	report func(done, total int64) // may be nil
}

// Read implements io.Reader.
func (v *verifier) Read(p []byte) (int, error) {
	n, err := v.r.Read(p)
	v.sum.Write(p[:n])
	if v.left -= int64(n); v.left < 0 {
		return 0, v.damaged("is larger than its record states")
	}
	if v.report != nil && n > 0 {
		v.report(v.size-v.left, v.size)
	}
	if err == io.EOF && fmt.Sprintf("%x", v.sum.Sum(nil)) != v.want.Value {
		return 0, v.damaged("the remote copy does not match its digest")
	}
	return n, err
}

func (v *verifier) damaged(reason string) error {
	return handoff.E("read body", v.want.Value, handoff.Corrupt, errors.New(reason),
		handoff.Advice("publish it again on the machine that has the file"))
}
