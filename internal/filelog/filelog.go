// Package filelog keeps a log as a directory of numbered files.
//
// A record is written once, to a temporary file, and then linked to the next
// free number. A number that exists is complete and never changes.
//
//	<runtime directory>/
//	  log/ID                              random identity, minted with the log
//	  log/00000000/000000000042.json      record 42, and a checksum; its name is its place
//	  log/tmp/                            named temporaries, where the system has no unnamed ones
//	  artifacts/records/art_….json        a second link to an artifact's record, under its id
//
// Any number of processes may append and read at once. There is no lock and no
// daemon: whoever links a number first has it, and the others take the next.
package filelog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
)

// shardSize is how many records a directory of the log holds.
const shardSize = 4096

// guarded is how many numbers beyond a free one are looked at before a record
// is put there.
const guarded = 64

// pollEvery is how often Wait looks for the next number.
const pollEvery = 20 * time.Millisecond

// beyondEvery is after how many polls Wait looks whether what it waits for is
// a hole that others have passed.
const beyondEvery = 50

// A Log is a handoff.Log below one runtime directory. Nothing is made there
// before the first Append.
type Log struct {
	// Passed, if it is set, returns a place that had a record, 0 for none: Append
	// refuses, with kind Corrupt, to put one there or before.
	Passed func() handoff.Seq

	dir    string
	disk   disk
	shard  handoff.Seq
	random io.Reader

	mu    sync.Mutex  // held while a number is taken
	made  bool        // the directory is known to hold a log
	last  handoff.Seq // a number that was seen to exist
	sure  handoff.Seq // a number after which no number was found to exist
	asked bool        // the log goes on beyond what Passed returned
}

var (
	_ handoff.Log   = (*Log)(nil)
	_ handoff.Filer = (*Log)(nil)
)

// Open returns the log below a runtime directory, which need not exist yet.
// Its identity is drawn from random.
func Open(dir string, random io.Reader) *Log {
	return newLog(dir, newSystem(dir), shardSize, random)
}

func newLog(dir string, d disk, shard handoff.Seq, random io.Reader) *Log {
	return &Log{dir: dir, disk: d, shard: shard, random: random, sure: -1}
}

// ID returns the log's identity, or "" where there is no log yet.
func (l *Log) ID() (string, error) {
	b, err := os.ReadFile(filepath.Join(l.dir, idName))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", l.failure("read log", err)
	}
	return string(bytes.TrimSpace(b)), nil
}

// Append implements handoff.Log. Where the record got its place but could not
// be brought to stable storage, it returns that place with the error.
func (l *Log) Append(ctx context.Context, r handoff.Record) (handoff.Seq, error) {
	b, err := r.JSON()
	if err != nil {
		return 0, err
	}
	if err := l.Make(); err != nil {
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
	seq, stepped, err := l.take(t)
	if err != nil {
		return 0, err
	}
	if err := l.settle(seq, stepped); err != nil {
		return seq, &handoff.Error{Op: "append", Name: l.name(seq), Kind: handoff.Unavailable,
			Err:  fmt.Errorf("the record is written, but may not survive a power loss: %w", reason(err)),
			Hint: handoff.Advice("handoff list shows it; publish it again only if it is gone")}
	}
	return seq, nil
}

// settle brings the name at seq to stable storage. The numbers that were
// stepped over may not be there yet either, and without them it would follow a
// hole.
func (l *Log) settle(seq, stepped handoff.Seq) error {
	if stepped != 0 && l.shardOf(stepped) != l.shardOf(seq) {
		if err := l.disk.syncDir(l.shardName(stepped)); err != nil {
			return err
		}
	}
	return l.disk.syncDir(l.shardName(seq))
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
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for polls := 1; ; polls++ {
		there, err := l.disk.exists(l.name(after + 1))
		if err == nil && !there && polls%beyondEvery == 0 {
			err = l.holeAt(after + 1)
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
		case <-tick.C:
		}
	}
}

// path returns where a name below the runtime directory lies.
func (l *Log) path(name string) string { return filepath.Join(l.dir, filepath.FromSlash(name)) }

func (l *Log) shardOf(n handoff.Seq) handoff.Seq { return (n - 1) / l.shard }

// shardName returns the directory of a number, below the runtime directory.
func (l *Log) shardName(n handoff.Seq) string { return fmt.Sprintf("log/%08d", l.shardOf(n)) }

// name returns the file of a number, below the runtime directory.
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
