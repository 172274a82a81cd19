package workspace

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/filelog"
	"github.com/agent-handoff/handoff/internal/sqlindex"
)

// indexName is the file of the index in the directory that it lies in.
const indexName = "index.db"

// An index is a workspace's: in SQLite below the runtime directory, else in
// the user's cache, else in memory. What it holds is derived from the log, so
// trouble with a file is never its callers' trouble: the file is put aside or
// left alone, and the answer comes from the next place.
type index struct {
	log      *filelog.Log
	runtime  string
	dirs     func(id string) []string // where the index of a log may lie, best first
	progress func(done, total handoff.Seq)

	mu      sync.Mutex
	at      handoff.Index
	file    string       // in which at lies
	release func() error // gives up what at holds
	moves   int          // how often a place was left
	lost    handoff.Seq  // a place that an index knows, and the log has no more
	total   handoff.Seq  // the newest record when catching up began
}

var (
	_ handoff.Index       = (*index)(nil)
	_ handoff.TargetCache = (*index)(nil)
)

// maxMoves is how often an index looks for a better place before it stays in
// memory.
const maxMoves = 3

func (x *index) Artifact(ctx context.Context, id string) (handoff.Artifact, error) {
	return ask(ctx, x, func(at handoff.Index) (handoff.Artifact, error) { return at.Artifact(ctx, id) })
}

func (x *index) Artifacts(ctx context.Context, q handoff.ArtifactQuery) (handoff.ArtifactPage, error) {
	return ask(ctx, x, func(at handoff.Index) (handoff.ArtifactPage, error) { return at.Artifacts(ctx, q) })
}

func (x *index) Session(ctx context.Context, id string) (handoff.Session, error) {
	return ask(ctx, x, func(at handoff.Index) (handoff.Session, error) { return at.Session(ctx, id) })
}

func (x *index) Sessions(ctx context.Context, q handoff.SessionQuery) (handoff.SessionPage, error) {
	return ask(ctx, x, func(at handoff.Index) (handoff.SessionPage, error) { return at.Sessions(ctx, q) })
}

func (x *index) Work(ctx context.Context, harness, id string) (handoff.Work, error) {
	return ask(ctx, x, func(at handoff.Index) (handoff.Work, error) { return at.Work(ctx, harness, id) })
}

func (x *index) Seq(ctx context.Context) (handoff.Seq, error) {
	return ask(ctx, x, func(at handoff.Index) (handoff.Seq, error) { return at.Seq(ctx) })
}

func (x *index) Apply(ctx context.Context, records ...handoff.Record) error {
	if len(records) == 0 {
		return nil
	}
	_, err := ask(ctx, x, func(at handoff.Index) (struct{}, error) { return struct{}{}, at.Apply(ctx, records...) })
	if errors.Is(err, handoff.Conflict) { // another process emptied the index meanwhile
		_, err = ask(ctx, x, func(at handoff.Index) (struct{}, error) { return struct{}{}, handoff.CatchUp(ctx, x.log, at) })
	}
	if err == nil {
		x.reportProgress(records[len(records)-1].Seq)
	}
	return err
}

// Verdicts implements handoff.TargetCache. Trouble with verdicts is no reason to
// leave a place.
func (x *index) Targets(ctx context.Context, fingerprints map[string]string) (map[string]handoff.Target, error) {
	at, err := x.place(ctx)
	if v, ok := at.(handoff.TargetCache); ok {
		return v.Targets(ctx, fingerprints)
	}
	return nil, err
}

// PutVerdict implements handoff.TargetCache.
func (x *index) PutTarget(ctx context.Context, id, fingerprint string, t handoff.Target) error {
	at, err := x.place(ctx)
	if v, ok := at.(handoff.TargetCache); ok {
		return v.PutTarget(ctx, id, fingerprint, t)
	}
	return err
}

// Rendered implements session.Pending. An index in memory knows no other
// process, and remembers nothing.
func (x *index) Rendered(ctx context.Context, id string, upTo handoff.Seq) error {
	at, err := x.place(ctx)
	if s, ok := at.(*sqlindex.Index); ok {
		return s.Rendered(ctx, id, upTo)
	}
	return err
}

// unrendered returns some sessions that nobody rendered for so long.
func (x *index) unrendered(ctx context.Context, age time.Duration) ([]string, error) {
	at, err := x.place(ctx)
	if s, ok := at.(*sqlindex.Index); ok {
		return s.Unrendered(ctx, age, leftMost)
	}
	return nil, err
}

