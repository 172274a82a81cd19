package handoff

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/internal/tool/ulid"
)

// Version is the version of the records that this package writes. Records of a
// later version are read as far as possible and never rewritten.
const Version = 1

// MaxRecord is the maximum size of a record, in bytes.
const MaxRecord = 1 << 20

// A Record is one immutable, stored fact. Fields of its JSON that this program
// doesn't know are preserved.
type Record struct {
	Seq       Seq // not part of the stored bytes; 0 until appended
	Version   int
	Type      string
	ID        string
	CreatedAt time.Time
	Producer  Producer
	Import    string // the import that it belongs to: it counts from its SessionImported on
	Origin    string // of a remote log: the runtime directory that made it; "" for this one
	Fact      Fact   // a pointer; nil for a type that this program doesn't know

	raw []byte
}

// envelope are the fields of every record, in the order in which they are stored.
type envelope struct {
	Version   int       `json:"version"`
	Type      string    `json:"type"`
	ID        string    `json:"id"`
	CreatedAt time.Time `json:"createdAt"`
	Producer  Producer  `json:"producer,omitzero"`
	Origin    string    `json:"origin,omitempty"`
	Import    string    `json:"import,omitempty"`
}

// NewRecord returns a record of f, a pointer, with the producer p and a new id:
// the time now, in milliseconds, and 80 bits from random.
func NewRecord(now time.Time, random io.Reader, p Producer, f Fact) (Record, error) {
	prefix := recordPrefix
	switch f.(type) {
	case *ArtifactPublished:
		prefix = artifactPrefix
	case *ArtifactCommented:
		prefix = commentPrefix
	}
	if now.UnixMilli() < 0 || now.UnixMilli()>>48 != 0 { // an ID has no bits for it
		return Record{}, E("record", now.UTC().Format(time.RFC3339), Invalid,
			errors.New("the clock is before 1970 or after 10889"), Advice("set the clock"))
	}
	now = now.UTC().Truncate(time.Millisecond)
	id, err := ulid.New(now, random)
	return Record{Version: Version, Type: f.factType(), ID: prefix + id, CreatedAt: now, Producer: p, Fact: f}, err
}

// ParseRecord decodes a stored record, which is one JSON object. The record
// refers to b, which must not change. Its kind is Corrupt.
func ParseRecord(b []byte) (Record, error) {
	r, err := parseRecord(b)
	if err != nil {
		return Record{}, E("read record", r.ID, Corrupt, err)
	}
	return r, nil
}

func parseRecord(b []byte) (Record, error) {
	if len(b) > MaxRecord {
		return Record{}, fmt.Errorf("has %d bytes, more than %d", len(b), MaxRecord)
	}
	r, ok := decodeOrdered(b)
	if ok {
		return r, r.incomplete()
	}
	var e envelope
	if err := json.Unmarshal(b, &e); err != nil {
		return Record{}, jsonl.DecodeError(b, err)
	}
	r = Record{Version: e.Version, Type: e.Type, ID: e.ID, CreatedAt: e.CreatedAt, Producer: e.Producer,
		Origin: e.Origin, Import: e.Import, raw: b}
	if err := r.incomplete(); err != nil {
		return r, err
	}
	empty, ok := newFact[e.Type]
	if !ok {
		return r, nil
	}
	r.Fact = empty()
	err := json.Unmarshal(b, r.Fact)
	switch {
	case err == nil:
		return r, nil
	case r.Version > Version:
		r.Fact = nil // a later version may have redefined the type
		return r, nil
	}
	return r, jsonl.DecodeError(b, err)
}

// incomplete returns an error if a field is missing that every record has.
func (r Record) incomplete() error {
	switch {
	case r.Type == "":
		return errors.New("has no type")
	case r.ID == "":
		return errors.New("has no id")
	case r.Version < 1:
		return fmt.Errorf("has version %d", r.Version)
	}
	return nil
}

// JSON returns the bytes of the record: those that were parsed, or those that
// will be stored for a new record. Its kind is Invalid.
func (r Record) JSON() ([]byte, error) {
	if r.raw != nil {
		return r.raw, nil
	}
	if r.Fact == nil {
		return nil, E("encode record", r.ID, Invalid, errors.New("has no fact"))
	}
	head, err := EncodeJSON(envelope{r.Version, r.Fact.factType(), r.ID, r.CreatedAt, r.Producer, r.Origin, r.Import})
	fact, more := EncodeJSON(r.Fact)
	if err := errors.Join(err, more); err != nil {
		return nil, E("encode record", r.ID, Invalid, err)
	}
	b := head[:len(head)-1]
	if len(fact) > len("{}") {
		b = append(append(b, ','), fact[1:len(fact)-1]...)
	}
	b = append(b, "}\n"...)
	if len(b) > MaxRecord {
		return nil, E("encode record", r.ID, Invalid, fmt.Errorf("has %d bytes, more than %d", len(b), MaxRecord),
			Advice("publish large metadata as a separate file"))
	}
	return b, nil
}

// MarshalJSON returns the bytes of the record with its sequence number added as
// "seq".
func (r Record) MarshalJSON() ([]byte, error) {
	b, err := r.JSON()
	if err != nil {
		return nil, err
	}
	return jsonl.WithFields(b, place{r.Seq})
}

// A place is what the JSON of a record in a log adds to it.
type place struct {
	Seq Seq `json:"seq"`
}

// JSONParts returns the structs whose members the JSON of a record has, beside those of
// its fact.
func (Record) JSONParts() []any { return []any{envelope{}, place{}} }

// StoredRecord returns the record that a log stores at seq as b. Its fact is
// Damaged if b can't be decoded.
func StoredRecord(seq Seq, b []byte) Record {
	r, err := ParseRecord(b)
	if err != nil {
		r = Record{Fact: &Damaged{Err: err}, raw: b}
	}
	r.Seq = seq
	return r
}
