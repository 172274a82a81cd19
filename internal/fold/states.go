package fold

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
	"unique"

	"github.com/agent-handoff/handoff"
)

// States is what an index stores, in as little memory as possible: encoded, and
// without records. It answers no query and is compared with an index of the same
// log. Of the record of an artifact that came before, folds get Seq, Channel,
// Namespace and Name only, which is all that they use.
type States struct {
	seq       handoff.Seq
	damaged   []handoff.Seq
	artifacts map[string]storedState
	published int                 // how many of them have a record
	members   map[string][]string // IDs by family, of families with several
	children  map[string][]string // IDs by input
	sessions  map[string]string
	runs      map[string][]string // IDs by parent
	works     map[workKey]string
	pointers  map[pointerKey]string

	// What the fold of the current record has loaded and put.
	loaded map[string]*ArtifactState
	put    map[string]bool
}

// A storedState is an ArtifactState without its ID.
type storedState struct {
	seq     handoff.Seq // 0 if the artifact was not published so far
	sum     uint32      // of its record
	channel unique.Handle[string]
	more    *moreState // nil if it has no relations
}

type moreState struct {
	family          string // "" for its own
	namespace, name string
	state           string // as JSON, "" for none
}

func (v storedState) details() moreState {
	if v.more == nil {
		return moreState{}
	}
	return *v.more
}

// publishedType is the type of the record of an artifact, which is not stored in
// addition to its state.
const publishedType = "artifact.published"

// NewStates returns the states before the first record.
func NewStates() *States {
	return &States{artifacts: map[string]storedState{}, members: map[string][]string{}, children: map[string][]string{}, sessions: map[string]string{}, runs: map[string][]string{},
		works: map[workKey]string{}, pointers: map[pointerKey]string{}, loaded: map[string]*ArtifactState{}, put: map[string]bool{}}
}

// Seq returns the sequence number of the last record applied.
func (s *States) Seq() handoff.Seq { return s.seq }

// Apply applies the next record.
func (s *States) Apply(r handoff.Record) error {
	s.seq = r.Seq
	if _, ok := r.Fact.(*handoff.Damaged); ok {
		s.damaged = append(s.damaged, r.Seq)
		return nil
	}
	if err := Apply(s, r); err != nil {
		return err
	}
	return s.endRecord()
}

// endRecord encodes what the fold of one record has put.
func (s *States) endRecord() error {
	for id := range s.put {
		if err := s.store(s.loaded[id]); err != nil {
			return err
		}
	}
	clear(s.loaded)
	clear(s.put)
	return nil
}

// store encodes what was put. Strings of records are cloned, because records share
// memory.
func (s *States) store(a *ArtifactState) error {
	state, err := encodeState(a)
	if err != nil {
		return err
	}
	more, stored := moreState{state: state}, s.artifacts[a.ID]
	if a.Published != nil {
		more.namespace, more.name = strings.Clone(a.Published.Namespace), strings.Clone(a.Published.Name)
		if a.Family != a.ID {
			more.family = strings.Clone(a.Family)
		}
	}
	fresh := a.Published != nil && stored.seq == 0
	if stored.more = nil; more != (moreState{}) {
		stored.more = &more
	}
	if !fresh {
		s.artifacts[strings.Clone(a.ID)] = stored
		return nil
	}
	b, err := a.Record.JSON()
	if err != nil {
		return err
	}
	id := strings.Clone(a.ID)
	stored.seq, stored.sum, stored.channel = a.Record.Seq, recordSum(b), unique.Make(a.Published.Channel)
	s.artifacts[id] = stored
	s.published++
	delete(s.pointers, pointerKey{recordSpace, id})
	if more.family != "" {
		s.members[more.family] = append(s.family(more.family), id)
	}
	for _, input := range a.Inputs {
		input = strings.Clone(input)
		s.children[input] = append(s.children[input], id)
	}
	return nil
}

