package natslog

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// How often a connection is tried, and the delays between tries of an operation.
const (
	maxConnects = 4
	firstDelay  = 50 * time.Millisecond
	maxDelay    = time.Second

	patience = 400 * time.Millisecond // the delay from which on another server is tried
)

// minVersion is the oldest server that has everything a log needs: messages that are
// stored in batches.
const minMajor, minMinor = 2, 12

// retry runs a request until it succeeds or fails for good, at most for the time of
// the options. Another request of the same operation must have no further effect.
// The error is the context's if it ended, an error of the request that is already a
// handoff.Error, or one of the kinds Unavailable, Invalid (a record is too large)
// and Unsupported (the server is too old).
func (l *Log) retry(ctx context.Context, op string, request func(context.Context, jetstream.JetStream) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, l.o.Timeout)
	defer cancel()
	var last error
	for delay := firstDelay; ; delay = min(2*delay, maxDelay) {
		js, err := l.connect(limited, op)
		if err == nil {
			err = l.try(limited, js, request)
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		}
		if own := (*handoff.Error)(nil); errors.As(err, &own) {
			return err
		}
		if err := l.final(op, err); err != nil {
			return err
		}
		if delay >= patience && (errors.Is(err, jetstream.ErrNoStreamResponse) ||
			errors.Is(err, nats.ErrNoResponders)) {
			l.leave(js)
		}
		if last == nil || limited.Err() == nil {
			last = err
		}
		select {
		case <-limited.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return l.failure(op, handoff.Unavailable, l.unsuccessful(last),
				"check the network and the servers, and try again")
		case <-time.After(delay):
		case <-l.reopened():
		}
	}
}

// leave opens the connection again to another server of the cluster, if there is one: a
// server that was cut off from the others answers that a stream does not respond.
func (l *Log) leave(js jetstream.JetStream) {
	if js != nil && len(js.Conn().Servers()) > 1 {
		_ = js.Conn().ForceReconnect() // the next try reports what is wrong
	}
}

// errNoAnswer is the error of a server that does not answer.
var errNoAnswer = errors.New("no answer")

// unsuccessful returns the reason of an operation that was tried for the time of the
// options.
func (l *Log) unsuccessful(last error) error {
	if errors.Is(last, context.DeadlineExceeded) || errors.Is(last, errNoAnswer) {
		return fmt.Errorf("no answer within %v", l.o.Timeout)
	}
	return fmt.Errorf("no success within %v: %w", l.o.Timeout, last)
}

func (l *Log) reopened() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.back
}

var errLost = errors.New("the connection was lost")

// try runs one request, which ends when the connection is lost. A server that does
// not answer is left for another one of the cluster.
func (l *Log) try(ctx context.Context, js jetstream.JetStream,
	request func(context.Context, jetstream.JetStream) error) error {
	limited, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	l.mu.Lock()
	lost := l.lost
	l.denied = nil
	l.mu.Unlock()
	done := make(chan error, 1)
	go func() { done <- request(limited, js) }()
	var err error
	select {
	case err = <-done:
	case <-lost:
		cancel()
		if err = <-done; errors.Is(err, context.Canceled) {
			err = errLost
		}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, errNoQuorum) {
		_ = js.Conn().ForceReconnect() // the next try reports what is wrong
		l.mu.Lock()
		defer l.mu.Unlock()
		switch {
		case l.denied != nil:
			err = l.denied
		case limited.Err() != nil:
			err = errNoAnswer
		}
	}
	return err
}

// connect returns a connection, which later calls share. Kinds: Unavailable,
// Unsupported.
func (l *Log) connect(ctx context.Context, op string) (jetstream.JetStream, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.nc != nil && !l.nc.IsClosed() {
		return l.js, nil
	}
	l.hints = nil
	var nc *nats.Conn
	var err error
	for i, delay := 0, firstDelay; ; i, delay = i+1, 4*delay {
		if nc, err = l.dialIn(ctx); err == nil || l.final(op, err) != nil || i == maxConnects-1 {
			break
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(delay):
		}
	}
	if err != nil {
		if refused := l.final(op, err); refused != nil {
			return nil, refused
		}
		return nil, l.failure(op, handoff.Unavailable, fmt.Errorf("cannot connect: %w", err),
			"check the network and the location, and try again")
	}
	if v := nc.ConnectedServerVersion(); tooOld(v) {
		nc.Close()
		return nil, l.failure(op, handoff.Unsupported,
			fmt.Errorf("the server has version %s, and at least %d.%d is needed", v, minMajor, minMinor),
			"update the server")
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, err
	}
	l.nc, l.js = nc, js
	return js, nil
}

