package fold

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agent-handoff/handoff"
)

// WorkOf returns a key of what an artifact is a result of: the stage and the number of the
// attempt that its metadata has, with what it was made from. It is "" for other artifacts.
func WorkOf(p *handoff.ArtifactPublished) string {
	var of struct {
		Stage  string            `json:"stage"`
		Number int               `json:"attempt"`
		Read   map[string]string `json:"read"`
	}
	if len(p.Metadata) == 0 || json.Unmarshal(p.Metadata, &of) != nil || of.Stage == "" || of.Number <= 0 {
		return ""
	}
	return fmt.Sprintf("%q %d %q %q", of.Stage, of.Number, of.Read, slices.Sorted(slices.Values(p.Parents)))
}

// WriterOf returns who wrote a record: its run, session or thread, otherwise its agent.
func WriterOf(p handoff.Producer) string { return cmp.Or(p.RunID, p.Session, p.Thread, p.Agent) }

// rivalsOf returns the artifacts that compete with the head of a name because other writers did
// the same work: the newest of each that was not withdrawn, and over which none was chosen.
// There are none if all have the same content.
func rivalsOf(k Keeper, head *ArtifactState) (ids []string, err error) {
	work := WorkOf(head.Published)
	if work == "" {
		return nil, nil
	}
	writers := map[string]bool{WriterOf(head.Record.Producer): true}
	passed := map[string]bool{}
	differ := false
	b := head
	for range maxAbove {
		if b.Before == "" {
			break
		}
		if b, err = k.Artifact(b.Before); err != nil || !b.known() {
			return nil, err
		}
		by := WriterOf(b.Record.Producer)
		if WorkOf(b.Published) != work || b.Withdrawn || writers[by] || isPassedOver(k, b, passed) {
			continue
		}
		writers[by] = true
		ids, differ = append(ids, b.ID), differ || b.Published.Digest != head.Published.Digest
	}
	if !differ {
		return nil, nil
	}
	return ids, nil
}

// setRivals updates what competes with the head of a name.
func setRivals(k Keeper, head *ArtifactState) error {
	rivals, err := rivalsOf(k, head)
	if err != nil || slices.Equal(rivals, head.Rivals) {
		return err
	}
	head.Rivals = rivals
	return k.PutArtifact(head)
}
