package queue

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
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/storage"
)

// A state is what the file state.json contains.
type state struct {
	Location   string            `json:"location"`
	Directory  uint64            `json:"directory"`  // inode of the queue's directory, which a copy does not have
	Log        string            `json:"log"`        // ID of the engine's log
	Newest     handoff.Seq       `json:"newest"`     // a record of the engine that this machine has read
	Generation int               `json:"generation"` // number of the log of queued records
	Queued     bool              `json:"queued"`     // that log may have records
	Base       handoff.Seq       `json:"base"`       // no queued record is in the engine before it
	Sent       handoff.Seq       `json:"sent"`       // of that log, in order; refused ones count
	Refused    []storage.Refusal `json:"refused"`

	foreign bool // the directory is another one than the state names
}

// pending reports whether there may be records to send.
func (s state) pending() bool { return s.Queued && !s.foreign }

const (
	stateName = "state.json"
	maxState  = 16 << 20
)

// directory returns the directory of the queue of a log.
func directory(runtime, location string) string {
	return filepath.Join(runtime, "queue", fmt.Sprintf("%x", sha256.Sum256([]byte(location)))[:32])
}

// load reads the state, the zero value if there is none. Kinds: Corrupt, Unavailable.
func (l *Log) load() (s state, err error) {
	for _, dir := range []string{filepath.Dir(l.dir), l.dir} {
		if err = plainfile.CheckDir(dir); err != nil {
			break
		}
	}
	var b []byte
	if err == nil {
		b, err = plainfile.Read(filepath.Join(l.dir, stateName), maxState)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return l.withKnown(state{Location: l.o.Location, Generation: 1}), nil
	}
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err == nil && (s.Generation < 1 || s.Sent < 0 || s.Base < 0 || s.Newest < 0) {
		err = errors.New("is damaged")
	}
	if err != nil {
		return s, handoff.E("read queue", filepath.Join(l.dir, stateName), handoff.Corrupt, durable.Reason(err),
			handoff.Advice("rename the directory; what is queued in it is not sent"))
	}
	s.foreign = s.Queued && s.Directory != inode(l.dir)
	return l.withKnown(s), nil
}

// withKnown returns a state with the log that this machine knows, if it names none: a
// machine that only reads has no queue.
func (l *Log) withKnown(s state) state {
	if s.Log == "" && l.o.Known != nil {
		s.Log, s.Newest = l.o.Known()
	}
	return s
}

// Forget forgets the log that the engine had: it was accepted that the engine has lost
// records. What is queued is compared with all that it has now.
func (l *Log) Forget(ctx context.Context) error {
	if _, err := os.Lstat(filepath.Join(l.dir, stateName)); err != nil {
		return nil
	}
	l.mu.Lock()
	l.known = -1
	l.mu.Unlock()
	return l.change(ctx, func(now *state) error {
		now.Log = ""
		now.Newest = 0
		now.Base = 0
		return nil
	})
}

// inode identifies a directory of this machine, 0 if it can't.
func inode(dir string) uint64 {
	info, err := os.Lstat(dir)
	if err != nil {
		return 0
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return uint64(stat.Ino)
}

// lockWait is how long a process waits for another that changes the state.
const lockWait = 10 * time.Second

// locked runs do while no other process has the lock with a name.
func (l *Log) locked(ctx context.Context, name string, wait time.Duration, do func() error) error {
	f, err := os.OpenFile(filepath.Join(l.dir, name), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return l.failure(err)
	}
	defer f.Close()
	if err := durable.Lock(ctx, f, syscall.LOCK_EX, wait); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return l.failure(err)
	}
	return do()
}

func (l *Log) failure(err error) error {
	return handoff.E("queue", l.dir, handoff.Unavailable, durable.Reason(err), handoff.UnwritableHint(l.dir, err))
}

// create creates the directory of the queue in a runtime directory that exists.
func (l *Log) create() error {
	for _, dir := range []string{filepath.Dir(l.dir), l.dir} {
		if err := makeDir(dir); err != nil {
			return l.failure(err)
		}
	}
	return nil
}

// makeDir creates a directory, unless it exists. A link is refused.
func makeDir(dir string) error {
	err := os.Mkdir(dir, filelog.DirMode(dir))
	if errors.Is(err, fs.ErrExist) {
		return plainfile.CheckDir(dir)
	}
	if err != nil {
		return err
	}
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err
	}
	return errors.Join(durable.SyncDir(parent, "."), parent.Close())
}

// change changes the state while no other process does.
func (l *Log) change(ctx context.Context, change func(*state) error) error {
	return l.locked(ctx, "state.lock", lockWait, func() error {
		s, err := l.load()
		if err == nil {
			err = change(&s)
		}
		if err == nil {
			err = l.store(s)
		}
		return err
	})
}

