package filelog

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/agent-handoff/handoff"
)

// staleAfter is the age at which a temporary's process is taken for dead.
const staleAfter = time.Hour

// Repair checks the log and mends what can be mended without changing any
// record: a hole gets a record of its own that says so, and the log a new
// identity, so that every index rebuilds; second names are made again; old
// temporaries go. It returns what it found before.
func (l *Log) Repair(ctx context.Context, now time.Time) (Report, error) {
	c, err := l.examine(ctx)
	if err != nil {
		return Report{}, l.failure("repair", err)
	}
	for _, mend := range []func(*check, time.Time) error{l.fillHoles, l.nameRecords, l.dropTemporaries} {
		if err := mend(c, now); err != nil {
			return c.report, l.failure("repair", err)
		}
	}
	return c.report, nil
}

func (l *Log) fillHoles(c *check, now time.Time) error {
	if len(c.holes) == 0 && !noIdentity(c) {
		return nil
	}
	for _, n := range c.holes {
		r, err := handoff.NewRecord(now, l.random, handoff.Producer{Source: handoff.FromNone},
			&handoff.Gap{Reason: "the record at this place was lost"})
		if err != nil {
			return err
		}
		b, err := r.JSON()
		if err != nil {
			return err
		}
		if err := l.disk.mkdir(l.shardName(n)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := l.makeFile(l.name(n), string(b)); err != nil {
			return err
		}
		if err := l.disk.syncDir(l.shardName(n)); err != nil {
			return err
		}
	}
	return l.renewID()
}

func noIdentity(c *check) bool {
	for _, f := range c.report.Findings {
		if f.Name == idName {
			return true
		}
	}
	return false
}

// renewID replaces the log's identity.
func (l *Log) renewID() error {
	id, err := newIdentity(l.random)
	if err != nil {
		return err
	}
	next := idName + ".next"
	os.Remove(filepath.Join(l.dir, next)) // of a repair that died
	if err := l.makeFile(next, id+"\n"); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(l.dir, next), filepath.Join(l.dir, idName)); err != nil {
		return err
	}
	return l.disk.syncDir("log")
}

// nameRecords makes the second names that are missing or lead elsewhere. A
// file that stands in the way is kept beside.
func (l *Log) nameRecords(c *check, now time.Time) error {
	if len(c.unnamed) == 0 {
		return nil
	}
	if err := os.MkdirAll(filepath.Join(l.dir, recordsDir), dirMode(l.dir)); err != nil {
		return err
	}
	for _, r := range c.unnamed {
		file := l.File(r)
		if _, err := os.Lstat(file); err == nil {
			if err := os.Rename(file, file+".found-"+now.UTC().Format("20060102T150405")); err != nil {
				return err
			}
		}
		if err := l.Link(r); err != nil {
			return err
		}
	}
	return l.disk.syncDir(recordsDir)
}

func (l *Log) dropTemporaries(c *check, now time.Time) error {
	for _, name := range c.stale {
		file := filepath.Join(l.dir, tmpDir, name)
		info, err := os.Lstat(file)
		if err != nil || now.Sub(info.ModTime()) < staleAfter {
			continue
		}
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return nil
}
