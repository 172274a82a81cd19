package sqlindex

import (
	"cmp"
	"context"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// A store is a fold.Store over one transaction. It caches what it loaded, and
// that it found nothing.
type store struct {
	ctx       context.Context
	c         *sqlite.Conn
	artifacts map[string]*fold.ArtifactState
	states    map[string]*fold.ArtifactState // without records
	sessions  map[string]*handoff.Session
	works     map[workKey]*handoff.Work
	pointers  map[pointerKey]string
	unpointed map[string]bool // keys without a value in any space
	heads     map[string][]string
	rows      map[string]string         // the table of an artifact's row
	statuses  map[string]handoff.Status // of artifacts, as in their rows
	marks     map[string][]mark         // likewise
}

type (
	workKey    struct{ harness, id string }
	pointerKey struct{ space, key string }
)

var _ fold.Store = (*store)(nil)

func newStore(ctx context.Context, c *sqlite.Conn) *store {
	return &store{ctx, c, map[string]*fold.ArtifactState{}, map[string]*fold.ArtifactState{},
		map[string]*handoff.Session{},
		map[workKey]*handoff.Work{}, map[pointerKey]string{}, map[string]bool{}, map[string][]string{},
		map[string]string{},
		map[string]handoff.Status{}, map[string][]mark{}}
}

const (
	artifactRow = `SELECT seq, id, record, state, sum, family, coalesce(contest, ''), status FROM artifacts WHERE id`
	namedRow    = `SELECT id, state FROM named WHERE id`
	sessionRow  = `SELECT id, state FROM sessions WHERE id`
	workRow     = `SELECT harness, id, state FROM works WHERE harness = ? AND id`
	pointerRow  = `SELECT key, space, value FROM pointers WHERE key`
)

// Artifact implements fold.Store.
func (s *store) Artifact(id string) (*fold.ArtifactState, error) {
	if a, ok := s.artifacts[id]; ok {
		return a, nil
	}
	if err := s.load(artifactRow+` = ?`, s.scanArtifact, id); err != nil {
		return nil, err
	}
	if _, ok := s.artifacts[id]; !ok {
		if err := s.load(namedRow+` = ?`, s.scanNamed, id); err != nil {
			return nil, err
		}
	}
	if _, ok := s.artifacts[id]; !ok {
		s.artifacts[id] = nil
	}
	return s.artifacts[id], nil
}

// State implements fold.Store.
func (s *store) State(id string) (*fold.ArtifactState, error) {
	if a, ok := s.artifacts[id]; ok {
		return a, nil
	}
	if _, ok := s.states[id]; !ok {
		if err := s.load(artifactRow+` = ?`, s.scanState, id); err != nil {
			return nil, err
		}
	}
	if a, ok := s.states[id]; ok {
		return a, nil
	}
	return s.Artifact(id)
}

func (s *store) Session(id string) (*handoff.Session, error) {
	if found, ok := s.sessions[id]; ok {
		return found, nil
	}
	if id == "" { // no session has this ID, and most views ask for it
		return nil, nil
	}
	err := s.load(sessionRow+` = ?`, s.scanSession, id)
	if _, ok := s.sessions[id]; !ok {
		s.sessions[id] = nil
	}
	return s.sessions[id], err
}

func (s *store) Work(harness, id string) (*handoff.Work, error) {
	key := workKey{harness, id}
	if w, ok := s.works[key]; ok {
		return w, nil
	}
	s.works[key] = nil
	err := s.load(workRow+` = ?`, s.scanWork, harness, id)
	return s.works[key], err
}

func (s *store) Pointer(space, key string) (string, error) {
	p := pointerKey{space, key}
	if value, ok := s.pointers[p]; ok || s.unpointed[key] {
		return value, nil
	}
	s.pointers[p] = ""
	// A key has few spaces. SQLite would compare the space with that of a partial index, and
	// prepare the query again for each value.
	_, err := s.c.One(s.ctx, `SELECT value FROM pointers WHERE key = ? AND +space = ?`, []any{key, space},
		func(r *sqlite.Row) { s.pointers[p] = r.Text() })
	return s.pointers[p], err
}

func (s *store) Heads(group string) ([]string, error) {
	if ids, ok := s.heads[group]; ok {
		return ids, nil
	}
	err := s.loadHeads([]string{group})
	return s.heads[group], err
}

// loadHeads loads the active artifacts of groups: of families, and of contests.
func (s *store) loadHeads(groups []string) error {
	for _, query := range []string{
		`SELECT family, id FROM artifacts INDEXED BY by_family WHERE status = 'active' AND contest IS NULL AND family`,
		`SELECT contest, id FROM artifacts INDEXED BY by_contest WHERE status = 'active' AND contest`,
	} {
		for portion := range sqlite.Portions(groups) {
			if err := s.load(query+sqlite.Among+` ORDER BY seq`, s.scanHead, portion...); err != nil {
				return err
			}
		}
	}
	return nil
}

// load calls scan for each row of a query.
func (s *store) load(query string, scan func(*sqlite.Row) error, args ...any) error {
	for r, err := range s.c.Each(s.ctx, query, args...) {
		if err == nil {
			err = cmp.Or(scan(r), r.Err())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// loadAll is load for several values at once.
func (s *store) loadAll(query string, scan func(*sqlite.Row) error, values []string) error {
	for portion := range sqlite.Portions(values) {
		if err := s.load(query+sqlite.Among, scan, portion...); err != nil {
			return err
		}
	}
	return nil
}

func (s *store) scanArtifact(r *sqlite.Row) error {
	a, err := artifactFrom(r)
	if err != nil {
		return err
	}
	s.artifacts[a.ID] = a
	s.rows[a.ID] = "artifacts"
	s.statuses[a.ID] = a.Status()
	s.marks[a.ID] = marksOf(a)
	return nil
}

func (s *store) scanNamed(r *sqlite.Row) error {
	id, state := r.Text(), r.Text()
	a := &fold.ArtifactState{ID: id}
	if err := decodeState(a, state); err != nil {
		return err
	}
	s.artifacts[id], s.rows[id] = a, "named"
	return nil
}

func (s *store) scanSession(r *sqlite.Row) error {
	id, state := r.Text(), r.Text()
	found := new(handoff.Session)
	s.sessions[id] = found
	return decode("session "+id, state, found)
}

func (s *store) scanWork(r *sqlite.Row) error {
	key := workKey{r.Text(), r.Text()}
	s.works[key] = new(handoff.Work)
	return decode("work "+key.id, r.Text(), s.works[key])
}

func (s *store) scanPointer(r *sqlite.Row) error {
	key := r.Text()
	space := r.Text()
	value := r.Text()
	s.pointers[pointerKey{space, key}] = value
	delete(s.unpointed, key)
	return nil
}

func (s *store) scanHead(r *sqlite.Row) error {
	group, id := r.Text(), r.Text()
	s.heads[group] = append(s.heads[group], id)
	return nil
}

// unread replaces the published fact of a record that was not decoded. It marks
// the artifact as known.
var unread = new(handoff.ArtifactPublished)

// scanState is scanArtifact for an artifact whose record is not needed.
func (s *store) scanState(r *sqlite.Row) error {
	a, _, err := stateFrom(r)
	if err != nil {
		return err
	}
	s.states[a.ID] = a
	return nil
}

// artifactFrom decodes a row with the columns of artifactRow.
func artifactFrom(r *sqlite.Row) (*fold.ArtifactState, error) {
	a, record, err := stateFrom(r)
	if err != nil {
		return nil, err
	}
	a.Record = handoff.StoredRecord(a.Record.Seq, record)
	a.Published, _ = a.Record.Fact.(*handoff.ArtifactPublished)
	if a.Published == nil || a.Record.ID != a.ID {
		return nil, damaged("artifact %s was altered", a.ID)
	}
	return a, nil
}

// stateFrom is artifactFrom without decoding the record, which it returns as
// stored. It verifies the checksum of the row.
func stateFrom(r *sqlite.Row) (a *fold.ArtifactState, record []byte, err error) {
	seq, id := r.Integer(), r.Text()
	record = r.Blob()
	state, sum := r.Text(), r.Integer()
	a = &fold.ArtifactState{ID: id, Published: unread, Family: r.Text(), Contested: r.Text()}
	a.Record.Seq = handoff.Seq(seq)
	if checksum(seq, record, state) != sum {
		return nil, nil, damaged("artifact %s was altered", id)
	}
	if err := decodeState(a, state); err != nil {
		return nil, nil, err
	}
	if status := r.Text(); string(a.Status()) != status {
		return nil, nil, damaged("artifact %s was altered: its status is %s", id, a.Status())
	}
	return a, record, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum covers everything that views and folds take from an artifact's row.
func checksum(seq int64, record []byte, state string) int64 {
	sum := crc32.Update(uint32(seq), castagnoli, record)
	return int64(crc32.Update(sum, castagnoli, []byte(state)))
}

// encodeState returns "" for an artifact without relations, as most are.
func encodeState(a *fold.ArtifactState) (string, error) {
	text, err := encode(a)
	if text == "{}" {
		return "", err
	}
	return text, err
}

func decodeState(a *fold.ArtifactState, text string) error {
	if text == "" {
		return nil
	}
	return decode("artifact "+a.ID, text, a)
}

func encode(v any) (string, error) {
	b, err := handoff.EncodeJSON(v)
	return string(b), err
}

func decode(what, text string, v any) error {
	if err := jsonl.Unmarshal(text, v); err != nil {
		return damaged("%s: %w", what, fmt.Errorf("was altered: %w", err))
	}
	return nil
}

// absent returns the IDs that are not in the cache.
func absent[V any](ids []string, cached map[string]V) []string {
	slices.Sort(ids)
	return slices.DeleteFunc(slices.Compact(ids), func(id string) bool {
		_, ok := cached[id]
		return ok || id == ""
	})
}