// Close releases the index's file. A question that is asked later opens it
// again.
func (x *index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.lost = 0
	if x.release == nil {
		return nil
	}
	err := x.release()
	x.at, x.release = nil, nil
	return err
}

// ask asks where the index lies; and, where that place is in trouble, once
// more in the next, when it has been brought up to the log.
func ask[T any](ctx context.Context, x *index, question func(handoff.Index) (T, error)) (T, error) {
	for moved := false; ; moved = true {
		at, err := x.place(ctx)
		if err == nil && moved {
			err = handoff.CatchUp(ctx, x.log, at)
		}
		var answer T
		if err == nil {
			answer, err = question(at)
		}
		var trouble *sqlindex.Error
		if !errors.As(err, &trouble) {
			return answer, err
		}
		x.leave(at, trouble)
	}
}

// place returns the index, which it opens at the first call. Before there is a
// log, it is an empty one.
func (x *index) place(ctx context.Context) (handoff.Index, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.at != nil {
		return x.at, nil
	}
	id, err := x.log.ID()
	if err != nil {
		return nil, err
	}
	if id == "" {
		return handoff.NewMemory(), nil
	}
	for _, dir := range x.dirs(id) {
		if x.moves >= maxMoves {
			break
		}
		err := x.openIn(ctx, dir, id)
		if err == nil {
			return x.at, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	x.at, x.release = handoff.NewMemory(), func() error { return nil }
	return x.at, nil
}

// leave gives up a place. A damaged file is put aside, so that the next one to
// open it starts anew.
func (x *index) leave(at handoff.Index, trouble *sqlindex.Error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.at != at || x.release == nil {
		return // another goroutine was first
	}
	x.release()
	x.at, x.release = nil, nil
	x.moves++
	switch {
	case trouble.Damaged:
		putAside(x.file)
	case !trouble.Moved:
		x.moves = maxMoves // it is held up, or out of room: this won't pass soon
	}
}

// openIn opens the index of the log with the given id in a directory.
func (x *index) openIn(ctx context.Context, dir, id string) error {
	file := filepath.Join(dir, indexName)
	free, err := share(dir)
	if err != nil {
		return err
	}
	at, err := sqlindex.Open(ctx, file, id)
	var trouble *sqlindex.Error
	if errors.As(err, &trouble) && trouble.Damaged {
		free()
		if err := putAside(file); err != nil {
			return err
		}
		if free, err = share(dir); err != nil {
			return err
		}
		at, err = sqlindex.Open(ctx, file, id)
	}
	if err == nil {
		if err = x.verify(ctx, at); err != nil {
			at.Close()
		}
	}
	if err != nil {
		free()
		return err
	}
	x.at, x.file = at, file
	x.release = func() error { return errors.Join(at.Close(), free()) }
	return nil
}

// passed returns a place that had a record, as far as the index knows.
func (x *index) passed() handoff.Seq {
	at, err := x.place(context.Background())
	if err != nil {
		return 0
	}
	x.mu.Lock()
	lost := x.lost
	x.mu.Unlock()
	file, ok := at.(*sqlindex.Index)
	if !ok {
		return lost
	}
	p, _ := file.Position(context.Background()) // of one in trouble, nothing is known
	return max(p.Seq, lost)
}

// errLost says that an index knows more than the log has.
var errLost = errors.New("the log has lost what the index knows")

// verify empties an index whose last record is not the one that the log has at
// its place. One that knows of a place beyond the log's end is left alone, for
// it is all that tells of what was lost, and not used.
func (x *index) verify(ctx context.Context, at *sqlindex.Index) error {
	p, err := at.Position(ctx)
	if err != nil || p.Seq == 0 {
		return err
	}
	r, found, err := x.log.At(p.Seq)
	switch {
	case err != nil || found && r.ID == p.ID:
		return err
	case !found:
		x.lost = max(x.lost, p.Seq)
		return errLost
	}
	return at.Reset(ctx, p)
}

// tell reports how far catching up has come.
func (x *index) reportProgress(done handoff.Seq) {
	if x.progress == nil {
		return
	}
	x.mu.Lock()
	total := x.total
	x.mu.Unlock()
	if total < done {
		newest, err := x.log.Newest() // which may wait for an append that waits for the index
		if err != nil {
			return // whoever reads the log will say so
		}
		total = newest
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.total = max(x.total, total)
	x.progress(done, x.total)
}
