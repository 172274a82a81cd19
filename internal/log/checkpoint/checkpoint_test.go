package checkpoint

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/agent-handoff/handoff"
)

// TestAdvance holds that a checkpoint only moves forward in one log, that another log
// replaces it, and that only Accept sets it back.
func TestAdvance(t *testing.T) {
	state := t.TempDir()
	open := func() *File { return Open(state, "nats://host/team") }
	point := func(log string, seq handoff.Seq) Point {
		return Point{Log: log, Seq: seq, Record: fmt.Sprint(log, seq)}
	}
	for i, step := range []struct {
		do   func(*File, Point) error
		p    Point
		want Point
	}{
		{publish(true), point("a", 4), point("a", 4)},
		{publish(false), point("a", 3), point("a", 4)},
		{readUpTo, point("a", 2), point("a", 4)},
		{readUpTo, point("a", 9), point("a", 9)},
		{publish(false), point("a", 8), point("a", 9)},
		{publish(true), point("a", 10), point("a", 10)},
		{readUpTo, point("b", 1), point("b", 1)},
		{publish(true), point("c", 7), point("c", 7)},
		{readUpTo, Point{Seq: 9}, point("c", 7)}, // of no log
		{accept, point("c", 2), point("c", 2)},
		{accept, Point{}, Point{}},
		{accept, point("c", 2), Point{}}, // nothing was known, so nothing was lost
	} {
		if err := step.do(open(), step.p); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		got := open().Load()
		got.Location = ""
		if got != step.want {
			t.Errorf("step %d: Load = %+v, want %+v", i, got, step.want)
		}
	}
	if got := Open(state, "nats://host/other").Load(); got != (Point{}) {
		t.Errorf("another location: Load = %+v", got)
	}
}

func publish(sync bool) func(*File, Point) error {
	return func(f *File, p Point) error { return f.Published(context.Background(), p, sync) }
}
func readUpTo(f *File, p Point) error { return f.Read(context.Background(), p) }
func accept(f *File, p Point) error   { return f.Accept(context.Background(), p) }

// TestWriters holds that of many writers the last record is remembered.
func TestWriters(t *testing.T) {
	state := t.TempDir()
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			p := Point{Log: "a", Seq: handoff.Seq(i + 1), Record: "r"}
			if err := Open(state, "x").Published(t.Context(), p, i%2 == 0); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := Open(state, "x").Load(); got.Seq != 64 {
		t.Errorf("after 64 writers: Load = %+v", got)
	}
}

// TestDamagedFile holds that a file that was damaged, or is of another location,
// remembers nothing and is replaced, and that the other file still counts.
func TestDamagedFile(t *testing.T) {
	for name, content := range map[string]string{
		"empty": "", "cut": `{"location":"x","log":"a","seq":`, "zeros": strings.Repeat("\x00", 100),
		"negative": `{"location":"x","log":"a","seq":-1}`, "elsewhere": `{"location":"y","log":"a","seq":9}`,
		"no log": `{"location":"x","seq":9}`,
	} {
		state := t.TempDir()
		f := Open(state, "x")
		if err := f.Published(t.Context(), Point{Log: "a", Seq: 3, Record: "r"}, true); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(f.dir, f.name+read), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := f.Load(); got.Seq != 3 {
			t.Errorf("%s: Load = %+v, want record 3", name, got)
		}
		if err := f.Read(t.Context(), Point{Log: "a", Seq: 5, Record: "s"}); err != nil || f.Load().Seq != 5 {
			t.Errorf("%s: after Read, %v, Load = %+v", name, err, f.Load())
		}
	}
}

// TestNoState holds that without a state directory nothing fails, and that one that
// can't be written is only an error of what was to be remembered.
func TestNoState(t *testing.T) {
	p := Point{Log: "a", Seq: 1}
	none := Open("", "x")
	if err := none.Published(t.Context(), p, true); err != nil || none.Load() != (Point{}) ||
		none.Accept(t.Context(), p) != nil {
		t.Errorf("without a state directory: %v, %+v", err, none.Load())
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Open(file, "x").Read(t.Context(), p); err == nil {
		t.Error("Read below a file = nil, want an error")
	}
}

func TestHas(t *testing.T) {
	p := Point{Seq: 4, Record: "a"}
	for _, tt := range []struct {
		r    handoff.Record
		want bool
	}{
		{handoff.Record{Seq: 4, ID: "a"}, true},
		{handoff.Record{Seq: 4, ID: "b"}, false},
		{handoff.Record{Seq: 5, ID: "a"}, false},
		{handoff.Record{Seq: 4}, true}, // a damaged record
	} {
		if got := p.Has(tt.r); got != tt.want {
			t.Errorf("Has(%d %q) = %t, want %t", tt.r.Seq, tt.r.ID, got, tt.want)
		}
	}
}
