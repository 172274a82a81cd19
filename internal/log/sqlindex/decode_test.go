package sqlindex

import (
	"encoding"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
)

// TestStoredTypes looks for types that decode themselves in what the index stores as JSON:
// jsonl.Unmarshal does not ask them.
func TestStoredTypes(t *testing.T) {
	seen := map[reflect.Type]bool{reflect.TypeFor[time.Time](): true, reflect.TypeFor[json.RawMessage](): true}
	var look func(of reflect.Type)
	look = func(of reflect.Type) {
		if seen[of] {
			return
		}
		seen[of] = true
		own := reflect.PointerTo(of)
		if own.Implements(reflect.TypeFor[json.Unmarshaler]()) ||
			own.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
			t.Errorf("%v decodes itself", of)
		}
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			look(of.Elem())
		case reflect.Struct:
			for i := range of.NumField() {
				if of.Field(i).Tag.Get("json") != "-" {
					look(of.Field(i).Type)
				}
			}
		}
	}
	for _, of := range []reflect.Type{reflect.TypeFor[handoff.Session](), reflect.TypeFor[handoff.Work](),
		reflect.TypeFor[fold.ArtifactState]()} {
		look(of)
	}
	if len(seen) < 10 {
		t.Errorf("looked at %d types", len(seen))
	}
}
