package handoff

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Redaction says what of an artifact is not shown, because it had a secret.
type Redaction struct {
	Fields []string  `json:"fields,omitempty"`    // JSON pointers to the texts of the record that have replacements
	Body   BodyState `json:"body,omitempty"`      // "" if the body is as published
	Digest Digest    `json:"digest,omitzero"`     // of the body with replacements
	At     time.Time `json:"redactedAt,omitzero"` // when the newest of them was recorded
}

// A BodyState is what is left of the body of an artifact.
type BodyState string

// The states of a body that had a secret.
const (
	BodyErased   BodyState = "erased"   // nothing
	BodyReplaced BodyState = "redacted" // the body with its secrets replaced
)

// Notice returns the redaction as a sentence, "" for none.
func (r *Redaction) Notice() string {
	switch {
	case r == nil:
		return ""
	case r.Body == BodyErased:
		return "the content was erased, because it had a secret"
	case r.Body == BodyReplaced && len(r.Fields) > 0:
		return "secrets were replaced in the content and the record"
	case r.Body == BodyReplaced:
		return "secrets were replaced in the content"
	}
	return "secrets were replaced in the record"
}

// redactable are the members of a record of an artifact that have texts of its author.
var redactable = []string{"title", "summary", "kind", "tags", "metadata", "claims", "attestation", "reason"}

// Secrets returns what looks like a secret in the texts of a record of an artifact, and
// where else in them the same secrets are, or those that are known from its content.
func (r Record) Secrets(known map[string]string) ([]Replacement, error) {
	b, err := r.JSON()
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil {
		return nil, err
	}
	for name := range members {
		if !slices.Contains(redactable, name) {
			delete(members, name)
		}
	}
	if b, err = EncodeJSON(members); err != nil {
		return nil, err
	}
	found, err := findSecrets(b)
	if err != nil {
		return nil, err
	}
	values := maps.Clone(known)
	for _, f := range found {
		if text, err := stringAt(b, f.Field); err == nil && f.End > f.Start && f.End <= len(text) {
			if values == nil {
				values = map[string]string{}
			}
			values[text[f.Start:f.End]] = f.Kind
		}
	}
	var v any
	if err := json.Unmarshal(b, &v); err != nil || len(values) == 0 {
		return found, err
	}
	return addKnown(found, v, "", values), nil
}

// Text returns the part of the record that a replacement names, "" for none.
func (r Record) Text(part Replacement) string {
	b, err := r.JSON()
	if err != nil {
		return ""
	}
	text, err := stringAt(b, part.Field)
	if err != nil || part.Start < 0 || part.End < part.Start || part.End > len(text) {
		return ""
	}
	return text[part.Start:part.End]
}

// addKnown adds to a list where in a value known secrets are.
func addKnown(list []Replacement, v any, at string, known map[string]string) []Replacement {
	switch v := v.(type) {
	case string:
		for value, kind := range known {
			for start := 0; value != ""; {
				i := strings.Index(v[start:], value)
				if i < 0 {
					break
				}
				r := Replacement{at, start + i, start + i + len(value), kind}
				start = r.End
				if !slices.ContainsFunc(list, func(o Replacement) bool {
					return o.Field == at && o.Start <= r.Start &&
						o.End >= r.End
				}) {
					list = append(list, r)
				}
			}
		}
	case []any:
		for i, e := range v {
			list = addKnown(list, e, at+"/"+strconv.Itoa(i), known)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			list = addKnown(list, v[key], at+"/"+pointerEscaper.Replace(key), known)
		}
	}
	return list
}