// family returns the IDs of the artifacts of a family.
func (s *States) family(name string) []string {
	if ids := s.members[name]; ids != nil {
		return ids
	}
	if s.artifacts[name].seq == 0 {
		return nil
	}
	return []string{name}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func recordSum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// encodeState returns "" for an artifact without relations, as most are.
func encodeState(a *ArtifactState) (string, error) {
	b, err := handoff.EncodeJSON(a)
	if err != nil || string(b) == "{}" {
		return "", err
	}
	return string(b), nil
}

func (s *States) Artifact(id string) (*ArtifactState, error) {
	if a, ok := s.loaded[id]; ok {
		return a, nil
	}
	stored, ok := s.artifacts[id]
	if !ok {
		return nil, nil
	}
	a, more := &ArtifactState{ID: id}, stored.details()
	if stored.seq != 0 {
		a.Record.Seq, a.Family = stored.seq, cmp.Or(more.family, id)
		a.Published = &handoff.ArtifactPublished{Channel: stored.channel.Value(), Namespace: more.namespace, Name: more.name}
	}
	if more.state != "" {
		if err := json.Unmarshal([]byte(more.state), a); err != nil {
			return nil, fmt.Errorf("state of %s: %w", id, err)
		}
	}
	s.loaded[id] = a
	return a, nil
}

func (s *States) State(id string) (*ArtifactState, error) { return s.Artifact(id) }

func (s *States) PutArtifact(a *ArtifactState) error {
	s.loaded[a.ID], s.put[a.ID] = a, true
	return nil
}

func (s *States) Session(id string) (*handoff.Session, error) {
	return decodeStored[handoff.Session](s.sessions, id)
}

// Runs implements Finder.
func (s *States) Runs(id string) ([]string, error) { return s.runs[id], nil }

func (s *States) PutSession(v *handoff.Session) error {
	if id := strings.Clone(v.ID); v.Parent != "" && !slices.Contains(s.runs[v.Parent], id) {
		s.runs[strings.Clone(v.Parent)] = append(s.runs[v.Parent], id)
	}
	return encodeStored(s.sessions, strings.Clone(v.ID), v)
}

func (s *States) Work(harness, id string) (*handoff.Work, error) {
	return decodeStored[handoff.Work](s.works, workKey{harness, id})
}

func (s *States) PutWork(v *handoff.Work) error {
	return encodeStored(s.works, workKey{strings.Clone(v.Harness), strings.Clone(v.ID)}, v)
}

func decodeStored[V any, K comparable](from map[K]string, key K) (*V, error) {
	text, ok := from[key]
	if !ok {
		return nil, nil
	}
	v := new(V)
	return v, json.Unmarshal([]byte(text), v)
}

func encodeStored[K comparable](to map[K]string, key K, v any) error {
	b, err := handoff.EncodeJSON(v)
	to[key] = string(b)
	return err
}

func (s *States) Pointer(space, key string) (string, error) {
	if space == recordSpace && s.artifacts[key].seq != 0 {
		return publishedType, nil
	}
	return s.pointers[pointerKey{space, key}], nil
}

func (s *States) PutPointer(space, key, value string) error {
	if space == recordSpace {
		value = unique.Make(value).Value() // the type of the record
	} else {
		value = strings.Clone(value)
	}
	s.pointers[pointerKey{space, strings.Clone(key)}] = value
	return nil
}

func (s *States) Join(into, from string) error {
	for _, a := range s.loaded {
		if a != nil && a.Published != nil && a.Family == from {
			a.Family = into
		}
	}
	moved := s.family(from)
	if len(moved) == 0 {
		return nil
	}
	for _, id := range moved {
		stored := s.artifacts[id]
		more := stored.details()
		more.family = into
		stored.more = &more
		s.artifacts[id] = stored
	}
	s.members[into] = append(s.family(into), moved...)
	delete(s.members, from)
	return nil
}

func (s *States) Heads(family string) (heads []string, err error) {
	for _, id := range s.family(family) {
		a, err := s.Artifact(id)
		if err != nil {
			return nil, err
		}
		if a.Status() == handoff.Active {
			heads = append(heads, id)
		}
	}
	slices.SortFunc(heads, func(a, b string) int { return int(s.artifacts[a].seq - s.artifacts[b].seq) })
	return heads, nil
}

func (s *States) Children(id string) ([]string, error) {
	children := s.children[id]
	for put := range maps.Keys(s.put) {
		if slices.Contains(s.loaded[put].Inputs, id) && !slices.Contains(children, put) {
			children = append(slices.Clip(children), put)
		}
	}
	return children, nil
}

// The following report whether an index stores what a fold gives. A record is
// compared by its checksum.

// SameArtifact is for an artifact with its record, nil if it was not published so
// far.
func (s *States) SameArtifact(id string, seq handoff.Seq, family, state string, record []byte) bool {
	stored, ok := s.artifacts[id]
	more := stored.details()
	if seq != 0 {
		more.family = cmp.Or(more.family, id)
	}
	return ok && stored.seq == seq && more.family == family && more.state == state && (record == nil || stored.sum == recordSum(record))
}

func (s *States) SameSession(id, state string) bool { return same(s.sessions, id, state) }
func (s *States) SameWork(harness, id, state string) bool {
	return same(s.works, workKey{harness, id}, state)
}
func (s *States) SamePointer(space, key, value string) bool {
	if space == recordSpace && s.artifacts[key].seq != 0 {
		return value == publishedType
	}
	return same(s.pointers, pointerKey{space, key}, value)
}

func same[K comparable](stored map[K]string, key K, value string) bool {
	v, ok := stored[key]
	return ok && v == value
}

// SameCounts is for the numbers of what the others are called for.
func (s *States) SameCounts(artifacts, sessions, works, pointers int, damaged []handoff.Seq) bool {
	return artifacts == len(s.artifacts) && sessions == len(s.sessions) && works == len(s.works) && pointers == len(s.pointers)+s.published && slices.Equal(damaged, s.damaged)
}
