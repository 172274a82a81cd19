package content

import (
	"regexp"
	"strings"
	"sync"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/storage"
)

// References tell which kept bodies are referenced by records. They depend on
// the set of records only, not on their order. The zero value is ready to use.
type References struct {
	artifacts map[string][]string // artifact IDs by the value of their digest
	withdrawn map[string]bool     // artifact IDs
	threads   map[string]keptCopy // the newest by thread and import
	copies    map[string]int      // by digest: of how many threads it is the newest copy; 0 if there are later ones
	other     map[string]bool     // digests in records that this program doesn't understand
	imports   map[string]string   // of artifacts that were imported
	redacted  handoff.Redactions
	lost      bool // a record is lost or damaged
}

type keptCopy struct {
	seq    handoff.Seq
	record string
	digest string
}

var digestForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9a-f]{64}`) })

// Add adds the references of one record. A record of a newer type or version
// refers to every digest that its bytes contain.
func (refs *References) Add(r handoff.Record) {
	if refs.artifacts == nil {
		refs.artifacts, refs.withdrawn, refs.other = map[string][]string{}, map[string]bool{}, map[string]bool{}
		refs.threads, refs.copies, refs.imports = map[string]keptCopy{}, map[string]int{}, map[string]string{}
	}
	refs.redacted.Add(r)
	switch f := r.Fact.(type) {
	case *handoff.ArtifactPublished:
		for _, d := range handoff.BodiesOf(f) {
			value := strings.Clone(d.Value) // records share memory
			refs.artifacts[value] = append(refs.artifacts[value], strings.Clone(r.ID))
		}
		if r.Import != "" {
			refs.imports[strings.Clone(r.ID)] = strings.Clone(r.Import)
		}
	case *handoff.ArtifactCommented:
		for _, d := range handoff.BodiesOf(f) {
			value := strings.Clone(d.Value)
			refs.artifacts[value] = append(refs.artifacts[value], strings.Clone(r.ID))
		}
		if f.State == handoff.CommentWithdrawn {
			refs.withdrawn[strings.Clone(f.ReplyTo)] = true
		}
	case *handoff.BodyRedacted:
		for _, d := range handoff.BodiesOf(f) { // of the artifact, as long as that is not withdrawn
			value := strings.Clone(d.Value)
			refs.artifacts[value] = append(refs.artifacts[value], refs.artifacts[f.Digest.Value]...)
			refs.artifacts[value] = append(refs.artifacts[value], strings.Clone(f.ArtifactID))
		}
	case *handoff.ArtifactWithdrawn:
		refs.withdrawn[strings.Clone(f.ArtifactID)] = true
	case *handoff.ThreadKept:
		refs.addThread(strings.Clone(f.Thread+"\x00"+r.Import),
			keptCopy{r.Seq, strings.Clone(r.ID), strings.Clone(f.Digest.Value)})
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

func (refs *References) addThread(key string, c keptCopy) {
	old, known := refs.threads[key]
	if known && old.seq > c.seq {
		old, c = c, old
	}
	refs.threads[key] = c
	refs.copies[c.digest]++
	if known {
		refs.copies[old.digest]--
	}
}

// Of returns how the added records refer to the body with digest d. If a record
// is lost, a body that no other record refers to counts as Referenced.
func (refs *References) Of(d handoff.Digest) storage.Reference {
	ids, known := refs.artifacts[d.Value]
	redacted := 0
	for _, id := range ids {
		if refs.isRedacted(id, d) {
			redacted++
		} else if !refs.withdrawn[id] {
			return storage.Referenced
		}
	}
	n, copied := refs.copies[d.Value]
	switch {
	case n > 0, refs.other[d.Value], !known && refs.lost:
		return storage.Referenced
	case known && redacted == len(ids):
		return storage.Redacted
	case known:
		return storage.Withdrawn
	case copied:
		return storage.Replaced
	}
	return storage.Orphan
}

// isRedacted reports whether a body is no longer the content of an artifact.
func (refs *References) isRedacted(id string, d handoff.Digest) bool {
	_, redacted := refs.redacted.Body(refs.imports[id], d)
	return redacted
}

// Needed returns the digest of every body that is Referenced by a known record, each
// with the ID of one such record.
func (refs *References) Needed() map[handoff.Digest]string {
	referenced := map[handoff.Digest]string{}
	for _, c := range refs.threads {
		referenced[handoff.Digest{Algorithm: handoff.SHA256, Value: c.digest}] = c.record
	}
	for value, ids := range refs.artifacts {
		for _, id := range ids {
			if d := (handoff.Digest{Algorithm: handoff.SHA256, Value: value}); !refs.withdrawn[id] && !refs.isRedacted(id, d) {
				referenced[handoff.Digest{Algorithm: handoff.SHA256, Value: value}] = id
			}
		}
	}
	return referenced
}
