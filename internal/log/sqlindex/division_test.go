package sqlindex

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// TestValueSets checks that a list of values takes memory for each of them once, and not for
// each list that it begins with.
func TestValueSets(t *testing.T) {
	const sets, each = 50, 100
	var names [sets * each]string
	for i := range names {
		names[i] = fmt.Sprintf("tag-%04d", i)
	}
	var v valueSets
	var numbers [sets]int32
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i, name := range names {
		numbers[i/each] = v.with(numbers[i/each], name)
	}
	runtime.ReadMemStats(&after)
	if bytes := (after.TotalAlloc - before.TotalAlloc) / (sets * each); bytes > 300 {
		t.Errorf("a value takes %d bytes, want at most 300", bytes)
	}
	for i, n := range numbers {
		if got, want := v.values(n), names[i*each:(i+1)*each]; !slices.Equal(got, want) {
			t.Errorf("list %d has %q, want %q", i, got, want)
		}
	}
	if same := v.with(v.with(0, names[0]), names[1]); !slices.Equal(v.values(same), names[:2]) || v.values(0) != nil {
		t.Errorf("a list has %q, and the empty one %q", v.values(same), v.values(0))
	}
}

// TestDivisionOfPeriod checks that the IDs of other times are not read.
func TestDivisionOfPeriod(t *testing.T) {
	x, err := OpenMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	records := []handoff.Record{logtest.NewRecord("a.md"), logtest.NewRecord("b.md")}
	if err := x.Apply(t.Context(), logtest.Placed(records)...); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		since time.Time
		want  int
	}{{time.Time{}, 2}, {time.Unix(1, 0), 2}, {time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC), 0}} {
		err := x.read(t.Context(), func(c *sqlite.Conn) error {
			d, _, err := newStore(t.Context(), c).divide(handoff.ProductionQuery{By: "artifact", Since: tt.since})
			if err == nil && len(d.ids) != tt.want {
				t.Errorf("since %v, %d IDs were read, want %d", tt.since, len(d.ids), tt.want)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}
