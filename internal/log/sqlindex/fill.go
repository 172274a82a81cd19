package sqlindex

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// Filling returns the name of the file in which Fill makes an index. While it does, the time of
// the file changes several times in a second.
func Filling(file string) string {
	return filepath.Join(filepath.Dir(file), ".handoff-"+filepath.Base(file))
}

// paused returns the name of a file that Fill began and a later Fill continues.
func paused(file string) string { return Filling(file) + "-paused" }

// A Reading returns the records of a log after a position.
type Reading func(after handoff.Seq) iter.Seq2[handoff.Record, error]

// Fill makes the index of the log with the given ID, of which read returns the records, in another
// file, and gives it the name file when it is complete. Until then nothing is synced, nothing can be
// rolled back, and the indexes that only queries use are missing, so that it takes less time than
// Apply. If ctx ends, the next Fill goes on from there. What a killed process leaves is removed by
// the next one. The index ends before a record that can't be read. The caller prevents that anyone
// else uses file or fills it. Its errors are *Error and the context's.
func Fill(ctx context.Context, file, log string, read Reading, applied func(handoff.Seq)) error {
	fresh := Filling(file)
	if err := takeUp(file); err != nil {
		return &Error{Err: err}
	}
	defer keepTouching(fresh)()
	x := in(fresh, log, "journal_mode(OFF)", "synchronous(OFF)", "locking_mode(EXCLUSIVE)", "cache_size(-10000)")
	var stopped error
	err := x.db.Use(context.WithoutCancel(ctx), func(c *sqlite.Conn) (err error) {
		stopped, err = fill(ctx, c, log, read, applied) // it ends between two batches
		return err
	})
	if err = cmp.Or(err, x.Close()); err == nil {
		target := file
		if stopped != nil {
			target = paused(file)
		}
		err = rename(fresh, target)
	}
	if err != nil {
		os.Remove(fresh)
	}
	return cmp.Or(stopped, wrapError(ctx, err))
}

// Empty returns the index of a log that does not exist yet. It has no database, which takes a while to
// create: its queries have no rows. An index asks its Place again as long as it has this one.
func Empty() *Index { return &Index{empty: true} }

// FillMemory opens an index in memory with the records that read returns, up to one that can't be
// read. That takes less time than Apply.
func FillMemory(ctx context.Context, read Reading, applied func(handoff.Seq)) (*Index, error) {
	x := &Index{db: sqlite.NewMemory()}
	var stopped error
	err := x.db.Use(ctx, func(c *sqlite.Conn) (err error) {
		stopped, err = fill(ctx, c, "", read, applied)
		return err
	})
	if err = cmp.Or(stopped, wrapError(ctx, err)); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

// fill applies the records to a database that nobody else uses. stopped is the error of ctx that
// ended it between two batches: nothing else is interrupted.
func fill(ctx context.Context, c *sqlite.Conn, log string, read Reading,
	applied func(handoff.Seq)) (stopped, err error) {
	running := context.WithoutCancel(ctx)
	p, err := position(running, c, log)
	if foreign(err) {
		err = create(running, c, log, selectingFew()) // to look for them at the end takes longer
	}
	if err = cmp.Or(err, c.Exec(running, `BEGIN`)); err != nil {
		return nil, err
	}
	records := func(yield func(handoff.Record, error) bool) {
		for r, err := range read(p.Seq) {
			if stopped = ctx.Err(); stopped != nil || err != nil || !yield(r, nil) {
				return
			}
		}
	}
	err = applyUpTo(running, c, records, math.MaxInt64, applied)
	if err = cmp.Or(err, c.Exec(running, `COMMIT`)); err != nil {
		return stopped, err
	}
	// The memory that sorting takes is not needed for pages.
	statements := append(selecting(), `PRAGMA journal_mode = WAL`)
	for _, statement := range append([]string{`PRAGMA cache_size(-4000)`, `PRAGMA shrink_memory`}, statements...) {
		if stopped = cmp.Or(stopped, ctx.Err()); stopped != nil {
			return stopped, nil
		}
		if err := c.Exec(running, statement); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// takeUp removes what a killed Fill left, and takes up what another one has paused.
func takeUp(file string) error {
	fresh := Filling(file)
	for _, suffix := range []string{"", "-journal", "-wal", "-shm"} {
		if err := os.RemoveAll(fresh + suffix); err != nil {
			return err
		}
	}
	if err := checkFiles(paused(file)); err != nil {
		return err
	}
	if err := os.Rename(paused(file), fresh); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// rename gives a complete database, which is closed, the name of an index, of which no process has
// a write-ahead log.
func rename(fresh, file string) error {
	f, err := os.OpenFile(fresh, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Remove(file + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Rename(fresh, file)
}

// keepTouching sets the time of a file again and again, until stop.
func keepTouching(file string) (stop func()) {
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case now := <-time.After(waitFor):
				_ = os.Chtimes(file, now, now) // it may be missing
			}
		}
	}()
	return func() { close(done) }
}