// store writes the state. The caller has the lock.
func (l *Log) store(s state) error {
	s.Location = l.o.Location
	if !s.foreign {
		s.Directory = inode(l.dir)
	}
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(l.dir)
	if err == nil {
		err = durable.Replace(root, stateName, func(w io.Writer) error { _, err := w.Write(b); return err })
		root.Close()
	}
	if err != nil {
		return l.failure(err)
	}
	return nil
}

// know notes the newest record of the engine that this machine has read, 0 if it has
// read none. What is not noted costs only what can be shown offline.
func (l *Log) know(ctx context.Context, last handoff.Seq) {
	l.mu.Lock() // not over the wait for other processes: appends need it
	newer := last > l.known
	l.known = max(l.known, last)
	l.mu.Unlock()
	if !newer {
		return
	}
	s, err := l.load()
	if err != nil || (s.Log != "" && last <= s.Newest) {
		return
	}
	if s.Log == "" {
		if s.Log, err = l.engine.ID(ctx); err != nil || s.Log == "" {
			return
		}
	}
	if _, err := os.Lstat(l.o.Runtime); err != nil || l.create() != nil {
		return // a command that only reads creates no runtime directory
	}
	_ = l.change(ctx, func(now *state) error {
		now.Log, now.Newest = s.Log, max(last, now.Newest)
		return nil
	})
}

// records is the log of queued records.
func (l *Log) records(s state) *filelog.Log {
	return filelog.Open(l.recordsDir(s.Generation), l.o.Rand)
}

const recordsPrefix = "records-"

func (l *Log) recordsDir(generation int) string {
	return filepath.Join(l.dir, recordsPrefix+fmt.Sprint(generation))
}

// pending returns the records that were not sent, with their number in the queue;
// also those that were refused, if it is so asked.
func (l *Log) pending(ctx context.Context, s state, refused bool) ([]handoff.Record, error) {
	if !s.Queued {
		return nil, nil
	}
	after := s.Sent
	if refused {
		for _, r := range s.Refused {
			after = min(after, r.Number-1)
		}
	}
	if err := plainfile.CheckDir(l.recordsDir(s.Generation)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil // its process was killed before the first record
		}
		return nil, l.failure(err)
	}
	var list []handoff.Record
	for r, err := range l.records(s).Read(ctx, max(after, 0)) {
		if err != nil {
			return list, err
		}
		isRefused := slices.ContainsFunc(s.Refused, func(f storage.Refusal) bool { return f.Number == r.Seq })
		if r.Seq > s.Sent || (refused && isRefused) {
			list = append(list, r)
		}
	}
	return list, nil
}

// pollAdded is how often UntilAdded looks for records that other processes add.
const pollAdded = 200 * time.Millisecond

// UntilAdded returns a context that ends with ctx, when a process adds a record to the
// queue, or when stop is called.
func (l *Log) UntilAdded(ctx context.Context) (until context.Context, stop context.CancelFunc) {
	until, stop = context.WithCancel(ctx)
	size := func() (at [2]handoff.Seq, err error) {
		s, err := l.load()
		if err == nil && s.Queued && !s.foreign {
			at[0] = handoff.Seq(s.Generation)
			at[1], err = l.records(s).Newest(until)
		}
		return at, err
	}
	start, _ := size()
	go func() {
		for sleep(until, pollAdded) == nil {
			if now, err := size(); err == nil && now != start && now[1] > 0 {
				stop()
			}
		}
	}()
	return until, stop
}

// add queues a record. The engine does not have it before base.
func (l *Log) add(ctx context.Context, r handoff.Record, base handoff.Seq) error {
	if err := l.create(); err != nil {
		return err
	}
	return l.locked(ctx, "state.lock", lockWait, func() error {
		s, err := l.load()
		if err != nil {
			return err
		}
		if !s.Queued || base < s.Base { // before the record: another process sends from here on
			s.Queued, s.Base = true, base
			if err := l.store(s); err != nil {
				return err
			}
		}
		dir := l.recordsDir(s.Generation)
		if err := makeDir(dir); err != nil {
			return l.failure(err)
		}
		_, err = l.records(s).Append(ctx, r)
		return err
	})
}

// clean removes logs of queued records that were all sent.
func (l *Log) clean(generation int) {
	root, err := os.OpenRoot(l.dir)
	if err != nil {
		return
	}
	defer root.Close()
	names, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return
	}
	for _, e := range names {
		if n := 0; strings.HasPrefix(e.Name(), recordsPrefix) {
			if _, err := fmt.Sscanf(e.Name(), recordsPrefix+"%d", &n); err == nil && n < generation {
				_ = root.RemoveAll(e.Name())
			}
		}
	}
}
