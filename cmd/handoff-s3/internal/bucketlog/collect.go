package bucketlog

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"iter"
	"strings"
	"sync/atomic"
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
// a removal takes if there is a claim, and sends a body that is gone again. A claim is released
// only if every removal is known to have ended.
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

// A claim is what a machine knows of its own claim.
type claim struct {
	since  atomic.Int64 // by the Date of the store, in seconds; 0 if it sends none
	unsure atomic.Bool  // a removal failed, and may be carried out later
}

// Remove implements handoff.BodyRemover. The caller has a claim.
func (s bodies) Remove(ctx context.Context, d handoff.Digest, before time.Time) (bool, error) {
	limited, cancel := context.WithTimeout(ctx, s.removalTime())
	defer cancel()
	info, err := s.b.core.Client.StatObject(limited, s.b.name, s.b.prefix+bodyKey(d), minio.StatObjectOptions{})
	if isMissing(err) || (err == nil && !info.LastModified.Before(before)) {
		return false, nil
	}
	// The timer of the context stands still while a machine sleeps.
	since := s.b.claim.since.Load()
	if err == nil && since > 0 && s.b.clock.latest.Load()-since > int64((claimTime-claimMargin).Seconds()) {
		return false, handoff.E("collect body", d.Value, handoff.Unavailable,
			errors.New("the claim of this machine has expired"),
			handoff.Advice("run it again: it continues with what is left"))
	}
	if err == nil {
		err = s.b.core.Client.RemoveObject(limited, s.b.name, s.b.prefix+bodyKey(d), minio.RemoveObjectOptions{})
		if status := minio.ToErrorResponse(err).StatusCode; err != nil && (status < 400 || status >= 500) {
			s.b.claim.unsure.Store(true)
		}
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
	s.b.claim.unsure.Store(false)
	release = func() {
		cancel()
		if !s.b.claim.unsure.Load() {
			s.b.discard(context.WithoutCancel(ctx), key)
		}
	}
	if _, err = s.b.create(ctx, key, []byte("1")); err != nil && !errors.Is(err, errExists) {
		release()
		return nil, now, nil, err
	}
	s.b.claim.since.Store(s.b.clock.latest.Load())
	claims, err := s.claims(ctx)
	if now = claims[key]; err == nil && now.IsZero() {
		err = handoff.E("collect", s.b.location, handoff.Unavailable,
			errors.New("the store does not list what was created"), handoff.Advice("try again"))
	}
	for other, at := range claims {
		switch {
		case err != nil || other == key:
		case at.Add(claimTime).Before(now):
			s.b.discard(ctx, other) // of a process that was killed
		default:
			err = handoff.E("collect", s.b.location, handoff.Conflict,
				errors.New("another machine collects its bodies"), handoff.Advice("try again in ten minutes"))
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
	if err != nil {
		return false, err
	}
	sent, err := s.stat(ctx, d) // a claim that was released may have removed it; a later one finds a young body
	if err != nil || sent.IsZero() || len(claims) == 0 {
		return err == nil && sent.IsZero(), err
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
