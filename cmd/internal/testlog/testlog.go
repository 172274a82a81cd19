// Package testlog is a second backend, for tests: one append-only file under a
// lock. It shows that the program works over any log.
//
//	<directory>/
//	  lock      locked while the others are read or written
//	  records   a line with the log's ID, then one frame for each record:
//	            its checksum and length on a line, its bytes, a newline
//	  blobs/    bodies, named by their digest
package testlog

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/storage"
)

// Backend opens a log in the runtime directory, or in the directory that
// testlog:/path names.
var Backend = storage.Backend{Scheme: "testlog",
	Open: func(o storage.BackendOptions) (handoff.Log, handoff.Bodies, error) {
		dir := o.Location.Path
		if dir == "" {
			dir = filepath.Join(o.Runtime, "testlog")
		}
		log := Open(dir, o.Rand)
		return log, log.Bodies(), nil
	}}

const magic = "testlog "

// A Log is a handoff.Log in one file.
type Log struct {
	dir  string
	rand io.Reader
}

// Open returns the log in a directory, which need not exist yet.
func Open(dir string, rand io.Reader) *Log { return &Log{dir, rand} }

func (l *Log) path(name string) string { return filepath.Join(l.dir, name) }

// locked runs do under a lock, shared or exclusive. With an exclusive one it
// creates the directory. Without a directory a shared one is not needed.
func (l *Log) locked(how int, do func() error) error {
	f, err := os.OpenFile(l.path("lock"), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if how == syscall.LOCK_SH {
			return do()
		}
		if err = os.MkdirAll(l.path("blobs"), 0o700); err == nil {
			f, err = os.OpenFile(l.path("lock"), os.O_RDWR|os.O_CREATE, 0o600)
		}
	}
	if err != nil {
		return failure("lock", l.dir, err)
	}
	defer f.Close()
	for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
		err = syscall.Flock(int(f.Fd()), how)
	}
	if err != nil {
		return failure("lock", l.dir, err)
	}
	return do()
}

func failure(op, name string, err error) error {
	return handoff.E(op, name, handoff.Unavailable, err, handoff.Advice("set HANDOFF_LOG to another location"))
}

// contents are what the file contains.
type contents struct {
	id      string
	records []handoff.Record
	size    int64 // of the complete frames
	torn    bool  // the last frame is incomplete: its writer was killed
}

// load reads the file. The caller has the lock.
func (l *Log) load() (c contents, err error) {
	b, err := os.ReadFile(l.path("records"))
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, failure("read log", l.dir, err)
	}
	total := len(b)
	line, rest, found := bytes.Cut(b, []byte("\n"))
	if !found {
		c.torn = len(b) > 0
		return c, nil
	}
	c.id = string(bytes.TrimPrefix(line, []byte(magic)))
	for len(rest) > 0 {
		c.size = int64(total - len(rest))
		line, frame, found := bytes.Cut(rest, []byte("\n"))
		var sum uint32
		var n int
		if _, err := fmt.Sscanf(string(line), "%x %d", &sum, &n); found && err != nil || n < 0 {
			return c, handoff.E("read log", fmt.Sprintf("record %d", len(c.records)+1), handoff.Corrupt,
				errors.New("invalid frame"),
				handoff.Suggest("see what is damaged", handoff.ActionCheck))
		}
		if !found || len(frame) < n+1 {
			c.torn = true
			return c, nil
		}
		seq := handoff.Seq(len(c.records) + 1)
		r := handoff.StoredRecord(seq, frame[:n:n])
		if crc32.ChecksumIEEE(frame[:n]) != sum {
			r = handoff.StoredRecord(seq, nil)
		}
		c.records, rest = append(c.records, r), frame[n+1:]
	}
	c.size = int64(total)
	return c, nil
}

func (l *Log) shared() (c contents, err error) {
	err = l.locked(syscall.LOCK_SH, func() (err error) {
		c, err = l.load()
		return err
	})
	return c, err
}

// Append implements handoff.Log.
func (l *Log) Append(ctx context.Context, r handoff.Record) (seq handoff.Seq, err error) {
	b, err := r.JSON()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return 0, err
	}
	err = l.locked(syscall.LOCK_EX, func() error {
		c, err := l.load()
		if err != nil {
			return err
		}
		frame := fmt.Appendf(nil, "%08x %d\n%s\n", crc32.ChecksumIEEE(b), len(b), b)
		if c.id == "" {
			var id [8]byte
			if _, err := io.ReadFull(l.rand, id[:]); err != nil {
				return err
			}
			frame = append([]byte(magic+hex.EncodeToString(id[:])+"\n"), frame...)
		}
		seq = handoff.Seq(len(c.records) + 1)
		return l.write(frame, c.size)
	})
	return seq, err
}

// write writes at an offset, which ends the file.
func (l *Log) write(b []byte, at int64) error {
	f, err := os.OpenFile(l.path("records"), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return failure("append", l.dir, err)
	}
	err = f.Truncate(at)
	if err == nil {
		_, err = f.WriteAt(b, at)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return failure("append", l.dir, err)
	}
	return nil
}

// Read implements handoff.Log.
func (l *Log) Read(ctx context.Context, after handoff.Seq) iter.Seq2[handoff.Record, error] {
	return func(yield func(handoff.Record, error) bool) {
		c, err := l.shared()
		for _, r := range c.records[min(max(0, int(after)), len(c.records)):] {
			if ctx.Err() != nil {
				yield(handoff.Record{}, ctx.Err())
				return
			}
			if !yield(r, nil) {
				return
			}
		}
		if err != nil {
			yield(handoff.Record{}, err)
		}
	}
}

// Wait implements handoff.Log.
func (l *Log) Wait(ctx context.Context, after handoff.Seq) error {
	for {
		n, err := l.Newest(ctx)
		if err != nil || n > after {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// ID implements handoff.Identifier.
func (l *Log) ID(context.Context) (string, error) {
	c, err := l.shared()
	if errors.Is(err, handoff.Corrupt) {
		err = nil
	}
	return c.id, err
}

// Newest implements handoff.Ender.
func (l *Log) Newest(context.Context) (handoff.Seq, error) {
	c, err := l.shared()
	return handoff.Seq(len(c.records)), err
}

// Check implements handoff.LogChecker.
func (l *Log) Check(_ context.Context, each func(handoff.Record)) (handoff.Report, error) {
	c, err := l.shared()
	report := handoff.Report{Records: len(c.records), Findings: []handoff.Finding{}}
	for _, r := range c.records {
		if each != nil {
			each(r)
		}
		if _, damaged := r.Fact.(*handoff.Damaged); damaged {
			report.Findings = append(report.Findings,
				handoff.Finding{Name: fmt.Sprintf("record %d", r.Seq), Text: "not a valid record"})
		}
	}
	if errors.Is(err, handoff.Corrupt) {
		report.Findings, err = append(report.Findings, handoff.Finding{Name: "records", Text: err.Error()}), nil
	}
	if c.torn {
		report.Findings = append(report.Findings,
			handoff.Finding{Name: "records", Text: "ends with an incomplete record of a killed process", Note: true})
	}
	return report, err
}

// Repair implements handoff.Repairer.
func (l *Log) Repair(context.Context, time.Time) error {
	c, err := l.shared()
	if err != nil || !c.torn {
		return err
	}
	return l.locked(syscall.LOCK_EX, func() error {
		c, err := l.load()
		if err != nil || !c.torn {
			return err
		}
		return l.write(nil, c.size)
	})
}
