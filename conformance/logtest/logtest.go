// Package logtest is the conformance suite of logs, body stores and indexes.
package logtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
)

// An Opener prepares an empty log and returns a function that opens it, each
// call as another process would.
type Opener func(t *testing.T) (open func() handoff.Log)

// Run tests the logs that prepare makes against the contract of handoff.Log.
func Run(t *testing.T, prepare Opener) {
	for name, test := range map[string]func(*testing.T, func() handoff.Log){
		"Empty":          empty,
		"Order":          order,
		"Bytes":          bytes,
		"Refusals":       refusals,
		"EarlyStop":      earlyStop,
		"SeveralWriters": severalWriters,
		"ReadWhileGrow":  readWhileGrow,
		"Wait":           wait,
		"Cancelled":      cancelled,
	} {
		t.Run(name, func(t *testing.T) { test(t, prepare(t)) })
	}
}

var random = rand.NewChaCha8([32]byte{1})
var randomMu sync.Mutex

// NewRecord returns a fresh record of an artifact at path.
func NewRecord(path string) handoff.Record {
	randomMu.Lock()
	defer randomMu.Unlock()
	r, err := handoff.NewRecord(time.Unix(1_800_000_000, 0), random, handoff.Producer{Source: handoff.FromNone},
		&handoff.ArtifactPublished{Channel: "design", Path: path, TargetType: "file"})
	if err != nil {
		panic(err)
	}
	return r
}

// Append appends a record of an artifact at path and returns it as stored.
func Append(t testing.TB, log handoff.Log, path string) handoff.Record {
	t.Helper()
	r := NewRecord(path)
	seq, err := log.Append(t.Context(), r)
	if err != nil {
		t.Fatalf("Append(%s) = %v", path, err)
	}
	r.Seq = seq
	return r
}

// Collect returns the records of a log after the given position.
func Collect(t testing.TB, log handoff.Log, after handoff.Seq) []handoff.Record {
	t.Helper()
	var list []handoff.Record
	for r, err := range log.Read(t.Context(), after) {
		if err != nil {
			t.Fatalf("Read(%d): %v", after, err)
		}
		list = append(list, r)
	}
	return list
}

func ids(records []handoff.Record) []string {
	var list []string
	for _, r := range records {
		list = append(list, r.ID)
	}
	return list
}

func empty(t *testing.T, open func() handoff.Log) {
	if got := Collect(t, open(), 0); len(got) != 0 {
		t.Errorf("an empty log contains %v", ids(got))
	}
}

func order(t *testing.T, open func() handoff.Log) {
	most := 20
	if long() {
		most = 40
	}
	log := open()
	var want []string
	for i := range most {
		r := Append(t, log, fmt.Sprintf("%d.md", i))
		if r.Seq != handoff.Seq(i+1) {
			t.Fatalf("append %d: record %d, want %d", i, r.Seq, i+1)
		}
		want = append(want, r.ID)
	}
	for _, log := range []handoff.Log{log, open()} {
		for _, after := range []int{0, 1, 17, most - 1, most, most + 1, 1000} {
			rest := want[min(after, len(want)):]
			got := Collect(t, log, handoff.Seq(after))
			if !slices.Equal(ids(got), rest) {
				t.Errorf("Read(%d) = %v, want %v", after, ids(got), rest)
			}
			for i, r := range got {
				if r.Seq != handoff.Seq(after+i+1) {
					t.Errorf("Read(%d): record %d has Seq %d", after, i, r.Seq)
				}
			}
		}
	}
}