// dialIn opens a connection, unless ctx ends first.
func (l *Log) dialIn(ctx context.Context) (*nats.Conn, error) {
	var nc *nats.Conn
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		nc, err = l.dial(l.o.Connect)
	}()
	select {
	case <-done:
		return nc, err
	case <-ctx.Done():
		go func() {
			if <-done; err == nil {
				nc.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

// dial opens a connection, which reopens itself when it is lost.
func (l *Log) dial(credentials []nats.Option) (*nats.Conn, error) {
	o := append([]nats.Option{
		nats.Name("handoff"), nats.Timeout(requestTimeout), nats.MaxReconnects(-1), nats.ReconnectWait(firstDelay),
		nats.ReconnectJitter(firstDelay, firstDelay),
		nats.ReconnectBufSize(-1), // a message is never sent after its operation has failed
		nats.PingInterval(20 * time.Second), l.o.secure(),
		nats.DisconnectErrHandler(func(*nats.Conn, error) { l.signal(&l.lost) }),
		nats.ReconnectHandler(func(*nats.Conn) { l.signal(&l.back) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrPermissionViolation) {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.denied = err
			}
		}),
	}, credentials...)
	return nats.Connect(strings.Join(l.o.Servers, ","), o...)
}

// signal wakes those who wait for a channel.
func (l *Log) signal(c *chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(*c)
	*c = make(chan struct{})
}

// tooOld reports whether a server has an older version than is needed.
func tooOld(version string) bool {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, err1 := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	return err1 != nil || err2 != nil || a < minMajor || (a == minMajor && b < minMinor)
}

// Codes of errors of the JetStream API that may pass, as in HTTP.
const (
	codeUnavailable = 503
	codeBusy        = 429
)

// Error codes of the JetStream API that the library has no name for.
const (
	codeAccountLimits    = 10002 // of storage
	codeNoSuitableServer = 10005
	codeMemoryLimits     = 10028
	codeStreamLimits     = 10027 // their number
	codeStorageLimits    = 10047
	codeTooLarge         = 10054
	codeNotStored        = 10077 // such as: maximum bytes exceeded
	codeReplicas         = 10074 // not without a cluster
	codeBytesRequired    = 10113
	codeBytesLimit       = 10122
)

// final returns the error of a request that is useless to repeat, otherwise nil.
func (l *Log) final(op string, err error) error {
	var api *jetstream.APIError
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired),
		errors.Is(err, nats.ErrAuthRevoked), errors.Is(err, nats.ErrPermissionViolation):
		return l.failure(op, handoff.Unavailable, err,
			"set NATS_CREDS, NATS_NKEY, or NATS_USER and NATS_PASSWORD, to credentials that may use this log")
	case errors.Is(err, nats.ErrSecureConnWanted), errors.Is(err, nats.ErrSecureConnRequired):
		return l.failure(op, handoff.Unavailable, err,
			"use a server with TLS, or add tls=off to the location if the network is trusted")
	case errors.Is(err, nats.ErrMaxPayload):
		return l.failure(op, handoff.Invalid, errors.New("the record is larger than a message of this server may be"),
			"raise max_payload of the server, or publish large metadata as a separate file")
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return l.failure(op, handoff.Unsupported,
			errors.New("JetStream is not enabled on this server or for this account"), "enable JetStream on the server")
	case errors.As(err, &api):
		switch api.ErrorCode {
		case codeAccountLimits, codeMemoryLimits, codeStorageLimits, codeNotStored, codeBytesLimit, codeBytesRequired,
			codeStreamLimits:
			return l.failure(op, handoff.Unavailable, fmt.Errorf("a limit of the stream, the account or the server is "+
				"reached: %s", api.Description), "raise the limit, for example max_bytes of the stream")
		case codeTooLarge:
			return l.failure(op, handoff.Invalid,
				errors.New("the record is larger than a message of this stream may be"),
				"raise max_msg_size of the stream, or publish large metadata as a separate file")
		case codeReplicas, codeNoSuitableServer:
			return l.failure(op, handoff.Unavailable, errors.New(api.Description),
				"set replicas in the location to the number of servers in the cluster, 1 without a cluster")
		}
		if api.Code != codeUnavailable && api.Code != codeBusy && !isStored(err) {
			return l.failure(op, handoff.Unavailable, errors.New(api.Description),
				"check the settings of the stream and the permissions of the account")
		}
	}
	return nil
}

// failure returns an error about the log.
func (l *Log) failure(op string, kind handoff.Kind, err error, hint string) error {
	return handoff.E(op, strings.TrimPrefix(l.o.Servers[0], "nats://")+"/"+l.o.Name, kind, err, handoff.Advice(hint))
}
