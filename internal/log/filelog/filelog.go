// Package filelog keeps a log as a directory of numbered files.
//
// A record is written once, to a temporary file, and then linked to the next
// free number. A number that exists is complete and never changes.
//
//	<directory>/
//	  log/ID                              random ID, generated with the log
//	  log/00000000/000000000042.json      record 42 with a checksum; the file name is its Seq
//	  log/tmp/                            temporary files
//	  artifacts/records/art_….json        ID link: a hard link to an artifact's record, named by its ID
//	  bodies/sha256/ab/cdef…              kept bodies, named by their digest
//
// Any number of processes may append and read at once. There is no lock and no
// daemon: the first process to link a number has it, and the others take the
// next. docs/format.md describes the format and the protocol.
package filelog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
)

// shardSize is the number of records in one directory of the log.
const shardSize = 4096

// lookahead is the number of names after a free one that must not exist before
// a record is put there.
const lookahead = 64

// pollEvery is how often Wait first checks for the next number. Later the time between
// checks is an eighth of the time that it has waited, at most slowest times pollEvery. It is
// never below prompt times pollEvery once the system has reported a new file: some file
// systems accept the request and report nothing, and the system watches for a limited
// number of processes.
const (
	pollEvery = 20 * time.Millisecond
	prompt    = 32
	slowest   = 512
)

// holeEvery is how often Wait checks whether the number it waits for is a hole
// that others have passed.
const holeEvery = time.Second

// A Log is a handoff.Log in one directory. Nothing is created there before the
// first Append.
type Log struct {
	dir    string
	disk   disk
	shard  handoff.Seq
	random io.Reader
	poll   time.Duration // pollEvery, except in tests
	notify notifier

	elsewhere bool // only the bodies are here: what else is here belongs to another log

	prompt atomic.Bool // a new file was reported

	checked sync.Map // the shards and body directories that are known to be directories

	mu    sync.Mutex  // held while a number is taken
	made  bool        // the directory is known to contain a log
	last  handoff.Seq // the highest number seen to exist
	atEnd bool        // nothing was after last when this process last checked
}

var (
	_ handoff.Log        = (*Log)(nil)
	_ handoff.Filer      = (*Log)(nil)
	_ handoff.Identifier = (*Log)(nil)
	_ handoff.Ender      = (*Log)(nil)
	_ handoff.LogChecker = (*Log)(nil)
	_ handoff.Repairer   = (*Log)(nil)
)

// Open returns the log in a directory, which need not exist yet. Its ID and the
// IDs of repair records are drawn from random.
func Open(dir string, random io.Reader) *Log {
	return newLog(dir, newSystem(dir), shardSize, random)
}

func newLog(dir string, d disk, shard handoff.Seq, random io.Reader) *Log {
	return &Log{dir: dir, disk: d, shard: shard, random: random, poll: pollEvery}
}

// ID implements handoff.Identifier. It is "" for a log that does not exist yet. If
// the ID is missing and something else of a log exists, the kind is Corrupt.
func (l *Log) ID(context.Context) (string, error) {
	id, err := l.readID()
	if err != nil || id != "" {
		return id, err
	}
	remnant, err := l.remnant()
	if err != nil || remnant == "" {
		return "", err
	}
	// The ID is linked first: if the log was just created, it exists by now.
	if id, err = l.readID(); err != nil || id != "" {
		return id, err
	}
	return "", handoff.E("read log", idName, handoff.Corrupt, fmt.Errorf("is missing, but %s exists", remnant),
		handoff.Suggest("see what else is missing", handoff.ActionCheck))
}

// remnant returns the name of something that exists only if the directory has
// had a log, or "".
func (l *Log) remnant() (string, error) {
	for _, in := range []struct{ dir, pattern string }{{"log", `^\d{8,}$`}, {recordsDir, "."}, {bodiesDir, "."},
		{".", `^index\.db$`}} {
		names, err := l.namesIn(in.dir)
		if err != nil {
			return "", l.failure("read log", err)
		}
		for _, name := range names {
			if ok, _ := regexp.MatchString(in.pattern, name); ok {
				return path.Join(in.dir, name), nil
			}
		}
	}
	return "", nil
}

// readID returns the log's ID, "" if there is none.
func (l *Log) readID() (string, error) {
	b, err := plainfile.Read(filepath.Join(l.dir, idName), maxID)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", l.failure("read log", err)
	}
	id := string(bytes.TrimSpace(b))
	if !idForm().MatchString(id) { // the ID names a directory of the user's cache
		return "", handoff.E("read log", idName, handoff.Corrupt, errors.New("not a log ID"),
			handoff.Suggest("see what else is damaged", handoff.ActionCheck))
	}
	return id, nil
}

// maxID is the size of the largest file with a log ID, in bytes.
const maxID = 1 << 10

var idForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z_-]{1,128}$`) })

// checkDir refuses a directory of the log, such as a shard, that is a link: it
// would lead reads and writes elsewhere. A directory is checked once. Its kind is
// Corrupt.
func (l *Log) checkDir(name string) error {
	return l.checkOnce(name, func() string { return name })
}

// checkShard is checkDir for the shard of a number.
func (l *Log) checkShard(n handoff.Seq) error {
	return l.checkOnce(l.shardOf(n), func() string { return l.shardName(n) })
}

func (l *Log) checkOnce(key any, nameOf func() string) error {
	if _, ok := l.checked.Load(key); ok {
		return nil
	}
	name := nameOf()
	err := plainfile.CheckDir(l.path(name))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return handoff.E("open log", name, handoff.Corrupt, err,
			handoff.Suggest("see what else is damaged", handoff.ActionCheck))
	}
	l.checked.Store(key, nil)
	return nil
}

// Append implements handoff.Log. If the record was linked but could not be
// synced, it returns the record's Seq with the error.
func (l *Log) Append(ctx context.Context, r handoff.Record) (handoff.Seq, error) {
	b, err := r.JSON()
	if err != nil {
		return 0, err
	}
	if err := l.Create(); err != nil {
		return 0, err
	}
	t, err := l.disk.create(bytes.NewReader(sealed(b)), recordMode)
	if err != nil {
		return 0, l.failure("append", err)
	}
	defer t.close()
	if err := t.sync(); err != nil {
		return 0, l.failure("append", err)
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	seq, err := l.take(t)
	if err != nil {
		return 0, err
	}
	if err := l.disk.syncDir(l.shardName(seq)); err != nil {
		return seq, handoff.E("append", l.name(seq), handoff.Unavailable,
			fmt.Errorf("recorded as %s, but it may not survive a power loss: %w", r.ID, durable.Reason(err)),
			handoff.Suggest("verify the log before you repeat the command", handoff.ActionCheck))
	}
	return seq, nil
}

// Link implements handoff.Filer.
func (l *Log) Link(r handoff.Record) error {
	err := l.disk.link(l.name(r.Seq), recordsDir+"/"+r.ID+".json")
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	return err
}

// File implements handoff.Filer.
func (l *Log) File(r handoff.Record) string {
	return filepath.Join(l.dir, recordsDir, r.ID+".json")
}

// Wait implements handoff.Log.
func (l *Log) Wait(ctx context.Context, after handoff.Seq) error {
	fastest := l.poll
	if l.prompt.Load() {
		fastest *= prompt
	}
	poll := fastest
	waited := time.Duration(0)
	unchecked := time.Duration(0)
	timer := time.NewTimer(poll)
	defer timer.Stop()
	for {
		reported := l.reported(after + 1) // before the check, so that nothing is missed between
		there, err := l.disk.exists(l.name(after + 1))
		if err == nil && !there && unchecked >= holeEvery {
			unchecked, err = 0, l.holeAt(after+1)
		}
		if err != nil {
			return l.failure("wait", err)
		}
		if there {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-reported:
			l.prompt.Store(true)
		case <-timer.C:
			waited, unchecked = waited+poll, unchecked+poll
			poll = min(max(fastest, waited/8), slowest*l.poll)
			timer.Reset(poll)
		}
	}
}

// reported returns a channel that is closed when a number, or the directory that
// it will be in, may have been created; nil if the system can't report that.
func (l *Log) reported(n handoff.Seq) <-chan struct{} {
	created := l.notify.watch(l.path("log"))
	if linked := l.notify.watch(l.path(l.shardName(n))); created == nil {
		return linked
	}
	return created // the same channel, or one that was closed since
}

// Close ends what Wait started. The log can still be used.
func (l *Log) Close() error { return l.notify.close() }

// path returns the file of a name in the log's directory.
func (l *Log) path(name string) string { return filepath.Join(l.dir, filepath.FromSlash(name)) }

func (l *Log) shardOf(n handoff.Seq) handoff.Seq { return (n - 1) / l.shard }

// shardName returns the name of the directory of a number.
func (l *Log) shardName(n handoff.Seq) string { return fmt.Sprintf("log/%08d", l.shardOf(n)) }

// name returns the name of the file of a number.
func (l *Log) name(n handoff.Seq) string {
	b := make([]byte, 0, len("log/00000000/000000000000.json"))
	b = append(b, "log/"...)
	b = pad(b, int64(l.shardOf(n)), 8)
	b = append(b, '/')
	b = pad(b, int64(n), 12)
	return string(append(b, ".json"...))
}

func pad(b []byte, n int64, width int) []byte {
	var digits [20]byte
	d := strconv.AppendInt(digits[:0], n, 10)
	for i := len(d); i < width; i++ {
		b = append(b, '0')
	}
	return append(b, d...)
}
