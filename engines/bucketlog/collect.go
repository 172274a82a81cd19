package bucketlog

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/remote"
	"github.com/minio/minio-go/v7"
)

// A machine that removes bodies has a claim: an object that the machines that store bodies
// look for. The times of objects are those of the store.
//
// A body that is stored again is sent again if it is not young, so that it is young
// afterwards, and Remove asks for the time of a body right before it removes it. Between
// these two requests the body may be sent. So Put, after it has sent a body, waits as long as
// a removal takes if there is a claim, and sends a body that is gone again.
const (
	claimPrefix = "claims/"
	claimTime   = 10 * time.Minute // how long a claim counts
	claimMargin = time.Minute      // before its end, nothing is removed anymore
	youngFor    = 12 * time.Hour   // a body that is not older need not be sent again
)

var _ remote.Collector = bodies{}

// List implements handoff.BodyLister.
func (s bodies) List(ctx context.Context) iter.Seq2[handoff.StoredBody, error] {
	return func(yield func(handoff.StoredBody, error) bool) {
		stop := errors.New("stop")
		o := minio.ListObjectsOptions{Prefix: s.b.prefix + bodyPrefix, Recursive: true}
		err := s.b.objects(ctx, o, func(o minio.ObjectInfo) error {
			value := strings.Replace(o.Key[len(s.b.prefix)+len(bodyPrefix):], "/", "", 1)
			d := handoff.Digest{Algorithm: handoff.SHA256, Value: value}
			if len(value) != 64 || bodyKey(d) != o.Key[len(s.b.prefix):] {
				return nil // is no body
			}
			if !yield(handoff.StoredBody{Digest: d, SizeBytes: o.Size, StoredAt: o.LastModified}, nil) {
				return stop
			}
			return nil
		})
		if err != nil && !errors.Is(err, stop) {
			yield(handoff.StoredBody{}, err)
		}
	}
}

// Remove implements handoff.BodyRemover. The caller has a claim.
func (s bodies) Remove(ctx context.Context, d handoff.Digest, before time.Time) (bool, error) {
	limited, cancel := context.WithTimeout(ctx, s.removalTime())
	defer cancel()
	info, err := s.b.core.Client.StatObject(limited, s.b.name, s.b.prefix+bodyKey(d), minio.StatObjectOptions{})
	if isMissing(err) || err == nil && !info.LastModified.Before(before) {
		return false, nil
	}
	if err == nil {
		err = s.b.core.Client.RemoveObject(limited, s.b.name, s.b.prefix+bodyKey(d), minio.RemoveObjectOptions{})
	}
	return err == nil, s.b.failure(ctx, "collect body", d.Value, err)
}

// Claim implements remote.Collector.
func (s bodies) Claim(ctx context.Context) (claimed context.Context, now time.Time, release func(), err error) {
	var id [idSize]byte
	if _, err := io.ReadFull(s.log.o.Rand, id[:]); err != nil {
		return nil, now, nil, err
	}
	key := claimPrefix + hex.EncodeToString(id[:])
	claimed, cancel := context.WithTimeout(ctx, claimTime-claimMargin) // from before the object is created
	release = func() {
		cancel()
		s.b.discard(context.WithoutCancel(ctx), key)
	}
	if _, err = s.b.create(ctx, key, []byte("1")); err != nil && !errors.Is(err, errExists) {
		release()
		return nil, now, nil, err
	}
	claims, err := s.claims(ctx)
	if now = claims[key]; err == nil && now.IsZero() {
		err = handoff.E("collect", s.b.location, handoff.Unavailable, errors.New("the store does not list what was created"),
			handoff.Advice("try again"))
	}
	for other, at := range claims {
		switch {
		case err != nil || other == key:
		case at.Add(claimTime).Before(now):
			s.b.discard(ctx, other) // of a process that was killed
		default:
			err = handoff.E("collect", s.b.location, handoff.Conflict, errors.New("another machine collects its bodies"),
				handoff.Advice("try again in ten minutes"))
		}
	}
	if err != nil {
		release()
	}
	return claimed, now, release, err
}

// claims returns when each claim was created.
func (s bodies) claims(ctx context.Context) (map[string]time.Time, error) {
	list := map[string]time.Time{}
	err := s.b.objects(ctx, minio.ListObjectsOptions{Prefix: s.b.prefix + claimPrefix}, func(o minio.ObjectInfo) error {
		list[o.Key[len(s.b.prefix):]] = o.LastModified
		return nil
	})
	return list, err
}

// isRemoved reports whether a body that was just sent is missing, after the time of a
// removal if another machine collects.
func (s bodies) isRemoved(ctx context.Context, d handoff.Digest) (bool, error) {
	claims, err := s.claims(ctx)
	if err != nil || len(claims) == 0 { // a later claim finds a young body
		return false, err
	}
	sent, err := s.stat(ctx, d)
	if err != nil || sent.IsZero() {
		return sent.IsZero(), err
	}
	counts := false
	for _, at := range claims {
		counts = counts || sent.Before(at.Add(claimTime))
	}
	if !counts {
		return false, nil
	}
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-time.After(s.removalTime() + time.Second):
	}
	sent, err = s.stat(ctx, d)
	return sent.IsZero(), err
}

// removalTime is the most that a removal takes.
func (s bodies) removalTime() time.Duration { return min(10*time.Second, s.b.timeout) }

// stat returns when a body was sent, the zero time if it is not stored.
func (s bodies) stat(ctx context.Context, d handoff.Digest) (time.Time, error) {
	info, err := s.b.stat(ctx, bodyKey(d))
	if errors.Is(err, errMissing) {
		return time.Time{}, nil
	}
	return info.LastModified, err
}
