package localstate

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/internal/log/remote"
	"github.com/agent-handoff/handoff/internal/tool/durable"
)

// A Dir is the runtime directory of a workspace, which the first write creates.
type Dir struct {
	path string
	rand io.Reader
	log  handoff.Log // nothing is created for one that does not exist; nil for none

	mu      sync.Mutex
	ready   bool
	created bool // by this process
}

// IgnoreName is the name of the file that keeps the directory out of git, with the
// content ignoreAll.
const (
	IgnoreName = ".gitignore"
	ignoreAll  = "*\n"
)

// NewDir returns a runtime directory. It creates nothing.
func NewDir(path string, rand io.Reader) *Dir { return &Dir{path: path, rand: rand} }

// Create creates the directory with its marker and a .gitignore, or adds both to one that
// a person made or reading left.
//
// Kinds: Unavailable, Invalid (the directory is another program's), Unsupported (it has
// the format of a later version).
func (d *Dir) Create(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ready {
		return nil
	}
	s, err := inspect(d.path)
	if err == nil {
		err = s.writable(d.path)
	}
	if err == nil && !s.marked {
		err = d.missing(ctx)
	}
	if err == nil && !s.marked {
		err = d.createAll()
	}
	var known *handoff.Error
	if err != nil && !errors.As(err, &known) {
		return handoff.E("create workspace", d.path, handoff.Unavailable, durable.Reason(err),
			handoff.UnwritableHint(d.path, err))
	}
	d.ready = err == nil
	return err
}

// missing returns the error of a log that does not exist.
func (d *Dir) missing(ctx context.Context) error {
	if e, ok := d.log.(interface{ Exists(context.Context) error }); ok {
		return e.Exists(ctx)
	}
	return nil
}

// Writable returns an error of kind Unsupported if the directory has the format of a
// later version.
func (d *Dir) Writable() error {
	s, err := inspect(d.path)
	if err != nil {
		return err
	}
	return s.writable(d.path)
}

// createAll writes the marker last: a directory that has one is complete.
func (d *Dir) createAll() error {
	parent := filepath.Dir(d.path)
	if err := durable.MakeDirs(parent, 0o777); err != nil {
		return err
	}
	err := os.Mkdir(d.path, filelog.DirMode(d.path))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err == nil {
		d.created = true
		if err := syncDirectory(parent); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return err
	}
	defer root.Close()
	if _, err := root.Lstat(IgnoreName); errors.Is(err, fs.ErrNotExist) {
		if err := durable.Replace(root, IgnoreName,
			func(w io.Writer) error { _, err := io.WriteString(w, ignoreAll); return err }); err != nil {
			return err
		}
	}
	return writeMarker(root)
}

func syncDirectory(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	return errors.Join(durable.SyncDir(root, "."), root.Close())
}

// Created reports whether Create created the directory, and no other process.
func (d *Dir) Created() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.created
}

// undo removes what Create created if nothing was added: a first write that
// fails leaves nothing behind.
func (d *Dir) undo() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.created {
		return
	}
	entries, err := os.ReadDir(d.path)
	if err != nil || slices.ContainsFunc(entries,
		func(e os.DirEntry) bool { return e.Name() != IgnoreName && e.Name() != MarkerName }) {
		return
	}
	for _, e := range entries {
		os.Remove(filepath.Join(d.path, e.Name()))
	}
	if os.Remove(d.path) != nil && d.createAll() == nil { // another process has used it since
		return
	}
	d.ready, d.created = false, false
}

// A guardedLog is the result of GuardLog. Without the check before the first append,
// the positions of lost records would be given away twice.
type guardedLog struct {
	handoff.Log
	runtime *Dir
	index   *Index
	remote  bool

	mu      sync.Mutex
	warned  bool // that the log can't be reached
	checked bool // the log had every record that this machine knew at the first append
}

