package logtest

import (
	stdbytes "bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
)

// A BodiesOpener prepares an empty store and returns a function that opens it,
// each call as another process would.
type BodiesOpener func(t *testing.T) (open func() handoff.Bodies)

// RunBodies tests the stores that prepare makes against the contract of
// handoff.Bodies.
func RunBodies(t *testing.T, prepare BodiesOpener) {
	for name, test := range map[string]func(*testing.T, func() handoff.Bodies){
		"PutOpen":     putOpen,
		"NotKept":     notKept,
		"FailedRead":  failedRead,
		"AtOnce":      keptAtOnce,
		"Seek":        seek,
		"CancelledIn": cancelledIn,
	} {
		t.Run(name, func(t *testing.T) { test(t, prepare(t)) })
	}
}

// DigestOf returns the digest under which text is kept.
func DigestOf(text string) handoff.Digest {
	sum := sha256.Sum256([]byte(text))
	return handoff.Digest{Algorithm: handoff.SHA256, Value: hex.EncodeToString(sum[:])}
}

func kept(t *testing.T, b handoff.Bodies, d handoff.Digest) string {
	t.Helper()
	r, err := b.Open(t.Context(), d)
	if err != nil {
		t.Fatalf("Open(%s) = %v", d.Value, err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func putOpen(t *testing.T, open func() handoff.Bodies) {
	for _, text := range []string{"", "a", "\x00\xff", strings.Repeat("x", 1<<20), strings.Repeat("long\n", 700_000)} {
		for range 2 { // a body is kept once, however often
			d, err := open().Put(t.Context(), strings.NewReader(text))
			if err != nil || d != DigestOf(text) {
				t.Fatalf("Put of %d bytes = %v, %v, want %v", len(text), d, err, DigestOf(text))
			}
		}
		if there, err := open().Has(t.Context(), DigestOf(text)); err != nil || !there {
			t.Errorf("Has of %d bytes = %v, %v, want true", len(text), there, err)
		}
		if got := kept(t, open(), DigestOf(text)); got != text {
			t.Errorf("Open of %d bytes gives %d others", len(text), len(got))
		}
	}
}

func notKept(t *testing.T, open func() handoff.Bodies) {
	b := open()
	if _, err := b.Put(t.Context(), strings.NewReader("a")); err != nil {
		t.Fatal(err)
	}
	a := DigestOf("a").Value
	for _, d := range []handoff.Digest{
		DigestOf("b"), {}, {Algorithm: "sha512", Value: a}, {Algorithm: handoff.SHA256, Value: ""},
		{Algorithm: handoff.SHA256, Value: "../../../log/ID"}, {Algorithm: handoff.SHA256, Value: a[:2]},
		{Algorithm: handoff.SHA256, Value: strings.ToUpper(a)}, {Algorithm: handoff.SHA256, Value: a[:62] + "/."},
	} {
		if r, err := b.Open(t.Context(), d); !errors.Is(err, handoff.NotFound) || r != nil {
			t.Errorf("Open(%v) = %v, %v, want kind NotFound", d, r, err)
		}
		if there, err := b.Has(t.Context(), d); err != nil || there {
			t.Errorf("Has(%v) = %v, %v, want false", d, there, err)
		}
	}
}

var errSource = errors.New("the source broke")

// failedRead checks that what could not be read completely is not stored.
func failedRead(t *testing.T, open func() handoff.Bodies) {
	for _, n := range []int{0, 1, 1 << 20, 3 << 20} {
		text := strings.Repeat("x", n)
		d, err := open().Put(t.Context(), io.MultiReader(strings.NewReader(text), brokenReader{}))
		if !errors.Is(err, errSource) {
			t.Errorf("Put = %v, %v, want the source's error", d, err)
		}
		if there, err := open().Has(t.Context(), DigestOf(text)); err != nil || there {
			t.Errorf("%d bytes of a source that broke were kept (%v)", n, err)
		}
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errSource }

func keptAtOnce(t *testing.T, open func() handoff.Bodies) {
	var wg sync.WaitGroup
	for w := range 8 {
		b := open()
		wg.Go(func() {
			for i := range 20 {
				text := strings.Repeat("same", i) // every writer keeps the same
				if w%2 == 0 {
					text += string(rune('a' + w))
				}
				if d, err := b.Put(t.Context(), strings.NewReader(text)); err != nil || d != DigestOf(text) {
					t.Errorf("writer %d, body %d: %v, %v", w, i, d, err)
				}
			}
		})
	}
	wg.Wait()
	for i := range 20 {
		text := strings.Repeat("same", i)
		if got := kept(t, open(), DigestOf(text)); got != text {
			t.Errorf("body %d is %q", i, got)
		}
	}
}

func seek(t *testing.T, open func() handoff.Bodies) {
	text := []byte("0123456789")
	d, err := open().Put(t.Context(), stdbytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r, err := open().Open(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if size, err := r.Seek(0, io.SeekEnd); err != nil || size != 10 {
		t.Errorf("Seek to the end = %d, %v", size, err)
	}
	if _, err := r.Seek(7, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(r); err != nil || string(rest) != "789" {
		t.Errorf("from 7: %q, %v", rest, err)
	}
}

func cancelledIn(t *testing.T, open func() handoff.Bodies) {
	b := open()
	d, err := b.Put(t.Context(), strings.NewReader("a"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Put(ctx, strings.NewReader("b")); !errors.Is(err, context.Canceled) {
		t.Errorf("Put = %v, want context.Canceled", err)
	}
	if _, err := b.Open(ctx, d); !errors.Is(err, context.Canceled) {
		t.Errorf("Open = %v, want context.Canceled", err)
	}
	if there, _ := b.Has(t.Context(), DigestOf("b")); there {
		t.Error("a cancelled body was kept")
	}
}

// CheckLargeBody stores a body on one machine and fetches it on another, in less memory
// than it has. recorded is called in between: a log may send a body with its record.
func CheckLargeBody(t *testing.T, size int64, from, to handoff.Bodies, recorded func(handoff.Digest)) {
	const most = 32 << 20
	runtime.GC() // what other tests have left
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	var peak atomic.Uint64
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak.Store(max(peak.Load(), m.HeapAlloc-min(m.HeapAlloc, before.HeapAlloc)))
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	d, err := from.Put(t.Context(), io.LimitReader(pattern{}, size))
	if err != nil {
		t.Fatal(err)
	}
	recorded(d)
	if err := to.(handoff.BodyFetcher).Fetch(t.Context(), d, size); err != nil {
		t.Fatal(err)
	}
	r, err := to.Open(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	sum := sha256.New()
	if n, err := io.Copy(sum, r); err != nil || n != size || hex.EncodeToString(sum.Sum(nil)) != d.Value {
		t.Errorf("read %d bytes of %d with digest %x (%v), want %s", n, size, sum.Sum(nil), err, d.Value)
	}
	t.Logf("%d MiB, heap of at most %d MiB", size>>20, peak.Load()>>20)
	if peak.Load() > most {
		t.Errorf("heap of %d bytes for a body of %d, want at most %d", peak.Load(), size, most)
	}
}

// A pattern is an endless body.
type pattern struct{}

func (pattern) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(i * 7)
	}
	return len(p), nil
}
