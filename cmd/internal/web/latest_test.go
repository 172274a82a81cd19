package web

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
)

// TestLatest reads a value with a defect, which is an error and ends nothing, and then
// reads many: the newest are kept.
func TestLatest(t *testing.T) {
	now := time.Now()
	s := &Server{o: Options{Now: func() time.Time { return now }},
		events: &events{ctx: t.Context(), listeners: map[chan handoff.Seq]bool{}}}
	var k keyed[int]
	_, known, err := k.of("defect").get(s, reading[int]{wait: time.Minute, read: func(context.Context) (int, error) {
		panic("a defect")
	}})
	if !known || err == nil || !strings.HasPrefix(err.Error(), "internal error: ") {
		t.Errorf("known is %v, error %v, want an internal error", known, err)
	}
	for i := range 3 * maxKept {
		k.of(fmt.Sprint(i))
		if want := min(i+2, maxKept); len(k.kept) != want {
			t.Fatalf("after %d texts %d are kept, want %d", i+2, len(k.kept), want)
		}
	}
}
