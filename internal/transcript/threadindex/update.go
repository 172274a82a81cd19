package threadindex

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex/store"
	"github.com/agent-handoff/handoff/thread"
)

// recent is how long a file may change again without a change of its times.
const recent = time.Second

// state identifies a transcript with its content. It never equals that of an
// earlier call if the transcript has just changed. One that changed much later than
// now did so before the clock was set back.
func state(s *thread.Stored, now time.Time) int64 {
	key := append(append(append(make([]byte, 0, 256), s.Provider...), ':'), s.Key...) // not on the heap
	if age := now.Sub(s.Changed); age < recent && age > -time.Minute {
		key = append(append(key, 0), now.String()...)
	}
	const prime = 1099511628211 // of FNV-1a, which takes single bytes
	h := s.Stamp
	for ; len(key) >= 8; key = key[8:] {
		word := uint64(key[0]) | uint64(key[1])<<8 | uint64(key[2])<<16 | uint64(key[3])<<24 |
			uint64(key[4])<<32 | uint64(key[5])<<40 | uint64(key[6])<<48 | uint64(key[7])<<56
		h = (h ^ word) * prime
		h ^= h >> 32
	}
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * prime
		h ^= h >> 32
	}
	return int64(h)
}

// An update brings a database up to the transcripts.
type update struct {
	*store.Database
	*catalog
	now      time.Time
	progress func(done, total int)
	most     int // transcripts that may have changed, 0 for no limit
	reader   reader
	tails    bool
	only     func(*thread.Stored) bool // selects the transcripts that are read, nil for all

	again map[string]bool // keys of the transcripts that have changed
	done  map[string]bool // keys of the transcripts that were read
	total int
	touched
	warnings []string

	first   bool   // all transcripts in the database are of this update
	version *int64 // of the data when this update last stored something
}

// touched are the threads whose transcripts changed. Other transcripts may have
// copies of their records.
type touched struct{ families, uris map[string]bool }

// run reads the transcripts that changed, and then those that depend on them. If the
// digest of their states is that of the database, none did.
func (u *update) run(ctx context.Context) error {
	states, digest := make([]int64, len(u.all)), int64(0)
	for i, s := range u.all {
		states[i] = state(s, u.now)
		digest ^= states[i]
	}
	var indexed int64
	if err := u.QueryRowContext(ctx, "SELECT states FROM digest").Scan(&indexed); err != nil || indexed == digest {
		return err
	}
	u.again, u.done = map[string]bool{}, map[string]bool{}
	u.families, u.uris = map[string]bool{}, map[string]bool{}
	known, err := u.known(ctx)
	if err != nil {
		return err
	}
	var changed []*thread.Stored
	for i, n := range states {
		if !known[n] && (u.only == nil || u.only(u.all[i])) {
			changed = append(changed, u.all[i])
		}
		delete(known, n)
	}
	if u.most > 0 && len(changed) > u.most {
		return errMany
	}
	if len(known) > 0 {
		if err := u.remove(ctx, known); err != nil {
			return err
		}
	}
	for {
		u.total += len(changed)
		if err := u.read(ctx, changed); err != nil {
			return err
		}
		if changed, err = u.dependent(ctx); err != nil || len(changed) == 0 {
			return err
		}
	}
}

// compared notes that the transcripts of some threads, nil for all, were compared.
func (u *update) compared(ctx context.Context, threads []string) (err error) {
	if threads == nil {
		threads = []string{allThreads}
	}
	return u.Transact(ctx, func() error {
		for _, name := range threads {
			err = errors.Join(err, u.Exec(ctx, "INSERT OR REPLACE INTO compared VALUES (?, ?)", name, nanos(u.now)))
		}
		return err
	})
}

// errMany is the error of an update that would take long.
var errMany = errors.New("many transcripts have changed")

// known returns the states of the transcripts in the database.
func (u *update) known(ctx context.Context) (map[int64]bool, error) {
	rows, err := u.QueryContext(ctx, "SELECT state FROM transcripts")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	known := map[int64]bool{}
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		known[n] = true
	}
	return known, rows.Err()
}

// remove removes the transcripts with these states that were removed. Those that have
// changed are replaced when they have been read.
func (u *update) remove(ctx context.Context, states map[int64]bool) error {
	return u.Transact(ctx, func() error {
		for n := range states {
			var key string
			err := u.QueryRowContext(ctx, "SELECT key FROM transcripts WHERE state = ?", n).Scan(&key)
			if errors.Is(err, sql.ErrNoRows) {
				continue // another process removed it
			}
			if err != nil {
				return err
			}
			if u.stored(key) != nil {
				u.again[key] = true
			} else if err := u.forget(ctx, key, marked{}); err != nil {
				return err
			}
		}
		return nil
	})
}

