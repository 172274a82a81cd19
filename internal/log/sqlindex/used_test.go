package sqlindex

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
)

// TestManyUses checks that one more use of an artifact costs the same, however many
// there are, and that all of them are found.
func TestManyUses(t *testing.T) {
	x, err := OpenMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	read := logtest.NewRecord("plan.md")
	read.Seq = 1
	if err := x.Apply(t.Context(), read); err != nil {
		t.Fatal(err)
	}
	n := 0
	use := func() handoff.Record {
		n++
		return handoff.Record{Version: 1, Seq: handoff.Seq(n + 1), Type: "artifact.used", ID: fmt.Sprint("rec_", n),
			Producer: handoff.Producer{Harness: "pi", WorkID: fmt.Sprint("w", n), Agent: "builder", Session: fmt.Sprint("s", n)},
			Fact:     &handoff.ArtifactUsed{ArtifactID: read.ID}}
	}
	var costs []uint64 // of 50 uses, in bytes allocated
	for _, size := range []int{400, 800, 1600} {
		var batch []handoff.Record
		for n < size {
			batch = append(batch, use())
		}
		if err := x.Apply(t.Context(), batch...); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 50 {
			if err := x.Apply(t.Context(), use()); err != nil {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		costs = append(costs, after.TotalAlloc-before.TotalAlloc)
	}
	if costs[1] > costs[0]*3/2 || costs[2] > costs[0]*3/2 {
		t.Errorf("50 more uses cost %d bytes at 400, 800 and 1600", costs)
	}
	page, err := x.Artifacts(t.Context(), handoff.ArtifactQuery{UsedBy: "s1234"})
	if err != nil || len(page.Artifacts) != 1 || len(page.Artifacts[0].UsedBy) != n {
		t.Fatalf("%d artifacts are used by a session, %v", len(page.Artifacts), err)
	}
	for i, u := range page.Artifacts[0].UsedBy {
		if want := fmt.Sprint("w", i+1); u.WorkID != want {
			t.Fatalf("use %d is by %s, want %s", i, u.WorkID, want)
		}
	}
}
