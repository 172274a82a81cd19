package gitlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/remote"
)

// bodies are the bodies in the commits of a log.
type bodies struct{ log *Log }

// Put implements remote.Store. The body is pushed with its record.
func (b bodies) Put(_ context.Context, d handoff.Digest, size int64, _ io.ReadSeeker) error {
	if size <= b.log.o.MaxBody {
		return nil
	}
	return handoff.E("store body", d.Value, handoff.Invalid,
		fmt.Errorf("has %d bytes; a log in git takes bodies of up to %d", size, b.log.o.MaxBody),
		handoff.Advice("publish it without a copy, set max_body in the location of the log, or use a log in a bucket"))
}

// find returns the blob of a body, "" if no commit has it.
func (b bodies) find(ctx context.Context, d handoff.Digest) (r *repository, blob string, err error) {
	r, tip, err := b.log.tip(ctx)
	if errors.Is(err, handoff.Unavailable) && r != nil { // what was fetched can still be read
		if known, failed := r.verified(); failed == nil && known.id != "" {
			tip, err = known, nil
		}
	}
	if err != nil || tip.id == "" {
		return r, "", remote.BodyError("read body", d, err)
	}
	// The commit that has the body, and the next one, which does not.
	printed, err := r.git(ctx, nil, "rev-list", "--first-parent", "--full-history", "--max-count=2", tip.id, "--",
		d.Value)
	for _, id := range strings.Fields(printed) {
		if err == nil && blob == "" {
			printed, err = r.git(ctx, nil, "ls-tree", id, "--", d.Value)
			if f := strings.Fields(printed); len(f) == 4 && f[0] == regularMode {
				blob = f[2]
			}
		}
	}
	return r, blob, err
}

// Has implements remote.Store.
func (b bodies) Has(ctx context.Context, d handoff.Digest) (bool, error) {
	_, blob, err := b.find(ctx, d)
	return blob != "", err
}

// Open implements remote.Store.
func (b bodies) Open(ctx context.Context, d handoff.Digest) (io.ReadCloser, error) {
	r, blob, err := b.find(ctx, d)
	if err == nil && blob == "" {
		err = handoff.E("read body", d.Value, handoff.NotFound, errors.New("not stored"))
	}
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	c := r.command(ctx, "cat-file", "blob", blob)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		stop()
		return nil, r.failure("git cat-file", err)
	}
	return &blobReader{out, func() { stop(); _ = c.Wait() }}, nil
}

// A blobReader reads what a git process prints.
type blobReader struct {
	io.Reader
	stop func()
}

// Close implements io.Closer.
func (b *blobReader) Close() error { b.stop(); return nil }