// forget removes a transcript, except what is before a mark.
func (u *update) forget(ctx context.Context, key string, before marked) error {
	const selected = "transcript IN (SELECT id FROM transcripts WHERE key = ?)"
	var ids []int64
	err := u.Each(ctx, func(r *sqlite.Row) {
		ids = append(ids, r.Integer())
		u.touch(r.Text(), r.Text())
	}, "SELECT id, uri, family FROM threads WHERE "+selected, key)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := u.forgetThread(ctx, id, before); err != nil {
			return err
		}
	}
	return u.Exec(ctx, "DELETE FROM transcripts WHERE key = ?", key)
}

func (u *update) forgetThread(ctx context.Context, id int64, before marked) error {
	if err := u.Exec(ctx, "DELETE FROM words WHERE rowid BETWEEN ? AND ?", store.Segment(id, before.Segments),
		store.Segment(id+1, -1)); err != nil {
		return err
	}
	last := before.Last
	if before.Segments == 0 {
		last = -1 // a call before the first message has number 0
		if err := u.Exec(ctx, "DELETE FROM marks WHERE thread = ?", id); err != nil {
			return err
		}
	}
	for _, table := range []string{"touches", "commands", "mentions", "reports"} {
		if err := u.Exec(ctx, "DELETE FROM "+table+" WHERE thread = ? AND n > ?", id, last); err != nil {
			return err
		}
	}
	for _, statement := range []string{"DELETE FROM requests WHERE thread = ?", "DELETE FROM tools WHERE thread = ?",
		"DELETE FROM threads WHERE id = ?"} {
		if err := u.Exec(ctx, statement, id); err != nil {
			return err
		}
	}
	return nil
}

func (t touched) touch(uri, family string) {
	t.uris[uri] = true
	if family != "" {
		t.families[family] = true
	}
}

// dependent returns the transcripts that may have copies of records that changed.
// Each is returned once.
func (u *update) dependent(ctx context.Context) (list []*thread.Stored, err error) {
	if len(u.done) == len(u.all) {
		return nil, nil
	}
	for column, values := range map[string]map[string]bool{"family": u.families, "origin": u.uris} {
		for value := range values {
			err := u.Each(ctx, func(r *sqlite.Row) {
				key := r.Text()
				if s := u.stored(key); s != nil && !u.done[key] {
					u.done[key] = true
					list = append(list, s)
				}
			}, "SELECT key FROM threads WHERE "+column+" = ? AND "+column+" <> ''", value)
			if err != nil {
				return nil, err
			}
		}
	}
	clear(u.families)
	clear(u.uris)
	return list, nil
}

// A reading is a transcript that was read.
type reading struct {
	*thread.Stored
	entries []*entry
	err     error

	thread int64    // in the index, if it has the part before a mark, otherwise 0
	before tailMark // that mark
}

func (r reading) size() (n int) {
	for _, e := range r.entries {
		for _, words := range e.words {
			n += len(words)
		}
		n += rowSize * (len(e.touches) + len(e.commands) + len(e.mentions) + len(e.reports) + len(e.Requests))
	}
	return n
}

// The limits of a transaction. An interrupted build loses at most one.
const (
	maxBatch = 128
	maxBytes = 8 << 20
	rowSize  = 100 // about, of what is not words
)

// read reads transcripts on all processors and stores them. What was stored before
// an error stays.
func (u *update) read(ctx context.Context, list []*thread.Stored) error {
	if len(list) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	readings := make(chan reading)
	go func() {
		defer close(readings)
		u.readAll(ctx, list, readings)
	}()
	var batch []reading
	size := 0
	flush := func() error {
		err := u.Transact(ctx, func() error {
			if err := u.isFirst(ctx); err != nil {
				return err
			}
			for _, r := range batch {
				if err := u.store(ctx, r); err != nil {
					return err
				}
			}
			return nil
		})
		batch, size = batch[:0], 0
		if u.progress != nil {
			u.progress(len(u.done), u.total)
		}
		return err
	}
	for r := range readings {
		batch, size = append(batch, r), size+r.size()
		if len(batch) < maxBatch && size < maxBytes {
			continue
		}
		if err := flush(); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return flush()
}

// isFirst sets first, in a transaction: the database was empty, and no other process has
// changed it since.
func (u *update) isFirst(ctx context.Context) error {
	var version int64
	if err := u.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version); err != nil {
		return err
	}
	if u.version != nil {
		u.first = u.first && version == *u.version
		return nil
	}
	u.version = &version
	return u.QueryRowContext(ctx, "SELECT NOT EXISTS (SELECT 1 FROM transcripts)").Scan(&u.first)
}

// readAll sends the transcripts of a list, in any order.
func (u *update) readAll(ctx context.Context, list []*thread.Stored, readings chan<- reading) {
	next := make(chan *thread.Stored)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for s := range next {
				select {
				case readings <- u.reading(ctx, s):
				case <-ctx.Done():
				}
			}
		})
	}
	for _, s := range list {
		if ctx.Err() != nil {
			break
		}
		next <- s
	}
	close(next)
	wg.Wait()
}