// bytes checks that a log stores what it is given, known or not.
func bytes(t *testing.T, open func() handoff.Log) {
	for _, text := range []string{
		`{"version":1,"type":"artifact.published","id":"art_01K0000000000000000000000A","createdAt":"2026-01-02T03:04:05.678Z","channel":"design","path":"a.md","targetType":"file","unheard":{"of":[1,2.50,"<&>"]}}`,
		`{"version":7,"type":"moon.landed","id":"x","createdAt":"2026-01-02T03:04:05Z","crater":"Tycho"}`,
	} {
		r, err := handoff.ParseRecord([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		seq, err := open().Append(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		got := Collect(t, open(), seq-1)
		if len(got) != 1 {
			t.Fatalf("Read(%d) yields %d records, want 1", seq-1, len(got))
		}
		b, err := got[0].JSON()
		if err != nil || strings.TrimSpace(string(b)) != text {
			t.Errorf("stored %s, %v\nwant   %s", b, err, text)
		}
	}
}

func refusals(t *testing.T, open func() handoff.Log) {
	log := open()
	big := NewRecord("big.md")
	big.Fact = &handoff.ArtifactPublished{Channel: "design", Summary: strings.Repeat("x", handoff.MaxRecord)}
	for name, r := range map[string]handoff.Record{"too large": big, "without a fact": {ID: "x"}} {
		if _, err := log.Append(t.Context(), r); !errors.Is(err, handoff.Invalid) {
			t.Errorf("Append of a record %s = %v, want kind Invalid", name, err)
		}
	}
	if got := Collect(t, log, 0); len(got) != 0 {
		t.Errorf("a refused record was stored: %v", ids(got))
	}
}

func earlyStop(t *testing.T, open func() handoff.Log) {
	log := open()
	const records = 6
	for i := range records {
		Append(t, log, fmt.Sprintf("%d.md", i))
	}
	for stop := 1; stop <= records; stop++ {
		n := 0
		for range log.Read(t.Context(), 0) {
			if n++; n == stop {
				break
			}
		}
		if n != stop {
			t.Fatalf("stopped after %d records, want %d", n, stop)
		}
	}
}

// severalWriters checks that each position has one record, that each writer's
// records keep their order, and that nothing is lost.
func severalWriters(t *testing.T, open func() handoff.Log) {
	writers, each := 4, 3
	if long() {
		writers, each = 8, 25
	}
	var wg sync.WaitGroup
	wrote := make([][]handoff.Record, writers)
	for w := range writers {
		log := open()
		wg.Go(func() {
			for i := range each {
				wrote[w] = append(wrote[w], Append(t, log, fmt.Sprintf("%d-%d.md", w, i)))
			}
		})
	}
	wg.Wait()
	got := Collect(t, open(), 0)
	if len(got) != writers*each {
		t.Fatalf("%d records, want %d", len(got), writers*each)
	}
	for w, list := range wrote {
		for i, r := range list {
			if got[r.Seq-1].ID != r.ID {
				t.Errorf("record %d is %s, want %s", r.Seq, got[r.Seq-1].ID, r.ID)
			}
			if i > 0 && r.Seq <= list[i-1].Seq {
				t.Errorf("writer %d: record %d came before its predecessor", w, i)
			}
		}
	}
}

// long reports whether the tests use more records. A remote log takes up to 0.1 s
// for each.
func long() bool { return os.Getenv("HANDOFF_LONG") != "" }

// waitLimit is how long a log may take to report a record that was appended. Past
// it the test fails, instead of waiting for ever.
const waitLimit = 2 * time.Minute

// readWhileGrow checks that a reader of a growing log sees a prefix of it.
func readWhileGrow(t *testing.T, open func() handoff.Log) {
	total := 10
	if long() {
		total = 200
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		log := open()
		for i := range total {
			Append(t, log, fmt.Sprintf("%d.md", i))
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	log, seen := open(), handoff.Seq(0)
	for int(seen) < total {
		if err := log.Wait(ctx, seen); err != nil {
			t.Fatalf("Wait after record %d of %d = %v", seen, total, err)
		}
		for r, err := range log.Read(t.Context(), seen) {
			if err != nil {
				t.Fatal(err)
			}
			if r.Seq != seen+1 {
				t.Fatalf("record %d follows %d", r.Seq, seen)
			}
			seen = r.Seq
		}
	}
	wg.Wait()
}

func wait(t *testing.T, open func() handoff.Log) {
	log := open()
	done := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	go func() { done <- log.Wait(ctx, 0) }()
	select {
	case err := <-done:
		t.Fatalf("Wait returned %v before there was a record", err)
	case <-time.After(50 * time.Millisecond):
	}
	Append(t, open(), "a.md")
	if err := <-done; err != nil {
		t.Errorf("Wait = %v", err)
	}
	if err := log.Wait(ctx, 0); err != nil {
		t.Errorf("Wait for a record that is there = %v", err)
	}
}

func cancelled(t *testing.T, open func() handoff.Log) {
	log := open()
	Append(t, log, "a.md")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := log.Append(ctx, NewRecord("b.md")); !errors.Is(err, context.Canceled) {
		t.Errorf("Append = %v, want context.Canceled", err)
	}
	if err := log.Wait(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait = %v, want context.Canceled", err)
	}
	for _, err := range log.Read(ctx, 0) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Read yields %v, want context.Canceled", err)
		}
	}
	if got := Collect(t, log, 0); len(got) != 1 {
		t.Errorf("%d records, want the 1 of before", len(got))
	}
}
