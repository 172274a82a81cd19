package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/durable"
	"github.com/agent-handoff/handoff/internal/filelog"
	"github.com/agent-handoff/handoff/internal/localindex"
)

// A Backend stores the log and the bodies of a workspace. HANDOFF_LOG selects it
// by the scheme of its URL.
//
// A backend implements the optional interfaces of package handoff as far as it
// can: without handoff.Identifier the index is in memory, without the others
// check, repair and collect do less. A log that implements io.Closer is closed
// with the workspace.
type Backend struct {
	Scheme string

	// Open returns the log and its body store. It creates nothing and opens no
	// connection: a workspace that is only opened leaves nothing behind.
	Open func(BackendOptions) (handoff.Log, handoff.Bodies, error)
}

// BackendOptions are what a Backend gets to open a log.
type BackendOptions struct {
	Location *url.URL  // the value of HANDOFF_LOG
	Runtime  string    // the runtime directory, which exists before the first write
	Rand     io.Reader // for the log's ID
}

// fileBackend is the built-in backend: a directory of numbered files in the
// runtime directory.
var fileBackend = Backend{Scheme: "file", Open: func(o BackendOptions) (handoff.Log, handoff.Bodies, error) {
	if o.Location.Opaque+o.Location.Host+o.Location.Path != "" {
		return nil, nil, &handoff.Error{Op: "open log", Name: locationName(o.Location), Kind: handoff.Invalid, Err: errors.New("HANDOFF_LOG: file: takes no path"),
			Hint: handoff.Advice("set HANDOFF_DIR to move the runtime directory")}
	}
	log := filelog.Open(o.Runtime, o.Rand)
	return log, log.Bodies(), nil
}}

// openBackend opens the log and body store that a location names, "" for the
// built-in one.
//
// Kinds: Invalid (the location), and those of the backend.
func openBackend(location string, backends []Backend, o BackendOptions) (handoff.Log, handoff.Bodies, error) {
	backends = append([]Backend{fileBackend}, backends...)
	if location == "" {
		location = fileBackend.Scheme + ":"
	}
	var err error
	if o.Location, err = url.Parse(location); err != nil || o.Location.Scheme == "" {
		// A URL that can't be parsed may contain a password, so it is not shown.
		return nil, nil, badLocation("", "not a URL of the form scheme:location", backends)
	}
	for _, b := range backends {
		if b.Scheme == o.Location.Scheme {
			return b.Open(o)
		}
	}
	return nil, nil, badLocation(locationName(o.Location), fmt.Sprintf("unknown scheme %q", o.Location.Scheme), backends)
}

// locationName returns a location without user name and password.
func locationName(u *url.URL) string {
	shown := *u
	shown.User = nil
	shown.Opaque = shown.Opaque[strings.LastIndexByte(shown.Opaque, '@')+1:]
	return shown.String()
}

func badLocation(name, reason string, backends []Backend) error {
	var known []string
	for _, b := range backends {
		known = append(known, b.Scheme+":")
	}
	slices.Sort(known)
	return &handoff.Error{Op: "open log", Name: name, Kind: handoff.Invalid, Err: errors.New("HANDOFF_LOG: " + reason),
		Hint: handoff.Advice("set HANDOFF_LOG to one of " + strings.Join(known, ", ") + " or unset it")}
}

// A runtimeDir is the runtime directory of a workspace, which the first write
// creates.
type runtimeDir struct {
	path string
	log  handoff.Log

	mu      sync.Mutex
	ready   bool
	created bool // by this process
}

const ignoreName = ".gitignore"

// create creates the directory with a .gitignore in it. In a directory that
// contains a log already, a missing .gitignore was removed by its owner.
func (d *runtimeDir) create(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ready {
		return nil
	}
	_, err := os.Lstat(filepath.Join(d.path, ignoreName))
	if errors.Is(err, fs.ErrNotExist) {
		if id, _, _ := localindex.LogID(ctx, d.log); id == "" {
			err = d.createAll()
		} else {
			err = nil
		}
	}
	if err != nil {
		return &handoff.Error{Op: "create workspace", Name: d.path, Kind: handoff.Unavailable, Err: durable.Reason(err),
			Hint: handoff.Advice("set HANDOFF_DIR to a writable directory")}
	}
	d.ready = true
	return nil
}

func (d *runtimeDir) createAll() error {
	parent := filepath.Dir(d.path)
	if err := createDirs(parent); err != nil {
		return err
	}
	err := os.Mkdir(d.path, filelog.DirMode(d.path))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if d.created = err == nil; d.created {
		if err := syncDirectory(parent); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return err
	}
	defer root.Close()
	return durable.Replace(root, ignoreName, func(w io.Writer) error {
		_, err := io.WriteString(w, "*\n")
		return err
	})
}

// createDirs is os.MkdirAll with durable entries.
func createDirs(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := createDirs(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDirectory(filepath.Dir(dir))
}

func syncDirectory(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	return errors.Join(durable.SyncDir(root, "."), root.Close())
}

// undo removes what create created if nothing was added: a first write that
// fails leaves nothing behind.
func (d *runtimeDir) undo() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.created {
		return
	}
	entries, err := os.ReadDir(d.path)
	if err == nil && len(entries) == 1 && entries[0].Name() == ignoreName {
		os.Remove(filepath.Join(d.path, ignoreName))
		os.Remove(d.path)
		d.ready, d.created = false, false
	}
}

// A guardedLog is the log of a workspace. It creates the runtime directory
// before the first record. It refuses to append to a log that has lost records
// which the index knows: their positions would be given away twice.
type guardedLog struct {
	handoff.Log
	runtime *runtimeDir
	index   *localindex.Index

	mu      sync.Mutex
	checked bool // the log has every record that the index knew at the first append
}

// newGuardedLog returns a guardedLog that is also a handoff.Filer if the log is.
func newGuardedLog(log handoff.Log, d *runtimeDir, x *localindex.Index) handoff.Log {
	g := &guardedLog{Log: log, runtime: d, index: x}
	if f, ok := log.(handoff.Filer); ok {
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
	if err := g.runtime.create(ctx); err != nil {
		return 0, err
	}
	seq, err := g.Log.Append(ctx, r)
	if err != nil {
		g.runtime.undo()
	}
	return seq, err
}

func (g *guardedLog) check(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.checked {
		return nil
	}
	if known := g.index.Known(ctx); known > 0 {
		_, found, err := localindex.RecordAt(ctx, g.Log, known)
		if err != nil {
			return err
		}
		if !found {
			return &handoff.Error{Op: "append", Name: fmt.Sprintf("after record %d", known), Kind: handoff.Corrupt,
				Err:  errors.New("the index knows this record, but it is missing from the log"),
				Hint: handoff.Suggest("accept the loss and continue after the last record that exists", handoff.ActionRepair)}
		}
	}
	g.checked = true
	return nil
}

// runtimeBodies are the bodies of a workspace: Put creates the runtime
// directory.
type runtimeBodies struct {
	handoff.Bodies
	runtime *runtimeDir
}

// Put implements handoff.Bodies.
func (b runtimeBodies) Put(ctx context.Context, r io.Reader) (handoff.Digest, error) {
	if err := b.runtime.create(ctx); err != nil {
		return handoff.Digest{}, err
	}
	d, err := b.Bodies.Put(ctx, r)
	if err != nil {
		b.runtime.undo()
	}
	return d, err
}
