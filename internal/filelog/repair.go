package filelog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
)

// staleAfter is the age at which a temporary's process is taken for dead.
const staleAfter = time.Hour

// maxHole is the longest stretch of missing records that is filled. A longer
// one rather has a file beyond it that doesn't belong there.
const maxHole = 1 << 16

// found marks the names of files that lay where a second name belongs, stamp
// is the time that follows.
const (
	found = ".json.found-"
	stamp = "20060102T150405.000000000"
)

// Repair checks the log and mends what can be mended without changing any
// record. Holes get back the records that they lost, if all of those still
// have their second names, else records that say that one was lost; and the
// log gets a new identity, so that every index rebuilds. Second names are made
// again; what is no longer the body that its name says is kept aside, so that
// the body can be kept anew; old temporaries go. It returns what it found
// before.
func (l *Log) Repair(ctx context.Context, now time.Time) (Report, error) {
	c, err := l.examineAll(ctx)
	if err != nil {
		return Report{}, l.failure("repair", err)
	}
	for _, mend := range []func(*check, time.Time) error{l.fillHoles, l.nameRecords, l.Bodies().quarantine, l.dropTemporaries} {
		if err := mend(c, now); err != nil {
			return c.report, l.failure("repair", err)
		}
	}
	return c.report, nil
}

// fillHoles renews the log's identity first: an index that rebuilds meanwhile
// stops at the hole, and goes on once it is filled.
func (l *Log) fillHoles(c *check, now time.Time) error {
	if len(c.holes) == 0 && !c.nameless {
		return nil
	}
	for _, h := range c.holes {
		if h.last-h.first >= maxHole {
			return &handoff.Error{Op: "repair", Name: l.name(h.last + 1), Kind: handoff.Corrupt,
				Err:  fmt.Errorf("the records %d to %d before it are missing: it seems to be out of place", h.first, h.last),
				Hint: handoff.Advice("find out which tool put it there, and handoff check again")}
		}
	}
	if err := l.renewID(); err != nil {
		return err
	}
	lost := c.restorable()
	for _, h := range c.holes {
		for n := h.first; n <= h.last; n++ {
			if err := l.fill(n, now, lost); err != nil {
				return err
			}
			lost = lost[min(1, len(lost)):]
		}
	}
	return l.disk.syncDir("log")
}

// restorable returns the records that the holes lost, in the order in which
// they were made, where each hole can have its own.
func (c *check) restorable() []handoff.Record {
	missing := handoff.Seq(0)
	for _, h := range c.holes {
		missing += h.last - h.first + 1
	}
	if missing != handoff.Seq(len(c.lost)) {
		return nil
	}
	return slices.SortedFunc(slices.Values(c.lost), func(a, b handoff.Record) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
}

// fill puts the first of the lost records in its place, or one that says that
// a record was lost.
func (l *Log) fill(n handoff.Seq, now time.Time, lost []handoff.Record) error {
	if err := l.disk.mkdir(l.shardName(n)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if len(lost) > 0 {
		if err := l.disk.link(recordsDir+"/"+lost[0].ID+".json", l.name(n)); err != nil {
			return err
		}
		return l.disk.syncDir(l.shardName(n))
	}
	r, err := handoff.NewRecord(now, l.random, handoff.Producer{Source: handoff.FromNone},
		&handoff.Gap{Reason: "the record at this place was lost"})
	if err != nil {
		return err
	}
	b, err := r.JSON()
	if err != nil {
		return err
	}
	if err := l.makeFile(l.name(n), string(sealed(b))); err != nil {
		return err
	}
	return l.disk.syncDir(l.shardName(n))
}

// renewID replaces the log's identity.
func (l *Log) renewID() error {
	id, err := newIdentity(l.random)
	if err != nil {
		return err
	}
	if err := l.disk.mkdir(tmpDir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	next := tmpDir + "/ID-" + id
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
		if same, err := l.named(r); same {
			continue // its writer was about to
		} else if err == nil {
			if err := os.Rename(l.File(r), strings.TrimSuffix(l.File(r), ".json")+found+now.UTC().Format(stamp)); err != nil {
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
	for _, name := range c.temporary {
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
