// Package localstate keeps what a workspace has on this machine beside its log:
// the runtime directory, which the first write creates, and the index, a SQLite
// file in the runtime directory or in the user's cache, or maps in memory. The
// index is derived from the log, so callers never see the fault of a file: a
// damaged file is quarantined, and the next location answers.
package localstate

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/checkpoint"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"github.com/agent-handoff/handoff/internal/log/sqlindex"
	"github.com/agent-handoff/handoff/internal/tool/durable"
)

// FileName is the file name of an index.
const FileName = "index.db"

// An Index is the index of a log. It is safe for concurrent use by several
// goroutines and, in a file, by several processes.
type Index struct {
	log      handoff.Log
	memory   *Memory
	runtime  string
	dirs     func(id string) []string // the possible directories of a log's index, best first
	progress func(done, total handoff.Seq)
	warn     func(string)

	mu       sync.Mutex
	current  handoff.Index
	file     string       // of current
	release  func() error // closes current
	failures int          // how often a location was abandoned
	locked   []string     // directories whose index is locked by another process
	total    handoff.Seq  // the newest record when the catch-up started
}

var (
	_ handoff.Index       = (*Index)(nil)
	_ handoff.TargetCache = (*Index)(nil)
)

// NewIndex returns the index of the log of a memory. It opens nothing. The possible
// locations are the runtime directory and the cache that getenv names. progress and
// warn may be nil.
func NewIndex(m *Memory, runtime string, getenv func(string) string, progress func(done, total handoff.Seq),
	warn func(string)) *Index {
	return &Index{log: m.log, memory: m, runtime: runtime, dirs: directories(runtime, getenv), progress: progress,
		warn: warn}
}

// maxFailures is the number of abandoned locations after which an index stays
// in memory.
const maxFailures = 3

func (x *Index) Artifact(ctx context.Context, id string) (handoff.Artifact, error) {
	return askQueued(ctx, x, func(at handoff.Index) (handoff.Artifact, error) { return at.Artifact(ctx, id) },
		markQueued)
}

func (x *Index) Artifacts(ctx context.Context, q handoff.ArtifactQuery) (handoff.ArtifactPage, error) {
	mark := func(page *handoff.ArtifactPage, start handoff.Seq) {
		for i := range page.Artifacts {
			markQueued(&page.Artifacts[i], start)
		}
	}
	return askQueued(ctx, x, func(at handoff.Index) (handoff.ArtifactPage, error) { return at.Artifacts(ctx, q) }, mark)
}

func (x *Index) Session(ctx context.Context, id string) (handoff.Session, error) {
	return askQueued(ctx, x, func(at handoff.Index) (handoff.Session, error) { return at.Session(ctx, id) }, nil)
}

func (x *Index) Sessions(ctx context.Context, q handoff.SessionQuery) (handoff.SessionPage, error) {
	return askQueued(ctx, x, func(at handoff.Index) (handoff.SessionPage, error) { return at.Sessions(ctx, q) }, nil)
}

func (x *Index) Work(ctx context.Context, harness, id string) (handoff.Work, error) {
	return askQueued(ctx, x, func(at handoff.Index) (handoff.Work, error) { return at.Work(ctx, harness, id) }, nil)
}

func (x *Index) Seq(ctx context.Context) (handoff.Seq, error) {
	return ask(ctx, x, func(at handoff.Index) (handoff.Seq, error) { return at.Seq(ctx) })
}

func (x *Index) Apply(ctx context.Context, records ...handoff.Record) error {
	if len(records) == 0 {
		return nil
	}
	_, err := ask(ctx, x, func(at handoff.Index) (struct{}, error) { return struct{}{}, at.Apply(ctx, records...) })
	if errors.Is(err, handoff.Conflict) { // another process emptied the index meanwhile
		_, err = ask(ctx, x, func(at handoff.Index) (struct{}, error) {
			return struct{}{}, handoff.CatchUp(ctx, x.log, at)
		})
	}
	if err == nil {
		x.reportProgress(ctx, records[len(records)-1].Seq)
	}
	return err
}

// IDNames implements handoff.IDLister.
func (x *Index) IDNames(ctx context.Context) ([]string, error) {
	return askQueued(ctx, x, func(at handoff.Index) ([]string, error) {
		if lister, ok := at.(handoff.IDLister); ok {
			return lister.IDNames(ctx)
		}
		return nil, nil
	}, nil)
}

// WorkIn implements handoff.WorkLister.
func (x *Index) WorkIn(ctx context.Context, place string) ([]handoff.Work, error) {
	return askQueued(ctx, x, func(at handoff.Index) ([]handoff.Work, error) {
		if lister, ok := at.(handoff.WorkLister); ok {
			return lister.WorkIn(ctx, place)
		}
		return nil, nil
	}, nil)
}

// Productions implements handoff.ProductionLister.
func (x *Index) Productions(ctx context.Context, q handoff.ProductionQuery) ([]handoff.Production, error) {
	return askQueued(ctx, x, func(at handoff.Index) ([]handoff.Production, error) {
		if lister, ok := at.(handoff.ProductionLister); ok {
			return lister.Productions(ctx, q)
		}
		return nil, nil
	}, nil)
}

