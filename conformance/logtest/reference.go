package logtest

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
)

// A Reference is an index in maps: what any index answers, in the fewest rules. It is for tests.
// Use NewReference to create one.
type Reference struct {
	mu      sync.RWMutex
	seq     handoff.Seq
	damaged []handoff.Seq
	tables  tables
	targets map[string]cachedTarget // by ID
}

type cachedTarget struct {
	fingerprint string
	target      handoff.Target
}

// NewReference returns an empty index.
func NewReference() *Reference {
	return &Reference{targets: map[string]cachedTarget{}, tables: *newTables()}
}

// newTables returns the state of no records.
func newTables() *tables {
	return &tables{
		artifacts: map[string]*fold.ArtifactState{},
		families:  map[string][]string{},
		contests:  map[string][]string{},
		children:  map[string][]string{},
		sessions:  map[string]*handoff.Session{},
		runs:      map[string][]string{},
		works:     map[workKey]*handoff.Work{},
		pointers:  map[pointerKey]string{},
	}
}

// tables is a fold.Keeper in maps.
type tables struct {
	artifacts map[string]*fold.ArtifactState
	order     []*fold.ArtifactState // published artifacts, in the order of the log
	families  map[string][]string   // IDs by family, in the order of the log
	contests  map[string][]string   // IDs by contest, likewise
	children  map[string][]string   // IDs by input
	sessions  map[string]*handoff.Session
	runs      map[string][]string // IDs by parent
	works     map[workKey]*handoff.Work
	pointers  map[pointerKey]string
}

type (
	workKey    struct{ harness, id string }
	pointerKey struct{ space, key string }
)

func (m *tables) Artifact(id string) (*fold.ArtifactState, error) { return m.artifacts[id], nil }
func (m *tables) State(id string) (*fold.ArtifactState, error)    { return m.artifacts[id], nil }
func (m *tables) Session(id string) (*handoff.Session, error)     { return m.sessions[id], nil }
func (m *tables) Work(harness, id string) (*handoff.Work, error) {
	return m.works[workKey{harness, id}], nil
}
func (m *tables) Pointer(space, key string) (string, error) {
	return m.pointers[pointerKey{space, key}], nil
}
func (m *tables) PutWork(w *handoff.Work) error { m.works[workKey{w.Harness, w.ID}] = w; return nil }
func (m *tables) PutPointer(space, key, value string) error {
	m.pointers[pointerKey{space, key}] = value
	return nil
}

func (m *tables) PutArtifact(a *fold.ArtifactState) error {
	m.artifacts[a.ID] = a
	if !known(a) {
		return nil
	}
	// The records of an import are applied after later ones.
	if i, found := slices.BinarySearchFunc(m.order, a.Record.Seq,
		func(a *fold.ArtifactState, seq handoff.Seq) int { return cmp.Compare(a.Record.Seq, seq) }); !found {
		m.order = slices.Insert(m.order, i, a)
		m.families[a.Family] = append(m.families[a.Family], a.ID)
		if a.Contested != "" {
			m.contests[a.Contested] = append(m.contests[a.Contested], a.ID)
		}
	}
	for _, id := range slices.Concat(a.Inputs, a.Known) {
		if !slices.Contains(m.children[id], a.ID) {
			m.children[id] = append(m.children[id], a.ID)
		}
	}
	return nil
}

func (m *tables) PutSession(s *handoff.Session) error {
	m.sessions[s.ID] = s
	if s.Parent != "" && !slices.Contains(m.runs[s.Parent], s.ID) {
		m.runs[s.Parent] = append(m.runs[s.Parent], s.ID)
	}
	return nil
}

func (m *tables) Runs(id string) ([]string, error) { return m.runs[id], nil }

func (m *tables) Children(id string) ([]string, error) { return m.children[id], nil }

func (m *tables) Join(into, from string) error {
	if len(m.families[from]) == 0 {
		return nil
	}
	for _, id := range m.families[from] {
		m.artifacts[id].Family = into
	}
	m.families[into] = m.inOrder(append(m.families[into], m.families[from]...))
	delete(m.families, from)
	return nil
}

func (m *tables) Contest(into string, a *fold.ArtifactState) error {
	group := m.families[a.Family]
	if a.Contested != "" {
		group = m.contests[a.Contested]
		delete(m.contests, a.Contested)
	}
	for _, id := range group {
		m.artifacts[id].Contested = into
	}
	m.contests[into] = m.inOrder(append(m.contests[into], group...))
	return nil
}

