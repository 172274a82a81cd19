package handoff

import (
	"reflect"
	"slices"
	"testing"
)

// TestDiffering sets each field of a record: what its publisher gave is compared with the
// first publish under a key, also a field that is new.
func TestDiffering(t *testing.T) {
	fields := reflect.TypeFor[ArtifactPublished]()
	for i := range fields.NumField() {
		name := fields.Field(i).Name
		var p ArtifactPublished
		set(t, reflect.ValueOf(&p).Elem().Field(i))
		got := differing(&p, new(ArtifactPublished))
		if want := !slices.Contains(observed, name); slices.Contains(got, name) != want || len(got) > 1 {
			t.Errorf("with another %s, the fields %q differ, want it: %t", name, got, want)
		}
		if got := differing(&p, &p); len(got) > 0 {
			t.Errorf("a record with %s differs from itself in %q", name, got)
		}
	}
	for _, name := range observed {
		if _, ok := fields.FieldByName(name); !ok {
			t.Errorf("no field is called %s", name)
		}
	}
}
