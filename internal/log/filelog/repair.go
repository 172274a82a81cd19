package filelog

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/durable"
)

// maxHole is the longest range of missing records that is filled. A longer one
// rather means that the file beyond it does not belong there.
const maxHole = 1 << 16

// The names of quarantined files: a mark and the time of the repair.
const (
	quarantinedLink   = ".json.found-"
	quarantinedDamage = ".damaged-" // of a record or a body
	timestamp         = "20060102T150405.000000000"
)

// Repair implements handoff.Repairer. Every record that still has its ID link gets
// back into the log. A number that remains missing or damaged gets a record that
// marks the loss, and the damaged file is quarantined. The log then gets a new ID,
// so that every index is rebuilt. ID links are recreated and abandoned temporary
// files removed.
func (l *Log) Repair(ctx context.Context, now time.Time) error {
	c, err := l.check(ctx, nil)
	if err != nil {
		return l.failure("repair", err)
	}
	for _, fix := range []func(*logCheck, time.Time) error{l.restoreRecords, l.linkRecords, l.quarantineLinks,
		l.removeTemporaries} {
		if err := fix(c, now); err != nil {
			return l.failure("repair", err)
		}
	}
	return nil
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
	for _, p := range c.missingLinks {
		r := handoff.Record{Seq: p.seq, ID: p.id}
		if same, err := l.hasLink(r); same {
			continue // its writer was about to
		} else if err == nil {
			if err := os.Rename(l.File(r), strings.TrimSuffix(l.File(r), ".json")+quarantinedLink+
				now.UTC().Format(timestamp)); err != nil {
				return err
			}
		}
		if err := l.Link(r); err != nil {
			return err
		}
	}
	return l.disk.syncDir(recordsDir)
}

// quarantineLinks renames the ID links that contain no record.
func (l *Log) quarantineLinks(c *logCheck, now time.Time) error {
	for _, name := range c.damagedLinks {
		file := l.path(recordsDir + "/" + name)
		aside := strings.TrimSuffix(file, ".json") + quarantinedLink + now.UTC().Format(timestamp)
		if err := os.Rename(file, aside); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) removeTemporaries(c *logCheck, now time.Time) error {
	if len(c.temporary) == 0 {
		return nil // nor, perhaps, a directory
	}
	dir, err := os.OpenRoot(l.dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	for _, name := range c.temporary {
		if err := durable.RemoveAbandoned(dir, name, now); err != nil {
			return err
		}
	}
	return nil
}
