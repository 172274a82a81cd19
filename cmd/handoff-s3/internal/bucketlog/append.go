package bucketlog

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sync"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/remote"
)

// write adds records in one object and returns the number of the first.
func (l *Log) write(ctx context.Context, batch []remote.Entry) (handoff.Seq, error) {
	p, err := l.writable(ctx)
	var tries remote.Tries
	for err == nil {
		h := header{Log: p.Log, Number: p.Number + 1, First: p.Last + 1}
		var content []byte
		if content, err = encode(h, batch); err != nil {
			return 0, err
		}
		etag, created := l.b.create(ctx, keyOf(h.Number), content)
		if created == nil {
			l.advance(position{Number: h.Number, Log: h.Log, Last: h.First + handoff.Seq(len(batch)) - 1, ETag: etag})
			return h.First, nil
		}
		if err := tries.Pause(ctx); err != nil {
			return 0, err
		}
		stored, missing, lookup := l.stored(ctx, h.Number, content)
		switch {
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case stored:
			l.fresh.Clear()
			return h.First, nil
		case lookup != nil: // both requests were repeated
			return 0, lookup
		case missing:
			err = tries.Failed(failed(created))
		default: // another writer has the number
			l.fresh.Clear()
			if err = tries.Lost(l.b.location); err == nil {
				p, err = l.next(ctx, p)
			}
		}
	}
	return 0, err
}

// failed returns the error of an append whose object could not be created.
func failed(created error) error {
	if errors.Is(created, errExists) {
		return handoff.E("append", "", handoff.Unavailable,
			errors.New("the store reports a conflict about an object that does not exist"), handoff.Advice("try again"))
	}
	return created
}

// next returns the newest position after a race, with the ID of a log that another
// writer has just started.
func (l *Log) next(ctx context.Context, p position) (position, error) {
	found, err := l.newest(ctx)
	if err == nil && found.Number == 0 {
		found.Log = p.Log
	}
	return found, err
}

// stored reports whether an object has the given content: the reply to a request
// that was successful may have been lost. Otherwise it reports whether the object
// is missing.
func (l *Log) stored(ctx context.Context, number int64, content []byte) (stored, missing bool, err error) {
	found, err := l.b.get(ctx, keyOf(number), maxObject)
	if errors.Is(err, errMissing) {
		return false, true, nil
	}
	return err == nil && bytes.Equal(found, content), false, err
}

// advance notes an object that was created.
func (l *Log) advance(p position) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.Number > l.known.Number {
		p.Tried = l.known.Tried
		l.known = p
		l.store()
	}
}

// writable returns the newest position of a log that can be appended to: it has an
// ID, and the store honours the condition.
func (l *Log) writable(ctx context.Context) (position, error) {
	p, err := l.own(ctx)
	if err != nil {
		return p, err
	}
	if !p.Tried {
		if err := l.try(ctx); err != nil {
			return p, err
		}
		l.mu.Lock()
		l.known.Tried = true
		l.store()
		l.mu.Unlock()
	}
	if p.Log == "" {
		var id [idSize]byte
		if _, err := io.ReadFull(l.o.Rand, id[:]); err != nil {
			return p, err
		}
		p.Log = hex.EncodeToString(id[:])
	}
	return p, nil
}

// keyForm matches the keys of logs under any prefix: one may begin with another.
var keyForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|/)(` + logPrefix + `[0-9]{12}|` + bodyPrefix + `[0-9a-f]{2}/[0-9a-f]{62}|` +
		trialPrefix + `[0-9a-f]+-[12]|` + claimPrefix + `[0-9a-f]+)$`)
})

// own returns the newest position. The prefix of a log that does not exist yet must
// have no object of another program: its kind is then Invalid.
func (l *Log) own(ctx context.Context) (position, error) {
	p, err := l.newest(ctx)
	if err != nil || p.Number > 0 {
		return p, err
	}
	return p, l.b.list(ctx, "", "", func(o object) error {
		if keyForm().MatchString(l.b.prefix + o.key) {
			return nil
		}
		return handoff.E("create log", l.b.location, handoff.Invalid,
			fmt.Errorf("belongs to another program: it contains %q", o.key),
			handoff.Advice("name a prefix of its own, as in s3://bucket/handoff; the objects are left as they are"))
	})
}

// try creates trial objects: an object that exists must not be created again, and
// of two requests at once one must fail. Some stores accept the condition and
// ignore it; two writers would then have the same number. Kind: Unsupported.
func (l *Log) try(ctx context.Context) error {
	var id [idSize]byte
	if _, err := io.ReadFull(l.o.Rand, id[:]); err != nil {
		return err
	}
	unsupported := func(reason string) error {
		return handoff.E("open log", l.b.location, handoff.Unsupported, errors.New(reason),
			handoff.Advice("use a store that supports conditional writes (If-None-Match), or a log in git"))
	}
	key := trialPrefix + hex.EncodeToString(id[:])
	defer l.b.discard(context.WithoutCancel(ctx), key+"-1", key+"-2")
	switch _, err := l.b.create(ctx, key+"-1", []byte("1")); {
	case errors.Is(err, errExists): // the reply to an earlier try was lost
	case err != nil:
		return err
	}
	switch _, err := l.b.create(ctx, key+"-1", []byte("2")); {
	case err == nil:
		return unsupported("the store ignores the condition If-None-Match: it replaced an object")
	case !errors.Is(err, errExists):
		return err
	}
	var wg sync.WaitGroup
	errs := make([]error, 2)
	for i := range errs {
		wg.Go(func() { _, errs[i] = l.b.create(ctx, key+"-2", fmt.Append(nil, i)) })
	}
	wg.Wait()
	switch {
	case errs[0] == nil && errs[1] == nil:
		return unsupported("the store ignores the condition If-None-Match of two requests at once")
	case errs[0] == nil || errs[1] == nil || errors.Is(errors.Join(errs...), errExists): // a reply may be lost
		return nil
	}
	return errs[0]
}
