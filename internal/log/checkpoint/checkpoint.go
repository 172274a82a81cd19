// Package checkpoint remembers in the user's state directory which record of a log
// this machine has seen, so that a log that was set back is noticed.
//
//	<state>/logs/<hash of the location>.published   after a publish; durable for a log on other machines
//	<state>/logs/<hash of the location>.read        after a read, without a sync
//	<state>/logs/<hash of the location>.lock        locked while one of them is written
//
// The newer of the two counts. Both are lower bounds: the log has that record and
// every one before it, and usually more.
package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
)

// A Point is a record of a log, the zero value before the first.
type Point struct {
	Location string      `json:"location"` // of the log, for people
	Log      string      `json:"log"`      // ID of the log
	Seq      handoff.Seq `json:"seq"`
	Record   string      `json:"record"` // ID of the record, "" if it can't be read
}

// Has reports whether r can be the record of p.
func (p Point) Has(r handoff.Record) bool {
	return r.Seq == p.Seq && (r.ID == "" || p.Record == "" || r.ID == p.Record)
}

// A File is what this machine remembers of the log at one location. A nil *File
// remembers nothing.
type File struct{ dir, name, location string }

// Open returns what is remembered of the log at a location, in the user's state
// directory; nil without one. It creates nothing.
func Open(state, location string) *File {
	if state == "" {
		return nil
	}
	return &File{filepath.Join(state, "logs"), fmt.Sprintf("%x", sha256.Sum256([]byte(location)))[:32], location}
}

// The files of a checkpoint.
const (
	published = ".published"
	read      = ".read"
	lockName  = ".lock"
	maxFile   = 16 << 10
)

// lockWait is how long a publish waits for other processes that write.
const lockWait = 10 * time.Second

// Load returns the newest record that is remembered, the zero Point for none. A file
// that can't be read remembers nothing.
func (f *File) Load() Point {
	if f == nil {
		return Point{}
	}
	a, b := f.load(published), f.load(read)
	if b.Seq > a.Seq {
		return b
	}
	return a
}

func (f *File) load(suffix string) (p Point) {
	b, err := plainfile.Read(filepath.Join(f.dir, f.name+suffix), maxFile)
	if err != nil || json.Unmarshal(b, &p) != nil || p.Seq < 1 || p.Log == "" || p.Location != f.location {
		return Point{}
	}
	return p
}

// Published remembers a record that this machine has appended, unless a later one of
// the same log is remembered. If sync is set, it is on stable storage when Published
// returns nil.
func (f *File) Published(ctx context.Context, p Point, sync bool) error {
	write := durable.ReplaceUnsynced
	if sync {
		write = durable.Replace
	}
	return f.advance(ctx, p, published, write, lockWait)
}

// Read remembers a record that was read, as Published does. It waits for no other
// process, and syncs nothing.
func (f *File) Read(ctx context.Context, p Point) error {
	return f.advance(ctx, p, read, durable.ReplaceUnsynced, 0)
}

type writer func(dir *os.Root, name string, fill func(io.Writer) error) error

func (f *File) advance(ctx context.Context, p Point, suffix string, write writer, wait time.Duration) error {
	if f == nil || p.Seq < 1 || p.Log == "" {
		return nil
	}
	return f.locked(ctx, wait, func(dir *os.Root) error {
		switch old := f.Load(); {
		case old.Log == p.Log && old.Seq > p.Seq:
			return nil
		case old.Log == p.Log && old.Seq == p.Seq && suffix == read:
			return nil
		case old.Log != "" && old.Log != p.Log:
			if err := f.forget(dir); err != nil {
				return err
			}
		}
		return f.store(dir, suffix, p, write)
	})
}

// Accept makes p what is remembered, also if a later record is. The zero Point
// forgets the log.
func (f *File) Accept(ctx context.Context, p Point) error {
	if f == nil || f.Load() == (Point{}) {
		return nil
	}
	return f.locked(ctx, lockWait, func(dir *os.Root) error {
		if err := f.forget(dir); err != nil || p.Seq < 1 || p.Log == "" {
			return err
		}
		return f.store(dir, published, p, durable.Replace)
	})
}

func (f *File) forget(dir *os.Root) error {
	for _, suffix := range []string{published, read} {
		if err := dir.Remove(f.name + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (f *File) store(dir *os.Root, suffix string, p Point, write writer) error {
	p.Location = f.location
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return write(dir, f.name+suffix, func(w io.Writer) error { _, err := w.Write(append(b, '\n')); return err })
}

// locked runs do while no other process has the lock of the log.
func (f *File) locked(ctx context.Context, wait time.Duration, do func(*os.Root) error) error {
	if err := durable.MakeDirs(f.dir, 0o700); err != nil {
		return err
	}
	dir, err := os.OpenRoot(f.dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	lock, err := dir.OpenFile(f.name+lockName, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := durable.Lock(ctx, lock, syscall.LOCK_EX, wait); err != nil {
		return err
	}
	return do(dir)
}