// readEntries reads the threads in a transcript.
func readEntries(ctx context.Context, s *thread.Stored) (list []*entry, err error) {
	threads, err := open(ctx, s)
	for _, t := range threads {
		e, failed := readEntry(ctx, t)
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		list = append(list, e)
	}
	return list, err
}

// store stores a transcript in place of an earlier state of it. One that can't be
// read is stored without its state, so that it is read again.
func (u *update) store(ctx context.Context, r reading) error {
	key := keyOf(r.Stored)
	again := u.done[key]
	u.done[key] = true
	n := state(r.Stored, u.now)
	if r.thread > 0 {
		if id, before := u.mark(ctx, key); id != r.thread || before.Offset != r.before.Offset {
			return nil // another process has stored it since; what it did not read, the next update reads
		}
	}
	if r.err != nil {
		if errors.Is(r.err, context.Canceled) {
			return r.err
		}
		if !errors.Is(r.err, handoff.NotFound) {
			u.warnings = append(u.warnings, r.err.Error())
		}
		n = state(&thread.Stored{Provider: r.Provider, Key: r.Key, Changed: u.now}, u.now)
	}
	if !u.first || again {
		if err := u.forget(ctx, key, r.before.Known); err != nil {
			return err
		}
	}
	id, err := u.Insert(ctx, "INSERT INTO transcripts (key, state) VALUES (?, ?)", key, n)
	for _, e := range r.entries {
		if err == nil {
			err = u.storeEntry(ctx, id, r, e)
		}
	}
	return err
}

func (u *update) storeEntry(ctx context.Context, transcript int64, r reading, e *entry) error {
	var item []byte
	var err error
	if e.tools != nil { // it was read completely
		if item, err = handoff.EncodeJSON(e.Item); err != nil {
			return err
		}
	}
	name, parent := e.agent()
	var models []string
	for _, m := range e.Usage.Models {
		models = append(models, strings.ToLower(m.Model))
	}
	origin := ""
	if e.ForkedFrom != "" {
		origin = thread.URI{Provider: e.Provider, Thread: e.ForkedFrom}.String()
	}
	uri := e.URI.String()
	u.touch(uri, e.Family)
	id, err := u.Insert(ctx,
		`INSERT INTO threads (id, transcript, key, provider, uri, parent, agent, title, role, name, cwd, modified, started, ended, status, models, completeness, reason, family, origin, continues, item, agent_name, self, shell, spawned)
		VALUES (nullif(?, 0), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, r.thread, transcript, keyOf(r.Stored), e.Provider, uri, parent, e.IsAgent(), e.Name(), strings.ToLower(e.AgentRole), strings.ToLower(e.AgentName),
		e.Cwd, ordered(e.Modified), nanos(e.Started), nanos(e.Last), string(e.State.Status),
		strings.Join(models, "\n"), string(e.Usage.Completeness), e.Usage.Reason, e.Family, origin,
		e.Continues.String(), string(item), name, e.Thread.URI().String(), e.ShellID, strings.Join(e.Spawned, "\n"))
	if err != nil {
		return err
	}
	if e.tools == nil {
		return u.storeRequests(ctx, id, e)
	}
	if err := u.storeWords(ctx, id, e); err != nil {
		return err
	}
	return u.storeRows(ctx, id, e)
}

// storeRows stores what an entry has besides its words.
func (u *update) storeRows(ctx context.Context, id int64, e *entry) (err error) {
	insert := func(query string, args ...any) {
		if err == nil {
			err = u.Exec(ctx, query, args...)
		}
	}
	for _, t := range e.touches {
		insert("INSERT INTO touches VALUES (?, ?, ?, ?, ?)", id, t.n, nanos(t.at), t.path,
			slices.Index(accesses, t.access))
	}
	for _, c := range e.commands {
		insert("INSERT INTO commands VALUES (?, ?, ?, ?, ?, ?, ?)", id, c.n, nanos(c.at), c.line, c.exit, c.failed,
			c.output)
	}
	for _, m := range e.mentions {
		insert("INSERT INTO mentions VALUES (?, ?, ?, ?, ?)", id, m.n, nanos(m.at), m.name, string(m.where))
	}
	for _, r := range e.reports {
		insert("INSERT INTO reports VALUES (?, ?, ?, ?, ?, ?, ?)", id, r.URI.From, nanos(r.At), r.Artifact, r.Call, r.Model,
			r.does())
	}
	for name := range e.tools {
		insert("INSERT INTO tools (name, thread) VALUES (?, ?)", name, id)
	}
	return errors.Join(err, u.storeRequests(ctx, id, e))
}

func (u *update) storeRequests(ctx context.Context, id int64, e *entry) error {
	if len(e.Requests) == 0 {
		return nil
	}
	return u.Exec(ctx, "INSERT INTO requests VALUES (?, ?)", id, encodeRequests(e.Requests))
}
