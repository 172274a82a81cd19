package handoff

import (
	"github.com/agent-handoff/handoff/internal/tool/jsonl"
)

// decodeOrdered decodes, in one pass, a record whose members have the order of
// the fields that they are stored in, as this package writes them. It reports
// false for any other record, which encoding/json decodes; where both decode a
// record, the results are equal.
func decodeOrdered(b []byte) (Record, bool) {
	if !jsonl.Valid(b) { // a Decoder checks structure, not grammar
		return Record{}, false
	}
	d, c := jsonl.NewDecoder(b)
	var e envelope
	if !d.Fields(&c, &e) || e.Version != Version || newFact[e.Type] == nil {
		return Record{}, false
	}
	f := newFact[e.Type]()
	if !d.Fields(&c, f) || c.Name() != nil {
		return Record{}, false
	}
	return Record{Version: e.Version, Type: e.Type, ID: e.ID, CreatedAt: e.CreatedAt, Producer: e.Producer,
		Origin: e.Origin, Import: e.Import, Fact: f, raw: b}, true
}
