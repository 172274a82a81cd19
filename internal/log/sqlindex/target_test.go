package sqlindex

import (
	"maps"
	"path/filepath"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
)

// TestTargetCache compares an index in SQLite with the one in memory.
func TestTargetCache(t *testing.T) {
	x, err := Open(t.Context(), filepath.Join(t.TempDir(), "index.db"), "log")
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for _, v := range []handoff.TargetCache{x, logtest.NewReference()} {
		for _, put := range []struct {
			id, fingerprint string
			target          handoff.Target
		}{{"art_1", "a", handoff.Available}, {"art_2", "b", handoff.Modified}, {"art_1", "c", handoff.Modified},
			{"art_1", "c", handoff.Available}} {
			if err := v.PutTarget(t.Context(), put.id, put.fingerprint, put.target); err != nil {
				t.Fatal(err)
			}
		}
		for fingerprint, want := range map[string]map[string]handoff.Target{
			"a": {}, // replaced by another result
			"b": {"art_2": handoff.Modified},
			"c": {"art_1": handoff.Available},
		} {
			got, err := v.Targets(t.Context(), map[string]string{"art_1": fingerprint, "art_2": fingerprint,
				"art_3": fingerprint})
			if err != nil || !maps.Equal(got, want) {
				t.Errorf("%T: Targets of %q = %v, %v, want %v", v, fingerprint, got, err, want)
			}
		}
	}
}
