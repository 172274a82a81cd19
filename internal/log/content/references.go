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
	copies    map[string]bool     // digests of copies of threads
	other     map[string]bool     // digests in records that this program doesn't understand
	imports   map[string]string   // of artifacts that were imported
	redacted  handoff.Redactions
	dropped   handoff.Drops
	newest    map[string][]string // by digest: the records of newest copies that were not dropped; nil if not computed
	gone      map[string]bool     // by digest: the newest copy of a thread was dropped
	lost      bool                // a record is lost or damaged
}

type keptCopy struct {
	seq      handoff.Seq
	record   string
	digest   string
	imported string
}

var digestForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9a-f]{64}`) })

// Add adds the references of one record. A record of a newer type or version
// refers to every digest that its bytes contain.
func (refs *References) Add(r handoff.Record) {
	if refs.artifacts == nil {
		refs.artifacts = map[string][]string{}
		refs.withdrawn = map[string]bool{}
		refs.other = map[string]bool{}
		refs.threads = map[string]keptCopy{}
		refs.copies = map[string]bool{}
		refs.imports = map[string]string{}
	}
	refs.redacted.Add(r)
	refs.dropped.Add(r)
	refs.newest = nil
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
			keptCopy{r.Seq, strings.Clone(r.ID), strings.Clone(f.Digest.Value), strings.Clone(r.Import)})
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
	refs.copies[c.digest] = true
	if known {
		refs.copies[old.digest] = true
	}
}

// Of returns how the added records refer to the body with digest d. If a record
// is lost, a body that no other record refers to counts as Referenced.
func (refs *References) Of(d handoff.Digest) storage.Reference {
	ids, known := refs.artifacts[d.Value]
	refs.findNewest()
	redacted, dropped := 0, refs.gone[d.Value]
	for _, id := range ids {
		switch {
		case refs.isRedacted(id, d):
			redacted++
		case refs.withdrawn[id]:
		case refs.dropped.Has(refs.imports[id], id, d):
			dropped = true
		default:
			return storage.Referenced
		}
	}
	switch {
	case len(refs.newest[d.Value]) > 0, refs.other[d.Value], !known && refs.lost:
		return storage.Referenced
	case dropped:
		return storage.Dropped
	case known && redacted == len(ids):
		return storage.Redacted
	case known:
		return storage.Withdrawn
	case refs.copies[d.Value]:
		return storage.Replaced
	}
	return storage.Orphan
}

// Records returns the IDs of the records that need the body with digest d, in no order. A
// body that is Referenced may have none: a record of a newer version may need it.
func (refs *References) Records(d handoff.Digest) (ids []string) {
	for _, id := range refs.artifacts[d.Value] {
		if !refs.withdrawn[id] && !refs.isRedacted(id, d) && !refs.dropped.Has(refs.imports[id], id, d) {
			ids = append(ids, id)
		}
	}
	refs.findNewest()
	return append(ids, refs.newest[d.Value]...)
}

// Unknown reports whether a record of a newer version may need the body with digest d.
func (refs *References) Unknown(d handoff.Digest) bool { return refs.other[d.Value] }

// findNewest finds the newest copy of each thread.
func (refs *References) findNewest() {
	if refs.newest != nil {
		return
	}
	refs.newest, refs.gone = map[string][]string{}, map[string]bool{}
	for _, c := range refs.threads {
		if refs.dropped.Has(c.imported, c.record, handoff.Digest{Algorithm: handoff.SHA256, Value: c.digest}) {
			refs.gone[c.digest] = true
		} else {
			refs.newest[c.digest] = append(refs.newest[c.digest], c.record)
		}
	}
}

// isRedacted reports whether a body is no longer the content of an artifact.
func (refs *References) isRedacted(id string, d handoff.Digest) bool {
	_, redacted := refs.redacted.Body(refs.imports[id], d)
	return redacted
}

// Needed returns the digest of every body that is Referenced by a known record, each
// with the ID of one such record.
func (refs *References) Needed() map[handoff.Digest]string {
	refs.findNewest()
	referenced := map[handoff.Digest]string{}
	for value, records := range refs.newest {
		referenced[handoff.Digest{Algorithm: handoff.SHA256, Value: value}] = records[0]
	}
	for value, ids := range refs.artifacts {
		d := handoff.Digest{Algorithm: handoff.SHA256, Value: value}
		for _, id := range ids {
			if !refs.withdrawn[id] && !refs.isRedacted(id, d) && !refs.dropped.Has(refs.imports[id], id, d) {
				referenced[d] = id
			}
		}
	}
	return referenced
}
