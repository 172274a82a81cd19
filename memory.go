package handoff

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// Memory is an Index over maps. It is complete, and lasts as long as the
// process; the zero value is not ready, use NewMemory.
type Memory struct {
	mu      sync.RWMutex
	seq     Seq
	damaged []Seq
	state   memoryStore
}

// NewMemory returns an empty index.
func NewMemory() *Memory {
	return &Memory{state: memoryStore{
		artifacts: map[string]*artifactState{},
		families:  map[string][]*artifactState{},
		sessions:  map[string]*Session{},
		works:     map[workKey]*Work{},
		pointers:  map[pointerKey]*string{},
	}}
}

type (
	workKey    struct{ harness, id string }
	pointerKey struct{ space, key string }
)

type memoryStore struct {
	artifacts map[string]*artifactState
	order     []*artifactState // those that are known, in the order of the log
	families  map[string][]*artifactState
	sessions  map[string]*Session
	works     map[workKey]*Work
	pointers  map[pointerKey]*string
}

func (m *memoryStore) artifact(id string) (*artifactState, error) {
	return entry(m.artifacts, id), nil
}
func (m *memoryStore) session(id string) (*Session, error) {
	s := entry(m.sessions, id)
	s.ID = id
	return s, nil
}
func (m *memoryStore) work(harness, id string) (*Work, error) {
	w := entry(m.works, workKey{harness, id})
	w.Harness, w.ID = harness, id
	return w, nil
}
func (m *memoryStore) pointer(space, key string) (*string, error) {
	return entry(m.pointers, pointerKey{space, key}), nil
}

func (m *memoryStore) join(into, from string) error {
	for _, a := range m.families[from] {
		a.Family = into
	}
	m.families[into] = append(m.families[into], m.families[from]...)
	delete(m.families, from)
	return nil
}

func entry[K comparable, V any](m map[K]*V, key K) *V {
	v, ok := m[key]
	if !ok {
		v = new(V)
		m[key] = v
	}
	return v
}

// Seq implements Index.
func (m *Memory) Seq(context.Context) (Seq, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.seq, nil
}

// Apply implements Index.
func (m *Memory) Apply(_ context.Context, records ...Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range records {
		if r.Seq <= m.seq {
			continue
		}
		if _, ok := r.Fact.(*Damaged); ok {
			m.damaged = append(m.damaged, r.Seq)
			m.seq = r.Seq
			continue
		}
		if err := fold(&m.state, r); err != nil {
			return err
		}
		m.seq = r.Seq
		if a, ok := m.state.artifacts[r.ID]; ok && a.Record.Seq == r.Seq {
			m.state.order = append(m.state.order, a)
			m.state.families[a.Family] = append(m.state.families[a.Family], a)
		}
	}
	return nil
}

// Artifact implements Reader.
func (m *Memory) Artifact(_ context.Context, id string) (Artifact, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	a, ok := m.state.artifacts[id]
	if !ok || !a.known() {
		return Artifact{}, &Error{Op: "find artifact", Name: id, Kind: NotFound, Hint: "handoff list --all shows every artifact"}
	}
	return m.view(a), nil
}

// Artifacts implements Reader.
func (m *Memory) Artifacts(_ context.Context, q ArtifactQuery) (ArtifactPage, error) {
	before, err := q.before()
	if err != nil {
		return ArtifactPage{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	page := ArtifactPage{Artifacts: []Artifact{}, Damaged: slices.Clone(m.damaged)}
	family := ""
	if a, ok := m.state.artifacts[q.Family]; ok {
		family = a.Family
	}
	candidates := m.state.order
	if a, ok := m.state.artifacts[q.IDPrefix]; ok && a.known() {
		candidates = []*artifactState{a}
	}
	for _, a := range slices.Backward(candidates) {
		if !q.matches(a.Record, a.Published) || q.Family != "" && a.Family != family {
			continue
		}
		if !q.shows(a.status()) {
			page.Hidden++
			continue
		}
		if before != 0 && a.Record.Seq >= before || page.Cursor != "" {
			continue
		}
		if q.Limit > 0 && len(page.Artifacts) == q.Limit {
			page.Cursor = encodeCursor(page.Artifacts[q.Limit-1].Seq)
			continue
		}
		page.Artifacts = append(page.Artifacts, m.view(a))
	}
	return page, nil
}

// Session implements Reader.
func (m *Memory) Session(_ context.Context, id string) (Session, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s, ok := m.state.sessions[id]
	if !ok {
		return Session{}, &Error{Op: "find session", Name: id, Kind: NotFound}
	}
	return s.clone(), nil
}

// Sessions implements Reader.
func (m *Memory) Sessions(_ context.Context, q SessionQuery) (SessionPage, error) {
	before := Seq(0)
	if q.Cursor != "" {
		var err error
		if before, err = decodeCursor(q.Cursor); err != nil {
			return SessionPage{}, err
		}
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	page := SessionPage{Sessions: []Session{}}
	for _, s := range m.state.sessions {
		if q.matches(s) && (before == 0 || s.Opened < before) {
			page.Sessions = append(page.Sessions, s.clone())
		}
	}
	slices.SortFunc(page.Sessions, func(a, b Session) int { return cmp.Compare(b.Opened, a.Opened) })
	if q.Limit > 0 && len(page.Sessions) > q.Limit {
		page.Sessions = page.Sessions[:q.Limit]
		page.Cursor = encodeCursor(page.Sessions[q.Limit-1].Opened)
	}
	return page, nil
}

// Work implements Reader.
func (m *Memory) Work(_ context.Context, harness, id string) (Work, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	w, ok := m.state.works[workKey{harness, id}]
	if !ok {
		return Work{}, &Error{Op: "find work", Name: id, Kind: NotFound}
	}
	return *w, nil
}

// view computes what a reader sees of an artifact.
func (m *Memory) view(a *artifactState) Artifact {
	v := Artifact{Record: a.Record, ArtifactPublished: *a.Published, Status: a.status()}
	v.ReplacedBy = m.replacedBy(a)
	if v.Status == Active {
		for _, b := range m.state.families[a.Family] {
			if b != a && b.status() == Active {
				v.Competing = append(v.Competing, b.Record.ID)
			}
		}
	}
	for _, id := range a.Published.Replaces {
		if !slices.Contains(a.Below, id) {
			v.Unresolved = append(v.Unresolved, id)
		}
	}
	for _, id := range a.Published.Parents {
		if p, ok := m.state.artifacts[id]; !ok || !p.known() {
			v.Unresolved = append(v.Unresolved, id)
		}
	}
	p := a.Record.Producer
	if s, ok := m.state.sessions[cmp.Or(p.RunID, p.Session)]; ok && s.Closed != 0 {
		v.Late = s.Closed < a.Record.Seq
	}
	return v
}

// replacedBy returns the nearest artifacts that stand in a's place and were
// not withdrawn.
func (m *Memory) replacedBy(a *artifactState) []string {
	var ids []string
	seen := map[string]bool{}
	todo := slices.Clone(a.Above)
	for len(todo) > 0 {
		id := todo[0]
		todo = todo[1:]
		if seen[id] {
			continue
		}
		seen[id] = true
		if b := m.state.artifacts[id]; b.Withdrawn {
			todo = append(todo, b.Above...)
			continue
		}
		ids = append(ids, id)
	}
	if a.Outdated && !a.Withdrawn {
		head := m.state.pointers[pointerKey{nameSpace, nameKey(a.Published)}]
		if !seen[*head] {
			ids = append(ids, *head)
		}
	}
	return ids
}
