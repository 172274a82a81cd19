package handoff

import (
	"strings"
	"time"
)

// BodiesDropped states that copies of bodies were removed because a policy did not keep
// them. It is about the named records only: a later record with the same body needs it
// again. All of them are of one session, or of none.
type BodiesDropped struct {
	Policy string        `json:"policy"` // such as "keep-last 3, keep-within 30d"
	Bodies []DroppedBody `json:"bodies"`
}

// A DroppedBody is one body of a BodiesDropped.
type DroppedBody struct {
	Digest    Digest   `json:"digest"`
	SizeBytes int64    `json:"sizeBytes"`
	Artifacts []string `json:"artifacts,omitempty"` // IDs of the artifacts that had it
	Threads   []string `json:"threads,omitempty"`   // URIs of the threads whose copy it was
	Records   []string `json:"records,omitempty"`   // IDs of the records of these copies
}

// A Dropped says that the copy of an artifact or transcript was removed by a policy.
type Dropped struct {
	Policy string    `json:"policy"`
	At     time.Time `json:"droppedAt"`
}

// Notice returns what was dropped as a sentence, "" for nothing.
func (d *Dropped) Notice() string {
	if d == nil {
		return ""
	}
	return "its copy was dropped on " + d.At.UTC().Format(time.DateOnly) + " by the policy " + d.Policy
}

// Drops are the dropped bodies of the records of a log. They depend on the set of
// records only. The zero value is ready to use.
type Drops struct{ of map[dropKey]bool }

type dropKey struct{ imported, record, digest string }

// Add adds the dropped bodies that one record names.
func (x *Drops) Add(r Record) {
	f, ok := r.Fact.(*BodiesDropped)
	if !ok {
		return
	}
	if x.of == nil {
		x.of = map[dropKey]bool{}
	}
	for _, b := range f.Bodies {
		for _, list := range [][]string{b.Artifacts, b.Records} {
			for _, id := range list {
				x.of[dropKey{strings.Clone(r.Import), strings.Clone(id), strings.Clone(b.Digest.Value)}] = true
			}
		}
	}
}

// Has reports whether the body of a record was dropped. What an import says is true of the
// records of this import only.
func (x *Drops) Has(imported, record string, d Digest) bool {
	return x.of[dropKey{"", record, d.Value}] || (imported != "" && x.of[dropKey{imported, record, d.Value}])
}

// IDs returns the IDs of the records that the fact is about.
func (f *BodiesDropped) IDs() (ids []string) {
	for _, b := range f.Bodies {
		ids = append(append(ids, b.Artifacts...), b.Records...)
	}
	return ids
}