// KeptThreads implements handoff.KeptThreadLister.
func (x *Index) KeptThreads(ctx context.Context, uri string) ([]handoff.KeptThread, error) {
	return ask(ctx, x, func(at handoff.Index) ([]handoff.KeptThread, error) {
		if lister, ok := at.(handoff.KeptThreadLister); ok {
			return lister.KeptThreads(ctx, uri)
		}
		return nil, nil
	})
}

// RedactedBodies implements handoff.RedactionLister. Bodies whose redaction is queued
// are in the list, too.
func (x *Index) RedactedBodies(ctx context.Context) ([]handoff.Digest, error) {
	return askQueued(ctx, x, func(at handoff.Index) ([]handoff.Digest, error) {
		if lister, ok := at.(handoff.RedactionLister); ok {
			return lister.RedactedBodies(ctx)
		}
		return nil, nil
	}, nil)
}

// WorkUnder implements handoff.WorkLister.
func (x *Index) WorkUnder(ctx context.Context, harness, parent string) ([]handoff.Work, error) {
	return askQueued(ctx, x, func(at handoff.Index) ([]handoff.Work, error) {
		if lister, ok := at.(handoff.WorkLister); ok {
			return lister.WorkUnder(ctx, harness, parent)
		}
		return nil, nil
	}, nil)
}

// Targets implements handoff.TargetCache. A fault of the cache is no reason to
// abandon a location.
func (x *Index) Targets(ctx context.Context, fingerprints map[string]string) (map[string]handoff.Target, error) {
	at, err := x.open(ctx)
	if c, ok := at.(handoff.TargetCache); ok {
		return c.Targets(ctx, fingerprints)
	}
	return nil, err
}

// PutTarget implements handoff.TargetCache.
func (x *Index) PutTarget(ctx context.Context, id, fingerprint string, t handoff.Target) error {
	at, err := x.open(ctx)
	if c, ok := at.(handoff.TargetCache); ok {
		return c.PutTarget(ctx, id, fingerprint, t)
	}
	return err
}

// Manifests tracks the files of sessions, see lifecycle.Pending. An index in memory is not
// shared with other processes and stores nothing.
type Manifests struct{ x *Index }

// Manifests returns what tracks the manifests of sessions.
func (x *Index) Manifests() Manifests { return Manifests{x} }

// at returns the manifests of the index in its file, nil if it is in memory.
func (m Manifests) at(ctx context.Context) (*sqlindex.Manifests, error) {
	at, err := m.x.open(ctx)
	if s, ok := at.(*sqlindex.Index); ok {
		of := s.Manifests()
		return &of, err
	}
	return nil, err
}

// Rendered is that of sqlindex.Manifests.
func (m Manifests) Rendered(ctx context.Context, id string, upTo handoff.Seq, sum string) (again bool, err error) {
	at, err := m.at(ctx)
	if at == nil {
		return false, err
	}
	return at.Rendered(ctx, id, upTo, sum)
}

// Extendable is that of sqlindex.Manifests.
func (m Manifests) Extendable(ctx context.Context, id string) (sum string, err error) {
	at, err := m.at(ctx)
	if at == nil {
		return "", err
	}
	return at.Extendable(ctx, id)
}

// Unrendered is that of sqlindex.Manifests.
func (m Manifests) Unrendered(ctx context.Context, age time.Duration, limit int) ([]string, error) {
	at, err := m.at(ctx)
	if at == nil {
		return nil, err
	}
	return at.Unrendered(ctx, age, limit)
}

// Close releases the index's file. The next query opens it again.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.release == nil {
		return nil
	}
	err := x.release()
	x.current, x.release = nil, nil
	return err
}

// ask runs a query. If the location of the index fails, ask abandons it and runs
// the query in the next one, after it has caught up with the log.
func ask[T any](ctx context.Context, x *Index, query func(handoff.Index) (T, error)) (T, error) {
	for moved := false; ; moved = true {
		at, err := x.open(ctx)
		if err == nil && moved {
			err = handoff.CatchUp(ctx, x.log, at)
		}
		var answer T
		if err == nil {
			answer, err = query(at)
		}
		var fault *sqlindex.Error
		if !errors.As(err, &fault) {
			return answer, err
		}
		x.abandon(at, fault)
	}
}