// GuardLog returns the log of an index as one that creates the runtime directory before
// the first record, remembers what it reads and appends, and ends with kind Corrupt if
// records that this machine knows are missing. It is a handoff.Filer if the log is. The
// records of a remote log carry the origin.
func (d *Dir) GuardLog(x *Index) handoff.Log {
	d.log = x.place.log
	g := &guardedLog{Log: x.place.log, runtime: d, index: x, remote: x.place.memory.remote}
	if f, ok := x.place.log.(handoff.Filer); ok {
		return struct {
			*guardedLog
			handoff.Filer
		}{g, f}
	}
	return g
}

// Append implements handoff.Log.
func (g *guardedLog) Append(ctx context.Context, r handoff.Record) (handoff.Seq, error) {
	if err := g.check(ctx); err != nil {
		return 0, err
	}
	if err := g.runtime.Create(ctx); err != nil {
		return 0, err
	}
	var seq handoff.Seq
	var err error
	if g.remote {
		r.Origin, err = g.runtime.NewOrigin()
	}
	if err == nil {
		seq, err = g.Log.Append(ctx, r)
	}
	if err != nil {
		g.runtime.undo()
		return seq, err
	}
	g.index.place.memory.appended(ctx, seq, r.ID)
	return seq, nil
}

// Read implements handoff.Log.
func (g *guardedLog) Read(ctx context.Context, after handoff.Seq) iter.Seq2[handoff.Record, error] {
	return g.index.place.memory.read(ctx, after)
}

// outlastPause is how long a watch waits before it asks again.
const outlastPause = time.Second

// Outlast implements handoff.Outlaster: a watch of a remote log goes on when its engine
// is back.
func (g *guardedLog) Outlast(ctx context.Context, err error) error {
	if !g.remote || !errors.Is(err, handoff.Unavailable) {
		return err
	}
	g.mu.Lock()
	if g.index.place.warn != nil && !g.warned {
		g.index.place.warn("the log can't be reached; the watch goes on when it can: " + err.Error())
	}
	g.warned = true
	g.mu.Unlock()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(outlastPause):
		return nil
	}
}

func (g *guardedLog) check(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.checked {
		return nil
	}
	err := g.index.Verify(ctx)
	if isOffline(g.Log) {
		return nil
	}
	if err != nil {
		return err
	}
	g.checked = true
	return nil
}

// GuardBodies returns bodies whose Put creates the runtime directory. It is a
// handoff.BodyFetcher if bodies is, whose Fetch does so, too, and reports its progress
// to fetching, which may be nil.
func GuardBodies(bodies handoff.Bodies, d *Dir, fetching func(done, total int64)) handoff.Bodies {
	g := guardedBodies{bodies, d}
	if f, ok := bodies.(handoff.BodyFetcher); ok {
		return guardedFetcher{g, f, fetching}
	}
	return g
}

type guardedBodies struct {
	handoff.Bodies
	runtime *Dir
}

// Put implements handoff.Bodies.
func (b guardedBodies) Put(ctx context.Context, r io.Reader) (handoff.Digest, error) {
	if err := b.runtime.Create(ctx); err != nil {
		return handoff.Digest{}, err
	}
	d, err := b.Bodies.Put(ctx, r)
	if err != nil {
		b.runtime.undo()
	}
	return d, err
}

type guardedFetcher struct {
	guardedBodies
	fetcher  handoff.BodyFetcher
	fetching func(done, total int64)
}

// Fetch implements handoff.BodyFetcher.
func (b guardedFetcher) Fetch(ctx context.Context, d handoff.Digest, size int64) error {
	if there, err := b.fetcher.Fetched(ctx, d); err != nil || there {
		return err
	}
	if err := b.runtime.Create(ctx); err != nil {
		return err
	}
	if b.fetching != nil {
		ctx = remote.WithProgress(ctx, b.fetching)
	}
	err := b.fetcher.Fetch(ctx, d, size)
	if err != nil {
		b.runtime.undo()
	}
	return err
}

// Fetched implements handoff.BodyFetcher.
func (b guardedFetcher) Fetched(ctx context.Context, d handoff.Digest) (bool, error) {
	return b.fetcher.Fetched(ctx, d)
}
