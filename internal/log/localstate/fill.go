package localstate

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/sqlindex"
)

// long is the number of records from which on an index is filled before it is opened. A shorter one
// takes a fraction of a second either way. Tests change it.
var long handoff.Seq = 4096

// fill makes the index in a directory, if it is needed and the log is long. One process does that,
// and the others wait for it. If it fails, records are applied to the index that is opened next.
func (p *place) fill(ctx context.Context, dir, id string, needed func() bool) {
	log, ok := p.log.(handoff.Ender)
	if !ok || !needed() {
		return
	}
	newest, err := log.Newest(ctx)
	if err != nil || newest < long {
		return // whoever reads the log reports it
	}
	lock, err := lockFile(ctx, dir, syscall.LOCK_EX, 0)
	if err != nil {
		return // a process has the index open, or the directory can't be written
	}
	defer lock.Close()
	if !needed() {
		return // another process has filled it
	}
	_ = sqlindex.Fill(ctx, filepath.Join(dir, FileName), id, p.read(ctx), func(done handoff.Seq) {
		p.progress.reached(ctx, done)
	})
	_ = identify(lock, dir) // the next process does it otherwise
}

// openFilled opens the index in a directory, and returns its shared lock, too, if it has that. If
// the index is missing or of another schema, it is filled first, if that is possible.
func (p *place) openFilled(ctx context.Context, dir, id string) (*sqlindex.Index, *os.File, error) {
	file := filepath.Join(dir, FileName)
	p.fill(ctx, dir, id, func() bool {
		_, err := os.Lstat(file)
		return errors.Is(err, fs.ErrNotExist)
	})
	lock, err := lockIndex(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	at, err := sqlindex.OpenCurrent(ctx, file, id)
	if !sqlindex.IsFormer(err) {
		return at, lock, err
	}
	lock.Close()
	p.fill(ctx, dir, id, func() bool {
		at, err := sqlindex.OpenCurrent(ctx, file, id)
		if err == nil {
			at.Close()
		}
		return sqlindex.IsFormer(err)
	})
	if lock, err = lockIndex(ctx, dir); err != nil {
		return nil, nil, err
	}
	at, err = sqlindex.Open(ctx, file, id)
	return at, lock, err
}