// inOrder sorts IDs in the order of the log.
func (m *tables) inOrder(ids []string) []string {
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Compare(m.artifacts[a].Record.Seq, m.artifacts[b].Record.Seq)
	})
	return ids
}

func (m *tables) Heads(group string) ([]string, error) {
	ids, contest := m.contests[group]
	if !contest {
		ids = m.families[group]
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return m.artifacts[id].Status() != handoff.Active
	}), nil
}

// Seq implements Index.
func (m *Reference) Seq(context.Context) (handoff.Seq, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.seq, nil
}

// Apply implements Index.
func (m *Reference) Apply(_ context.Context, records ...handoff.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	records, err := fold.Unapplied(m.seq, records)
	if err != nil {
		return err
	}
	for _, r := range records {
		if _, ok := r.Fact.(*handoff.Damaged); ok {
			m.damaged = append(m.damaged, r.Seq)
			m.seq = r.Seq
			continue
		}
		if err := fold.Apply(&m.tables, r); err != nil {
			return err
		}
		m.seq = r.Seq
	}
	return nil
}

// Targets implements TargetCache.
func (m *Reference) Targets(_ context.Context, fingerprints map[string]string) (map[string]handoff.Target, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	known := map[string]handoff.Target{}
	for id, fingerprint := range fingerprints {
		if v, ok := m.targets[id]; ok && v.fingerprint == fingerprint {
			known[id] = v.target
		}
	}
	return known, nil
}

