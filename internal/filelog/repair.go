package filelog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/durable"
)

// staleAfter is the age at which a temporary file is abandoned: its process has
// died.
const staleAfter = time.Hour

// maxHole is the longest range of missing records that is filled. A longer one
// rather means that the file beyond it does not belong there.
const maxHole = 1 << 16

// The names of quarantined files: a mark and the time of the repair.
const (
	quarantinedLink = ".json.found-"
	quarantinedBody = ".damaged-"
	timestamp       = "20060102T150405.000000000"
)

// Repair implements handoff.Repairer. A hole gets back the records that it lost
// if all of them still have their ID links; otherwise it is filled with records
// that mark the loss. The log then gets a new ID, so that every index is
// rebuilt. ID links are recreated and abandoned temporary files removed.
func (l *Log) Repair(ctx context.Context, now time.Time) error {
	c, err := l.check(ctx, nil)
	if err != nil {
		return l.failure("repair", err)
	}
	for _, fix := range []func(*logCheck, time.Time) error{l.fillHoles, l.linkRecords, l.removeTemporaries} {
		if err := fix(c, now); err != nil {
			return l.failure("repair", err)
		}
	}
	return nil
}

// fillHoles renews the log's ID first: an index that is rebuilt meanwhile stops
// at the hole, and continues when it is filled.
func (l *Log) fillHoles(c *logCheck, now time.Time) error {
	if len(c.holes) == 0 && !c.missingID {
		return nil
	}
	for _, h := range c.holes {
		if h.last-h.first >= maxHole {
			return &handoff.Error{Op: "repair", Name: l.name(h.last + 1), Kind: handoff.Corrupt,
				Err:  fmt.Errorf("records %d to %d before it are missing: the file seems to be misplaced", h.first, h.last),
				Hint: handoff.Suggest("list every problem, once you know which tool created the file", handoff.ActionCheck)}
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

// restorable returns the records that the holes lost, in the order in which they
// were created, if there is one for each missing number.
func (c *logCheck) restorable() []handoff.Record {
	missing := handoff.Seq(0)
	for _, h := range c.holes {
		missing += h.last - h.first + 1
	}
	if missing != handoff.Seq(len(c.orphanLinks)) {
		return nil
	}
	return slices.SortedFunc(slices.Values(c.orphanLinks), func(a, b handoff.Record) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
}

// fill gives the number n to the first of the lost records, or to a record that
// marks the loss.
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
		&handoff.Gap{Reason: "the record at this position was lost"})
	if err != nil {
		return err
	}
	b, err := r.JSON()
	if err != nil {
		return err
	}
	if err := l.createFile(l.name(n), string(sealed(b))); err != nil {
		return err
	}
	return l.disk.syncDir(l.shardName(n))
}

// renewID replaces the log's ID.
func (l *Log) renewID() error {
	id, err := newID(l.random)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(l.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	err = root.Mkdir("log", DirMode(l.dir)) // if the directory was lost, too
	if err == nil {
		err = durable.SyncDir(root, ".")
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return durable.Replace(root, idName, func(w io.Writer) error {
		_, err := io.WriteString(w, id+"\n")
		return err
	})
}

// linkRecords creates the ID links that are missing or wrong. Another file with
// the name of a link is quarantined.
func (l *Log) linkRecords(c *logCheck, now time.Time) error {
	if len(c.missingLinks) == 0 {
		return nil
	}
	if err := os.MkdirAll(filepath.Join(l.dir, recordsDir), DirMode(l.dir)); err != nil {
		return err
	}
	for _, r := range c.missingLinks {
		if same, err := l.hasLink(r); same {
			continue // its writer was about to
		} else if err == nil {
			if err := os.Rename(l.File(r), strings.TrimSuffix(l.File(r), ".json")+quarantinedLink+now.UTC().Format(timestamp)); err != nil {
				return err
			}
		}
		if err := l.Link(r); err != nil {
			return err
		}
	}
	return l.disk.syncDir(recordsDir)
}

func (l *Log) removeTemporaries(c *logCheck, now time.Time) error {
	for _, name := range c.temporary {
		file := l.path(name)
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