// open returns the index, which it opens at the first call. Before the log
// exists it is an empty one. The index of a log without an ID is in memory.
func (x *Index) open(ctx context.Context) (handoff.Index, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.current != nil {
		return x.current, nil
	}
	id, hasID, err := LogID(ctx, x.log)
	if err != nil {
		return nil, err
	}
	x.memory.identify(id)
	if hasID && id == "" {
		return fold.NewMemory(), nil
	}
	if hasID && x.failures < maxFailures {
		dirs := x.dirs(id)
		if isOffline(x.log) { // a new index can't be filled; what was only read before is in the cache
			slices.SortStableFunc(dirs, func(a, b string) int {
				return cmp.Compare(min(len(fileID(b)), 1), min(len(fileID(a)), 1))
			})
		}
		for _, dir := range dirs {
			if slices.Contains(x.locked, dir) {
				continue
			}
			err := x.openIn(ctx, dir, id)
			if err == nil {
				return x.current, nil
			}
			if errors.Is(err, errLost) {
				return nil, err
			}
			if isLocked(err) {
				x.skip(dir)
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
		}
	}
	x.current, x.release = fold.NewMemory(), func() error { return nil }
	return x.current, nil
}

// abandon gives up a location. A damaged file is quarantined, so that the next
// process creates a new one.
func (x *Index) abandon(at handoff.Index, fault *sqlindex.Error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.current != at || x.release == nil {
		return // another goroutine was first
	}
	x.release()
	x.current, x.release = nil, nil
	x.failures++
	switch {
	case fault.Damaged:
		quarantine(x.file)
	case fault.Locked:
		x.skip(filepath.Dir(x.file))
	case !fault.Moved:
		x.failures = maxFailures // it is out of space, which will not pass soon
	}
}

func isLocked(err error) bool {
	var fault *sqlindex.Error
	return errors.Is(err, durable.ErrLocked) || (errors.As(err, &fault) && fault.Locked)
}

// skip leaves the index in a directory to the process that has locked it. To
// fill another one may take a while.
func (x *Index) skip(dir string) {
	x.locked = append(x.locked, dir)
	if x.warn != nil {
		x.warn("the index in " + dir + " is locked by another process, which may be stopped; another index is used")
	}
}

// openIn opens the index of the log with the given ID in a directory.
func (x *Index) openIn(ctx context.Context, dir, id string) error {
	file := filepath.Join(dir, FileName)
	at, lock, err := x.openFilled(ctx, dir, id)
	if lock == nil {
		return err
	}
	var fault *sqlindex.Error
	if errors.As(err, &fault) && fault.Damaged {
		lock.Close()
		if err := quarantine(file); err != nil {
			return err
		}
		if at, lock, err = x.openFilled(ctx, dir, id); lock == nil {
			return err
		}
	}
	if err == nil {
		if err = x.validate(ctx, at); err != nil {
			at.Close()
		}
	}
	if err != nil {
		lock.Close()
		return err
	}
	_ = identify(lock, dir) // the next process does it otherwise
	x.current, x.file = at, file
	x.release = func() error { return errors.Join(at.Close(), lock.Close()) }
	return nil
}

// Verify compares the log with what this machine knows of it: the index, and what it
// remembers. Kinds: Corrupt (the log has lost records), and those of the log.
func (x *Index) Verify(ctx context.Context) error {
	if _, err := x.open(ctx); err != nil && !isOffline(x.log) {
		return err
	}
	return x.memory.verify(ctx)
}

// Accept remembers the log as it is now, also if it has lost records. A repair has
// emptied the index.
func (x *Index) Accept(ctx context.Context) error { return x.memory.accept(ctx) }

// validate empties an index whose last record is not the one at that position of
// the log. An index with a position beyond the end of the log is an error: the log has
// lost records. The index is not changed then: nothing else may show what was lost.
func (x *Index) validate(ctx context.Context, at *sqlindex.Index) error {
	p, err := at.Position(ctx)
	if err != nil || p.Seq == 0 {
		return err
	}
	r, found, err := recordAt(ctx, x.log, p.Seq)
	if err == nil && !found {
		refresh(x.log) // another process may have appended it, and indexed it, since the log was asked
		r, found, err = recordAt(ctx, x.log, p.Seq)
	}
	switch {
	case isOffline(x.log): // it is compared when the log can be reached
		return nil
	case err != nil:
		return err
	case !found:
		return lost(checkpoint.Point{Seq: p.Seq}, "it is missing, and the index knows it: "+p.ID)
	case r.ID != p.ID: // the memory decides whether it is the log that changed
		return at.Reset(ctx, p)
	}
	x.memory.confirm(p.Seq, p.ID)
	return nil
}

// reportProgress reports how far the catch-up has come, if the log knows its
// end.
func (x *Index) reportProgress(ctx context.Context, done handoff.Seq) {
	log, ok := x.log.(handoff.Ender)
	if x.progress == nil || !ok {
		return
	}
	x.mu.Lock()
	total := x.total
	x.mu.Unlock()
	if total < done {
		newest, err := log.Newest(ctx) // without x.mu: it may wait for an append that waits for the index
		if err != nil {
			return // the next reader of the log reports it
		}
		total = newest
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.total = max(x.total, total)
	x.progress(done, x.total)
}

// LogID returns the ID of a log, "" if the log does not exist yet, and whether
// the log can have one.
func LogID(ctx context.Context, log handoff.Log) (id string, ok bool, err error) {
	i, ok := log.(handoff.Identifier)
	if !ok {
		return "", false, nil
	}
	id, err = i.ID(ctx)
	return id, true, err
}

// recordAt returns the record at a position of a log, and whether there is one.
func recordAt(ctx context.Context, log handoff.Log, seq handoff.Seq) (handoff.Record, bool, error) {
	for r, err := range log.Read(ctx, seq-1) {
		return r, err == nil, err
	}
	return handoff.Record{}, false, nil
}
