package gitlog

import (
	"bufio"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/remote"
)

// idSize is the number of bytes of a log's ID.
const idSize = 16

// push adds records to the ref in one commit and returns the number of the first.
func (l *Log) push(ctx context.Context, batch []remote.Entry) (first handoff.Seq, err error) {
	l.settle()
	r, err := l.repository(ctx)
	if err != nil {
		return 0, err
	}
	id, err := l.newID() // once: a commit that is made again must be the same one
	if err != nil {
		return 0, err
	}
	err = r.locked(ctx, "append.lock", func() error {
		tip, err := r.verified()
		if err == nil && tip.id == "" {
			tip, err = l.update(ctx, r)
		}
		var tries remote.Tries
		for err == nil {
			var c commit
			if c, err = l.commit(ctx, r, tip, batch, id); err != nil {
				return err
			}
			pushed := l.pushCommit(ctx, r, c, tip)
			newest, fetchErr := c, error(nil)
			if pushed != nil {
				if err := tries.Pause(ctx); err != nil {
					return err
				}
				newest, fetchErr = l.update(ctx, r)
			}
			stored, err := l.stored(ctx, r, c, newest, fetchErr)
			switch {
			case err != nil && (errors.Is(err, handoff.Corrupt) || ctx.Err() != nil):
				return err
			case stored:
				first = c.first
				return l.advance(ctx, r, c, pushed)
			case err != nil || newest.id == tip.id:
				if err := tries.Failed(pushed); err != nil {
					return err
				}
			default:
				tip = newest
				if err := tries.Lost(redact(r.fetch)); err != nil {
					return err
				}
			}
		}
		return err
	})
	return first, err
}

// stored reports whether the history up to newest contains c. The reply to a push
// that was successful may have been lost.
func (l *Log) stored(ctx context.Context, r *repository, c, newest commit, err error) (bool, error) {
	if err != nil || newest.last < c.last {
		return false, err
	}
	if newest.id == c.id {
		return true, nil
	}
	o, err := r.objects(ctx)
	if err != nil {
		return false, err
	}
	defer o.close()
	list, err := r.commits(ctx, o, fmt.Sprintf("--max-count=%d", newest.last-c.last+1), newest.id)
	for _, found := range list {
		if found.id == c.id {
			return true, nil
		}
	}
	return false, err
}

// advance stores that a pushed commit is verified. After a lost reply, update did.
func (l *Log) advance(ctx context.Context, r *repository, c commit, pushed error) error {
	if pushed != nil {
		return nil
	}
	err := r.locked(ctx, "fetch.lock", func() error {
		known, err := r.verified()
		if err != nil || known.last >= c.last { // a reader has fetched it
			return err
		}
		return r.setVerified(c)
	})
	if ctx.Err() != nil {
		return nil // the next command fetches it
	}
	return err
}

// pushCommit pushes a commit if the ref of the remote is at tip, which is the
// zero commit if there must be no ref.
func (l *Log) pushCommit(ctx context.Context, r *repository, c, tip commit) error {
	_, err := r.git(ctx, nil, "push", "--quiet", "--porcelain", "--no-verify", "--no-recurse-submodules",
		"--force-with-lease="+l.ref+":"+tip.id, "--", r.to, c.id+":"+l.ref)
	return err
}

// next is the ref of the private repository for the commit that is pushed.
const next = "refs/handoff/next"

// newID returns a random ID for a log.
func (l *Log) newID() (string, error) {
	var id [idSize]byte
	_, err := io.ReadFull(l.o.Rand, id[:])
	return hex.EncodeToString(id[:]), err
}

// commit creates the commit that follows tip with records, and with their bodies. The
// first commit of a log gives it the ID. The same arguments give the same commit.
func (l *Log) commit(ctx context.Context, r *repository, tip commit, batch []remote.Entry, id string) (commit, error) {
	c := commit{parent: tip.id, log: cmp.Or(tip.log, id), first: tip.last + 1, last: tip.last + handoff.Seq(len(batch))}
	in, out := io.Pipe()
	written := make(chan error, 1)
	go func() {
		w := bufio.NewWriter(out)
		err := l.writeCommit(ctx, w, c, batch)
		if err == nil {
			err = w.Flush()
		}
		out.CloseWithError(err)
		written <- err
	}()
	r.unlock(next)
	printed, err := r.git(ctx, in, "fast-import", "--quiet", "--force", "--done", "--date-format=raw")
	in.Close()
	if broken := <-written; err != nil && broken != nil && !errors.Is(broken, io.ErrClosedPipe) {
		err = broken // such as a damaged body
	}
	if err == nil && len(printed) != len(noObject) {
		err = r.failure("git fast-import", errors.New("printed no commit"))
	}
	c.id = printed
	return c, err
}

// writeCommit writes a commit in the format of git fast-import.
func (l *Log) writeCommit(ctx context.Context, w io.Writer, c commit, batch []remote.Entry) error {
	message := subject(c.log, c.first, c.last)
	created := max(0, batch[len(batch)-1].Record.CreatedAt.Unix())
	fmt.Fprintf(w, "feature done\ncommit %s\nmark :1\ncommitter handoff <handoff@localhost> %d +0000\ndata %d\n%s",
		next, created, len(message), message)
	if c.parent != "" {
		fmt.Fprintf(w, "from %s\ndeleteall\n", c.parent)
	}
	written := map[string]bool{}
	for i, q := range batch {
		fmt.Fprintf(w, "M %s inline %s\ndata %d\n%s\n", regularMode, recordName(c.first+handoff.Seq(i)), len(q.JSON),
			q.JSON)
		for _, body := range handoff.BodiesOf(q.Record.Fact) {
			if written[body.Value] {
				continue
			}
			written[body.Value] = true
			if err := l.writeBody(ctx, w, body.Value); err != nil {
				return err
			}
		}
	}
	_, err := io.WriteString(w, "get-mark :1\ndone\n")
	return err
}

// writeBody writes a body if it is on this machine.
func (l *Log) writeBody(ctx context.Context, w io.Writer, digest string) error {
	r, err := l.local.Open(ctx, handoff.Digest{Algorithm: handoff.SHA256, Value: digest})
	if errors.Is(err, handoff.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close()
	size, err := r.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = r.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "M %s inline %s\ndata %d\n", regularMode, digest, size)
	if _, err := io.CopyN(w, r, size); err != nil {
		return err
	}
	_, err = io.WriteString(w, "\n")
	return err
}