// IDNames implements handoff.IDLister.
func (m *Reference) IDNames(context.Context) ([]string, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	names := map[string]bool{}
	for _, a := range m.tables.order {
		for name := range a.Record.Producer.IDs {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// PutTarget implements TargetCache.
func (m *Reference) PutTarget(_ context.Context, id, fingerprint string, t handoff.Target) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.targets[id] = cachedTarget{fingerprint, t}
	return nil
}

// Artifact implements Reader.
func (m *Reference) Artifact(_ context.Context, id string) (handoff.Artifact, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	a := m.tables.artifacts[id]
	if !known(a) {
		return handoff.Artifact{}, handoff.E("find artifact", id, handoff.NotFound, nil,
			handoff.Suggest("list every artifact", handoff.ActionListAll))
	}
	return fold.View(&m.tables, a)
}

// newestIn returns the IDs of the artifacts that were published last in sessions or runs.
func (m *tables) newestIn(places []string) map[string]bool {
	if places == nil {
		return nil
	}
	last := map[string]string{}
	for _, a := range m.order {
		for _, slot := range []string{"session", "run"} {
			last[a.Record.Producer.Slot(slot)] = a.ID
		}
	}
	ids := map[string]bool{}
	for _, place := range places {
		if place != "" {
			ids[last[place]] = true
		}
	}
	return ids
}

// Artifacts implements Reader.
func (m *Reference) Artifacts(_ context.Context, q handoff.ArtifactQuery) (handoff.ArtifactPage, error) {
	before, err := handoff.ParseCursor(q.Cursor)
	if err != nil {
		return handoff.ArtifactPage{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	page := handoff.ArtifactPage{Artifacts: []handoff.Artifact{}, Damaged: slices.Clone(m.damaged)}
	family := ""
	if a, ok := m.tables.artifacts[q.Family]; ok {
		family = a.Family
	}
	paths, err := fold.RecordedPaths(&m.tables, q.Paths)
	if err != nil {
		return handoff.ArtifactPage{}, err
	}
	first, _ := slices.BinarySearchFunc(m.tables.order, q.After+1, func(a *fold.ArtifactState, seq handoff.Seq) int {
		return cmp.Compare(a.Record.Seq, seq)
	})
	candidates := m.tables.order[first:]
	if a := m.tables.artifacts[q.IDPrefix]; known(a) {
		candidates = []*fold.ArtifactState{a}
	}
	exact := reflect.DeepEqual(q, handoff.ArtifactQuery{Channel: q.Channel, Limit: q.Limit, Cursor: q.Cursor})
	newest := m.tables.newestIn(q.NewestIn)
	for _, a := range slices.Backward(candidates) {
		if q.NewestIn != nil && !newest[a.ID] {
			continue
		}
		if !selects(q, a.Record, a.Published) || !selectsState(&m.tables, q, a) ||
			(q.Competing && !m.tables.competes(a)) ||
			(q.Family != "" && a.Family != family) || (q.Paths != nil && !slices.Contains(paths, a.Published.Path)) {
			continue
		}
		if !shows(q, a.Status()) {
			if q.Status == "" && (page.HiddenCount < handoff.MaxHidden || exact) {
				page.HiddenCount++
			}
			continue
		}
		if (before != 0 && a.Record.Seq >= before) || page.Cursor != "" {
			continue
		}
		if q.Limit > 0 && len(page.Artifacts) == q.Limit {
			page.Cursor = handoff.NewCursor(page.Artifacts[q.Limit-1].Seq)
			continue
		}
		v, err := fold.View(&m.tables, a)
		if err != nil {
			return handoff.ArtifactPage{}, err
		}
		page.Artifacts = append(page.Artifacts, v)
	}
	return page, nil
}

// competes reports whether a is active and has a Competing.
func (m *tables) competes(a *fold.ArtifactState) bool {
	heads, _ := m.Heads(a.Group())
	return (len(heads) > 1 || len(a.Rivals) > 0) && a.Status() == handoff.Active
}

// Session implements Reader.
func (m *Reference) Session(_ context.Context, id string) (handoff.Session, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s, ok := m.tables.sessions[id]
	if !ok {
		return handoff.Session{}, handoff.E("find session", id, handoff.NotFound, nil,
			handoff.Suggest("list the sessions", handoff.ActionSessions))
	}
	return cloneSession(s), nil
}

// Sessions implements Reader.
func (m *Reference) Sessions(_ context.Context, q handoff.SessionQuery) (handoff.SessionPage, error) {
	after, err := handoff.ParseSessionCursor(q.Cursor)
	if err != nil {
		return handoff.SessionPage{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	page, having := handoff.SessionPage{Sessions: []handoff.Session{}}, map[string]bool{}
	for _, a := range m.tables.order {
		if q.HasKind != nil && a.Status() == handoff.Active && q.HasKind(a.Published.Kind) {
			having[a.Record.Producer.Session], having[a.Record.Producer.RunID] = true, true
		}
	}
	for _, s := range m.tables.sessions {
		if selectsSession(q, s) && (q.Cursor == "" || s.Order().Compare(after) < 0) &&
			(q.HasKind == nil || having[s.ID]) {
			page.Sessions = append(page.Sessions, cloneSession(s))
		}
	}
	slices.SortStableFunc(page.Sessions, func(a, b handoff.Session) int { return b.Order().Compare(a.Order()) })
	if q.Limit > 0 && len(page.Sessions) > q.Limit {
		page.Sessions = page.Sessions[:q.Limit]
		page.Cursor = page.Sessions[q.Limit-1].Order().Cursor()
	}
	return page, nil
}

// Work implements Reader.
func (m *Reference) Work(_ context.Context, harness, id string) (handoff.Work, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	w, ok := m.tables.works[workKey{harness, id}]
	if !ok {
		return handoff.Work{}, handoff.E("find work", id, handoff.NotFound, nil)
	}
	return *w, nil
}

// WorkIn implements handoff.WorkLister.
func (m *Reference) WorkIn(_ context.Context, place string) ([]handoff.Work, error) {
	return m.work(func(w *handoff.Work) bool {
		return place == "" || w.SessionID == place || w.RunID == place || w.Thread == place
	}), nil
}

// fold.RedactedBodies implements handoff.RedactionLister.
func (m *Reference) RedactedBodies(context.Context) ([]handoff.Digest, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return fold.RedactedBodies(m.tables.pointers[pointerKey{fold.RedactedSpace, ""}]), nil
}

// KeptThreads implements handoff.KeptThreadLister.
func (m *Reference) KeptThreads(_ context.Context, uri string) (list []handoff.KeptThread, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for p, value := range m.tables.pointers {
		if p.space != fold.KeptSpace || (uri != "" && p.key != uri) {
			continue
		}
		t, failed := fold.DecodeKept(value)
		list, err = append(list, t), errors.Join(err, failed)
	}
	slices.SortStableFunc(list, func(a, b handoff.KeptThread) int { return strings.Compare(a.Thread, b.Thread) })
	return list, err
}

// WorkUnder implements handoff.WorkLister.
func (m *Reference) WorkUnder(_ context.Context, harness, parent string) ([]handoff.Work, error) {
	return m.work(func(w *handoff.Work) bool { return parent != "" && w.Harness == harness && w.Parent == parent }), nil
}

func (m *Reference) work(selects func(*handoff.Work) bool) (list []handoff.Work) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, w := range m.tables.works {
		if selects(w) {
			list = append(list, *w)
		}
	}
	slices.SortStableFunc(list, fold.CompareWork)
	return list
}
