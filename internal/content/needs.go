package content

import (
	"regexp"
	"sync"

	"github.com/agent-handoff/handoff"
)

// A Need says what the records have to do with a kept body.
type Need string

const (
	Needed    Need = "needed"    // an artifact that was not withdrawn was published with it
	Withdrawn Need = "withdrawn" // each of its artifacts was
	Orphan    Need = "orphan"    // no record speaks of it: its publish died, or is under way
)

// Needs tell which kept bodies records need. They follow from the records
// alone, in whatever order they come. The zero value is ready.
type Needs struct {
	artifacts map[string][]string // by the digest's value, the ids that were published with it
	withdrawn map[string]bool     // ids
	other     map[string]bool     // values in records that this program doesn't understand
	lost      bool                // a record is
}

var digestForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9a-f]{64}`) })

// Add takes a record into account. A record that this program doesn't
// understand, because its type or version is newer, needs whatever it names.
func (n *Needs) Add(r handoff.Record) {
	if n.artifacts == nil {
		n.artifacts, n.withdrawn, n.other = map[string][]string{}, map[string]bool{}, map[string]bool{}
	}
	switch f := r.Fact.(type) {
	case *handoff.ArtifactPublished:
		if f.Kept {
			n.artifacts[f.Digest.Value] = append(n.artifacts[f.Digest.Value], r.ID)
		}
	case *handoff.ArtifactWithdrawn:
		n.withdrawn[f.ArtifactID] = true
	case *handoff.Gap, *handoff.Damaged:
		n.lost = true
	}
	if r.Fact == nil || r.Version > handoff.Version {
		b, _ := r.JSON()
		for _, value := range digestForm().FindAll(b, -1) {
			n.other[string(value)] = true
		}
	}
}

// Of says what the records have to do with a body. Where a record was lost, a
// body that no other speaks of may have been that one's, and is needed.
func (n *Needs) Of(d handoff.Digest) Need {
	ids, known := n.artifacts[d.Value]
	for _, id := range ids {
		if !n.withdrawn[id] {
			return Needed
		}
	}
	switch {
	case n.other[d.Value], !known && n.lost:
		return Needed
	case known:
		return Withdrawn
	}
	return Orphan
}

// Artifacts returns the bodies that artifacts need, each with the id of one.
func (n *Needs) Artifacts() map[handoff.Digest]string {
	needed := map[handoff.Digest]string{}
	for value, ids := range n.artifacts {
		for _, id := range ids {
			if !n.withdrawn[id] {
				needed[handoff.Digest{Algorithm: handoff.SHA256, Value: value}] = id
			}
		}
	}
	return needed
}
