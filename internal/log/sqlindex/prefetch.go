package sqlindex

import (
	"cmp"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// appendViews appends the views of artifacts to a list.
func (s *store) appendViews(list []handoff.Artifact, states []*fold.ArtifactState) ([]handoff.Artifact, error) {
	if err := s.prefetchViews(states); err != nil {
		return list, err
	}
	for _, a := range states {
		v, err := fold.View(s, a)
		if err != nil {
			return list, err
		}
		list = append(list, v)
	}
	return list, nil
}

// prefetchViews loads in a few queries what the views of the artifacts need.
func (s *store) prefetchViews(list []*fold.ArtifactState) error {
	var ids, sessions, groups []string
	for _, a := range list {
		ids = append(append(ids, a.Published.Parents...), a.ReplacedBy...)
		sessions = append(sessions, cmp.Or(a.Record.Producer.RunID, a.Record.Producer.Session))
		groups = append(groups, a.Group())
	}
	stale, err := s.prefetchStale(list)
	if err != nil {
		return err
	}
	groups = append(groups, stale...)
	if err := s.prefetchEvidence(list); err != nil {
		return err
	}
	if err := s.loadAll(artifactRow, s.scanState, absent(ids, s.artifacts)); err != nil {
		return err
	}
	sessions = absent(sessions, s.sessions)
	if err := s.loadAll(sessionRow, s.scanSession, sessions); err != nil {
		return err
	}
	for _, id := range absent(sessions, s.sessions) {
		s.sessions[id] = nil
	}
	groups = absent(groups, s.heads)
	if err := s.loadHeads(groups); err != nil {
		return err
	}
	for _, group := range absent(groups, s.heads) {
		s.heads[group] = nil
	}
	return s.prefetchWork(list)
}

// prefetchStale loads the inputs of artifacts that have stale ones, and returns
// the groups of those.
func (s *store) prefetchStale(list []*fold.ArtifactState) (groups []string, err error) {
	var ids []string
	for _, a := range list {
		if a.StaleInputs > 0 {
			ids = append(append(ids, a.Inputs...), a.Known...)
		}
	}
	if err := s.loadAll(artifactRow, s.scanArtifact, absent(slices.Clone(ids), s.artifacts)); err != nil {
		return nil, err
	}
	for _, id := range ids {
		if a := s.artifacts[id]; a != nil {
			groups = append(groups, a.Group())
		}
	}
	return groups, nil
}

// prefetchEvidence loads what the claims of artifacts are checked by.
func (s *store) prefetchEvidence(list []*fold.ArtifactState) error {
	var ids, keys []string
	for _, a := range list {
		artifacts, pointers := fold.EvidenceOf(a.Published)
		ids, keys = append(ids, artifacts...), append(keys, pointers...)
	}
	if err := s.loadAll(artifactRow, s.scanArtifact, absent(ids, s.artifacts)); err != nil {
		return err
	}
	keys = absent(keys, s.unpointed)
	for _, key := range keys {
		s.unpointed[key] = true
	}
	return s.loadAll(pointerRow, s.scanPointer, keys)
}

// prefetchWork loads the work in which artifacts were published.
func (s *store) prefetchWork(list []*fold.ArtifactState) error {
	ids := map[string][]string{}
	for _, a := range list {
		p := a.Record.Producer
		key := workKey{p.Harness, p.WorkID}
		if _, ok := s.works[key]; !ok && p.WorkID != "" {
			s.works[key] = nil
			ids[p.Harness] = append(ids[p.Harness], p.WorkID)
		}
	}
	for harness, of := range ids {
		for portion := range sqlite.Portions(of) {
			if err := s.load(workRow+sqlite.Among, s.scanWork, append([]any{harness}, portion...)...); err != nil {
				return err
			}
		}
	}
	return nil
}
