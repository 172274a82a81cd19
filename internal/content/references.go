package content

import (
	"regexp"
	"strings"
	"sync"

	"github.com/agent-handoff/handoff"
)

// A Reference states whether records refer to a kept body.
type Reference string

const (
	Referenced Reference = "needed"    // by an artifact that is not withdrawn
	Withdrawn  Reference = "withdrawn" // by withdrawn artifacts only
	Orphan     Reference = "orphan"    // by no record: its publish failed or is in progress
)

// References tell which kept bodies are referenced by records. They depend on
// the set of records only, not on their order. The zero value is ready to use.
type References struct {
	artifacts map[string][]string // artifact IDs by the value of their digest
	withdrawn map[string]bool     // artifact IDs
	other     map[string]bool     // digests in records that this program doesn't understand
	lost      bool                // a record is lost or damaged
}

var digestForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9a-f]{64}`) })

// Add adds the references of one record. A record of a newer type or version
// refers to every digest that its bytes contain.
func (refs *References) Add(r handoff.Record) {
	if refs.artifacts == nil {
		refs.artifacts, refs.withdrawn, refs.other = map[string][]string{}, map[string]bool{}, map[string]bool{}
	}
	switch f := r.Fact.(type) {
	case *handoff.ArtifactPublished:
		if f.Kept {
			value := strings.Clone(f.Digest.Value) // records share memory
			refs.artifacts[value] = append(refs.artifacts[value], strings.Clone(r.ID))
		}
	case *handoff.ArtifactWithdrawn:
		refs.withdrawn[strings.Clone(f.ArtifactID)] = true
	case *handoff.Gap, *handoff.Damaged:
		refs.lost = true
	}
	if r.Fact == nil || r.Version > handoff.Version {
		b, _ := r.JSON()
		for _, value := range digestForm().FindAll(b, -1) {
			refs.other[string(value)] = true
		}
	}
}

// Of returns how the added records refer to the body with digest d. If a record
// is lost, a body that no other record refers to counts as Referenced.
func (refs *References) Of(d handoff.Digest) Reference {
	ids, known := refs.artifacts[d.Value]
	for _, id := range ids {
		if !refs.withdrawn[id] {
			return Referenced
		}
	}
	switch {
	case refs.other[d.Value], !known && refs.lost:
		return Referenced
	case known:
		return Withdrawn
	}
	return Orphan
}

// Artifacts returns the digest of every body that an artifact refers to which
// is not withdrawn, each with the ID of one such artifact.
func (refs *References) Artifacts() map[handoff.Digest]string {
	referenced := map[handoff.Digest]string{}
	for value, ids := range refs.artifacts {
		for _, id := range ids {
			if !refs.withdrawn[id] {
				referenced[handoff.Digest{Algorithm: handoff.SHA256, Value: value}] = id
			}
		}
	}
	return referenced
}
