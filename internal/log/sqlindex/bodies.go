package sqlindex

import (
	"context"
	"encoding/binary"
	"encoding/hex"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// Bodies are what the index knows of stored bodies.
type Bodies struct {
	// Owners are those of the kept bodies of artifacts that were not withdrawn, without those that a
	// policy dropped, by the bytes of the SHA-256. They are nil if the index does not know which
	// ones artifacts need: a record is damaged, or something was redacted.
	Owners   map[[sumBytes]byte]BodyOwner
	LogBytes int64 // the size of all records
}

// A BodyOwner is the newest artifact that has a body.
type BodyOwner struct {
	Seq    handoff.Seq
	Group  string // its channel, agent, session or status, "" for none
	Active bool   // it or another one that has the body is active
	Size   int64  // of the body, -1 if the record does not have it
}

// A stored value has the bytes of the SHA-256 of each body, and its size.
const (
	sumBytes  = 32
	bodyBytes = sumBytes + 8
)

// groups are the columns by which bodies are listed.
var groups = map[string]string{"channel": "channel", "agent": "agent", "session": "coalesce(session, run)",
	"state": "status"}

// Bodies returns what the index knows of bodies, by channel, agent, session or state.
func (x *Index) Bodies(ctx context.Context, by string) (list Bodies, err error) {
	err = x.read(ctx, func(c *sqlite.Conn) error {
		list = Bodies{}
		s := newStore(ctx, c)
		redacted, err := s.Pointer(fold.RedactedSpace, "")
		if err != nil {
			return err
		}
		if _, err = c.One(ctx, `SELECT bytes FROM place`, nil, func(r *sqlite.Row) { list.LogBytes = r.Integer() }); err != nil {
			return err
		}
		damaged, err := c.One(ctx, `SELECT seq FROM damaged`, nil, func(*sqlite.Row) {})
		if err != nil || damaged || redacted != "" {
			return err
		}
		list.Owners = map[[sumBytes]byte]BodyOwner{}
		return s.load(`SELECT seq, status, coalesce(`+groups[by]+`, ''), bodies FROM artifacts INDEXED BY by_producer
			WHERE bodies IS NOT NULL AND status <> 'withdrawn'`, list.add)
	})
	return list, err
}

// add adds the bodies of an artifact.
func (l Bodies) add(r *sqlite.Row) error {
	o := BodyOwner{Seq: handoff.Seq(r.Integer()), Active: r.Text() == string(handoff.Active), Group: r.Text()}
	for value := r.Blob(); len(value) >= bodyBytes; value = value[bodyBytes:] {
		d, owner := [sumBytes]byte(value), o
		owner.Size = int64(binary.BigEndian.Uint64(value[sumBytes:]))
		if other, ok := l.Owners[d]; ok {
			if other.Seq > owner.Seq {
				owner.Seq, owner.Group = other.Seq, other.Group
			}
			owner.Active = owner.Active || other.Active
		}
		l.Owners[d] = owner
	}
	return nil
}

// Owner returns the newest artifact that needs a body.
func (l Bodies) Owner(d handoff.Digest) (BodyOwner, bool) {
	var key [sumBytes]byte
	if len(d.Value) != 2*len(key) {
		return BodyOwner{}, false
	}
	_, err := hex.Decode(key[:], []byte(d.Value))
	o, ok := l.Owners[key]
	return o, ok && err == nil
}

// bodiesOf returns the kept bodies of an artifact as one value, NULL for none. What an import
// states about a size is not verified.
func bodiesOf(a *fold.ArtifactState) any {
	var value []byte
	for _, d := range a.Bodies() {
		b, err := hex.DecodeString(d.Value)
		if err != nil || len(b) != sumBytes {
			continue
		}
		size := int64(-1)
		if p := a.Published; p.SizeBytes != nil && d.Value == p.Digest.Value && a.Record.Import == "" {
			size = *p.SizeBytes
		}
		value = binary.BigEndian.AppendUint64(append(value, b...), uint64(size))
	}
	if value == nil {
		return nil
	}
	return value
}
