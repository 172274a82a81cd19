package schema

import (
	"encoding/json"
	"reflect"

	"github.com/agent-handoff/handoff"
	"github.com/google/jsonschema-go/jsonschema"
)

// facts are the facts of records.
var facts = []handoff.Fact{
	&handoff.ArtifactPublished{}, &handoff.ArtifactWithdrawn{}, &handoff.ArtifactUsed{}, &handoff.ArtifactLabeled{},
	&handoff.ArtifactAccepted{}, &handoff.ArtifactApplied{},
	&handoff.BodyRedacted{}, &handoff.RecordRedacted{}, &handoff.BodiesDropped{},
	&handoff.SessionOpened{}, &handoff.SessionClosed{},
	&handoff.SessionLinked{}, &handoff.SessionNoted{}, &handoff.SessionArchived{}, &handoff.SessionDeleted{},
	&handoff.SessionRestored{}, &handoff.SessionImported{}, &handoff.PathMoved{}, &handoff.ThreadKept{},
	&handoff.WorkStarted{}, &handoff.WorkEnded{}, &handoff.Gap{},
}

// facts returns the schema of a record with a fact, one for each type of fact, and one
// for those that this version does not know.
func (s Set) facts() *jsonschema.Schema {
	var known []any
	var all []*jsonschema.Schema
	for _, f := range facts {
		var named struct {
			Type string
		}
		b, err := handoff.Record{Fact: f}.JSON()
		if err != nil {
			panic(err) // a fact of the list above
		}
		if err := json.Unmarshal(b, &named); err != nil {
			panic(err)
		}
		t := reflect.TypeOf(f).Elem()
		all = append(all, s.define(t.Name(), t, func() *jsonschema.Schema {
			o := s.object(reflect.ValueOf(record{f}))
			o.Properties["type"] = &jsonschema.Schema{Type: "string", Const: jsonschema.Ptr[any](named.Type)}
			return o
		}))
		known = append(known, named.Type)
	}
	all = append(all, s.define("UnknownFact", reflect.TypeFor[record](), func() *jsonschema.Schema {
		o := s.object(reflect.ValueOf(record{}))
		o.Properties["type"] = &jsonschema.Schema{Type: "string", Not: &jsonschema.Schema{Enum: known}}
		o.AdditionalProperties = &jsonschema.Schema{}
		return o
	}))
	return &jsonschema.Schema{OneOf: all}
}

// A record is one with a fact, nil for one that is not known.
type record struct{ fact handoff.Fact }

// JSONParts returns the envelope of the record and its fact.
func (r record) JSONParts() []any {
	parts := handoff.Record{}.JSONParts()
	if r.fact != nil {
		parts = append(parts, reflect.ValueOf(r.fact).Elem().Interface())
	}
	return parts
}
