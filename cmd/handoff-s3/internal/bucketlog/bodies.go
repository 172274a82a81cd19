package bucketlog

import (
	"context"
	"errors"
	"io"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/remote"
	"github.com/minio/minio-go/v7"
)

// bodies are the bodies in a bucket.
type bodies struct {
	log *Log
	b   *bucket
}

func bodyKey(d handoff.Digest) string {
	return bodyPrefix + d.Value[:2] + "/" + d.Value[2:]
}

// partSize is the size of the parts in which a large body is sent.
const partSize = 16 << 20

// Put implements remote.Store. A body that is stored with this size and is young is not
// sent again.
func (s bodies) Put(ctx context.Context, d handoff.Digest, size int64, r io.ReadSeeker) error {
	if !s.log.started() {
		if _, err := s.log.own(ctx); err != nil {
			return err
		}
	}
	for {
		stored, err := s.b.stat(ctx, bodyKey(d))
		if err != nil && !errors.Is(err, errMissing) {
			return err
		}
		if err == nil && stored.Size == size && s.b.clock.young(stored.LastModified, youngFor) {
			return nil
		}
		if err := s.send(ctx, d, size, r); err != nil {
			return err
		}
		removed, err := s.isRemoved(ctx, d)
		if err != nil || !removed {
			return err
		}
		if _, err := r.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
}

func (s bodies) send(ctx context.Context, d handoff.Digest, size int64, r io.Reader) error {
	o := minio.PutObjectOptions{
		ContentType: "application/octet-stream", PartSize: partSize, NumThreads: 2,
		// Else it is sent in chunks, which some stores do not decode; a reader verifies the body.
		DisableContentSha256: true,
	}
	_, err := s.b.core.Client.PutObject(ctx, s.b.name, s.b.prefix+bodyKey(d), r, size, o)
	return s.b.failure(ctx, "put body", d.Value, err)
}

// Has implements remote.Store.
func (s bodies) Has(ctx context.Context, d handoff.Digest) (bool, error) {
	_, err := s.b.stat(ctx, bodyKey(d))
	if errors.Is(err, errMissing) {
		return false, nil
	}
	return err == nil, remote.BodyError("find body", d, err)
}

// Open implements remote.Store.
func (s bodies) Open(ctx context.Context, d handoff.Digest) (io.ReadCloser, error) {
	r, err := s.b.open(ctx, bodyKey(d))
	if errors.Is(err, errMissing) {
		return nil, handoff.E("read body", d.Value, handoff.NotFound, errors.New("not stored"))
	}
	return r, remote.BodyError("get body", d, s.b.failure(ctx, "get body", d.Value, err))
}

// Erase implements handoff.BodyEraser. A bucket with versions keeps the deleted one.
func (s bodies) Erase(ctx context.Context, d handoff.Digest) error {
	err := s.b.core.Client.RemoveObject(ctx, s.b.name, s.b.prefix+bodyKey(d), minio.RemoveObjectOptions{})
	return s.b.failure(ctx, "redact body", d.Value, err)
}