// Redact returns the record with parts of its texts replaced. What does not fit the
// record is ignored; a record that can't be redacted loses all of its texts.
func (r Record) Redact(list []Replacement) Record {
	if len(list) == 0 || r.Fact == nil {
		return r
	}
	b, err := r.JSON()
	if err != nil {
		return r
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var members map[string]any
	if d.Decode(&members) != nil {
		return r
	}
	for _, name := range redactable {
		if v, ok := members[name]; ok {
			members[name] = redactValue(v, "/"+name, list)
		}
	}
	redacted, err := encodeRecord(members, r.Seq)
	if err != nil {
		for _, name := range redactable {
			delete(members, name)
		}
		if redacted, err = encodeRecord(members, r.Seq); err != nil {
			return Record{Seq: r.Seq, Fact: &Damaged{Err: errors.New("it can't be redacted")}}
		}
	}
	return redacted
}

func encodeRecord(members map[string]any, seq Seq) (Record, error) {
	b, err := EncodeJSON(members)
	if err != nil {
		return Record{}, err
	}
	r, err := ParseRecord(append(b, '\n'))
	r.Seq = seq
	return r, err
}

// redactValue replaces the parts of a value that a list names.
func redactValue(v any, at string, list []Replacement) any {
	var here []Replacement
	below := false
	for _, r := range list {
		if r.Field == at {
			here = append(here, r)
		}
		below = below || strings.HasPrefix(r.Field, at+"/")
	}
	switch v := v.(type) {
	case string:
		return replaceIn(v, here)
	case []any:
		for i := range v {
			if below {
				v[i] = redactValue(v[i], at+"/"+strconv.Itoa(i), list)
			}
		}
	case map[string]any:
		if slices.ContainsFunc(here, func(r Replacement) bool { return r.End == 0 }) {
			return map[string]any{"redacted": redactedText(here[0])}
		}
		for key := range v {
			if below {
				v[key] = redactValue(v[key], at+"/"+pointerEscaper.Replace(key), list)
			}
		}
	}
	return v
}

// RedactReason returns the reason of a withdrawal with parts replaced.
func RedactReason(reason string, list []Replacement) string {
	text, _ := redactValue(reason, "/reason", list).(string)
	return text
}

// Redactions are those of the records of a log. They depend on the set of records
// only. The zero value is ready to use.
type Redactions struct {
	records map[string][]Replacement // by import and ID
	bodies  map[string]Digest        // what replaces them, by import and digest
}

// Add adds the redactions of one record.
func (x *Redactions) Add(r Record) {
	if x.records == nil {
		x.records, x.bodies = map[string][]Replacement{}, map[string]Digest{}
	}
	switch f := r.Fact.(type) {
	case *RecordRedacted:
		key := strings.Clone(r.Import + " " + f.RecordID)
		x.records[key] = append(x.records[key], f.Replaced...)
	case *BodyRedacted:
		key := strings.Clone(r.Import + " " + f.Digest.Value)
		if before, ok := x.bodies[key]; f.Digest.Value != "" && (!ok || before != (Digest{})) {
			x.bodies[key] = f.Replacement
		}
	}
}

// Record returns a record as it may be copied: with its replacements. A fact about such a
// record says that it has them.
func (x *Redactions) Record(r Record) Record {
	if f, ok := r.Fact.(*RecordRedacted); ok {
		return r.applied(f)
	}
	list := x.records[" "+r.ID]
	if r.Import != "" {
		list = slices.Concat(list, x.records[r.Import+" "+r.ID])
	}
	return r.Redact(list)
}

// applied returns a RecordRedacted about a record that has the replacements.
func (r Record) applied(f *RecordRedacted) Record {
	b, err := r.JSON()
	var members map[string]any
	if err != nil || json.Unmarshal(b, &members) != nil {
		return r
	}
	list := slices.Clone(f.Replaced)
	for i := range list {
		list[i].Start, list[i].End = 0, -1
	}
	members["replaced"] = list
	if copied, err := encodeRecord(members, r.Seq); err == nil {
		return copied
	}
	return r
}

// Body reports whether a body may not be read for an artifact of an import, "" for
// none, and what to read instead, the zero digest for nothing.
func (x *Redactions) Body(imported string, d Digest) (instead Digest, redacted bool) {
	instead = d
	for range maxReplacements {
		next, ok := x.bodies[" "+instead.Value]
		if !ok && imported != "" {
			next, ok = x.bodies[imported+" "+instead.Value]
		}
		if !ok || instead.Value == "" {
			return instead, redacted
		}
		instead, redacted = next, true
	}
	return Digest{}, true
}

// maxReplacements is how often a body can be replaced.
const maxReplacements = 16
