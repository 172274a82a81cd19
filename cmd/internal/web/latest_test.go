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

// A page waits for a new version of a value that is read quickly, and not for one that takes
// longer.
func TestNewVersion(t *testing.T) {
	now := time.Now()
	s := &Server{o: Options{Now: func() time.Time { return now }},
		events: &events{ctx: t.Context(), listeners: map[chan handoff.Seq]bool{}}}
	var l latest[int64]
	get := func(of, want int64) {
		t.Helper()
		got, known, err := l.get(s, reading[int64]{wait: time.Minute, of: of,
			read: func(context.Context) (int64, error) { return of, nil }})
		if got != want || !known || err != nil {
			t.Errorf("version %d: got %d, %v, %v, want %d", of, got, known, err, want)
		}
	}
	get(1, 1)
	get(2, 2)
	l.took, l.end = time.Hour, now
	get(3, 2)
	now = now.Add(9 * time.Hour)
	get(3, 2)
	if l.reading != nil {
		t.Error("it is read after nine times as long as it took")
	}
	now = now.Add(time.Hour)
	get(3, 2) // starts to read
	for ; l.version() < 3; time.Sleep(time.Millisecond) {
	}
	get(3, 3)
}
