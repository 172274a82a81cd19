package evidence

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/cmdline"
	"github.com/agent-handoff/handoff/thread"
)

// Calls finds what agent programs recorded of the calls of a thread.
type Calls struct {
	Threads *thread.Set

	// InRepository reports whether a thread in a directory belongs to the
	// repository. Others do not count.
	InRepository func(dir string) bool
}

// A record is what a thread has of a call or of a message.
type record struct {
	uri    thread.URI // of the message
	call   string     // ID of the call
	status *int       // exit status, nil if it is not known
	failed bool
	digest string // of the output
}

// result returns the exit status in words.
func (r record) result() string {
	switch {
	case r.status != nil:
		return fmt.Sprintf("exit status %d in %s", *r.status, r.uri)
	case r.failed:
		return "a failure in " + r.uri.String()
	}
	return "no exit status in " + r.uri.String()
}

func (r record) hasFailed() bool { return r.failed || r.status != nil && *r.status != 0 }

// open opens a thread or subagent of this repository. Kinds: those of
// thread.Set.Open, NotFound (it has no transcript), Invalid (it is of another
// repository).
func (c Calls) open(ctx context.Context, u thread.URI) (*thread.Thread, error) {
	if c.Threads == nil {
		return nil, handoff.E("thread", u.String(), handoff.Unavailable, errors.New("no access to threads"))
	}
	v, err := c.Threads.Open(ctx, u)
	if err != nil {
		return nil, err
	}
	t := v.Thread
	if v.Agent != nil {
		t = v.Agent.Thread
	}
	if t == nil {
		return nil, handoff.E("thread", u.String(), handoff.NotFound, errors.New("has no transcript"))
	}
	if dir := cmp.Or(t.Cwd, v.Thread.Cwd); !c.InRepository(dir) {
		return nil, handoff.E("thread", u.String(), handoff.Invalid, errors.New("is a thread of another repository"),
			handoff.Advice("name a thread in this repository"))
	}
	return t, nil
}

// last returns the last call of a thread that ran a command. ok is false if
// there is none with a result.
func (c Calls) last(ctx context.Context, uri, command string) (found record, ok bool, err error) {
	u, err := thread.ParseURI(uri)
	if err != nil {
		return found, false, err
	}
	return found, ok, c.each(ctx, u, func(at thread.URI, call thread.Call) {
		if call.HasResult() && cmdline.Equal(command, commandLine(call)) {
			found, ok = recordOf(at, call), true
		}
	})
}

// byID returns the call with an ID. ok is false if the thread has none.
func (c Calls) byID(ctx context.Context, uri, id string) (found record, ok bool, err error) {
	u, err := thread.ParseURI(uri)
	if err != nil {
		return found, false, err
	}
	return found, ok, c.each(ctx, u, func(at thread.URI, call thread.Call) {
		if !ok && call.ID == id {
			found, ok = recordOf(at, call), true
		}
	})
}

func recordOf(at thread.URI, call thread.Call) record {
	return record{uri: at, call: call.ID, status: call.Exit, failed: call.Failed, digest: call.OutputDigest()}
}

// each passes the calls of a thread, in order, with the URI of their message.
func (c Calls) each(ctx context.Context, u thread.URI, do func(thread.URI, thread.Call)) error {
	t, err := c.open(ctx, u)
	if err != nil {
		return err
	}
	return t.Read(ctx, thread.Tools, func(m thread.Message) error {
		if m.N > 0 {
			u.From, u.To = m.N, m.N
		}
		for _, call := range m.Tools {
			do(u, call)
		}
		return nil
	})
}

// message returns what a thread has of one message: of its only call, or of
// its text and all of its calls. Kinds: those of open, Invalid (the URI names no
// message), NotFound (the message).
func (c Calls) message(ctx context.Context, uri string) (found record, err error) {
	u, err := thread.ParseURI(uri)
	if err != nil {
		return found, err
	}
	if u.From == 0 || u.To != u.From {
		return found, refuse(uri, errors.New("names no single message"), "add the number of the message, as in #M3")
	}
	t, err := c.open(ctx, u)
	if err != nil {
		return found, err
	}
	var calls []thread.Call
	n, text := 0, ""
	err = t.Read(ctx, thread.Tools, func(m thread.Message) error {
		if m.N > 0 {
			n = m.N
		}
		if n == u.From {
			calls, text = append(calls, m.Tools...), text+m.Text
		}
		return nil
	})
	if err == nil && n < u.From {
		err = handoff.E("thread", uri, handoff.NotFound, fmt.Errorf("has %d messages", n))
	}
	return messageRecord(u, text, calls), err
}

// messageRecord combines the calls of a message.
func messageRecord(u thread.URI, text string, calls []thread.Call) record {
	if len(calls) == 1 {
		return recordOf(u, calls[0])
	}
	all := record{uri: u}
	digests := []string{text}
	known := len(calls) > 0
	for _, c := range calls {
		r := recordOf(u, c)
		all.failed = all.failed || r.hasFailed()
		known = known && r.status != nil
		digests = append(digests, r.digest)
	}
	if known && !all.failed {
		all.status = new(int)
	}
	all.digest = fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(digests, "\n"))))
	return all
}
