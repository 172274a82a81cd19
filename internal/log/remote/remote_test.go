package remote_test

import (
	"github.com/agent-handoff/handoff/engines/memory"

	"context"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/internal/log/remote"
)

// A store has one body, which may be damaged.
type store struct {
	content io.Reader
	put     []string
}

func (s *store) Put(_ context.Context, _ handoff.Digest, size int64, r io.ReadSeeker) error {
	b, err := io.ReadAll(r)
	if int64(len(b)) != size {
		return errors.New("has another size")
	}
	s.put = append(s.put, string(b))
	return err
}

func (s *store) Open(context.Context, handoff.Digest) (io.ReadCloser, error) {
	if s.content == nil {
		return nil, handoff.NotFound
	}
	return io.NopCloser(s.content), nil
}

func (s *store) Has(context.Context, handoff.Digest) (bool, error) { return s.content != nil, nil }

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// TestFetch copies only what has the size and the digest of its record.
func TestFetch(t *testing.T) {
	for name, tt := range map[string]struct {
		content io.Reader
		want    error
	}{
		"intact":     {strings.NewReader("body"), nil},
		"damaged":    {strings.NewReader("BODY"), handoff.Corrupt},
		"truncated":  {strings.NewReader("bod"), handoff.Corrupt},
		"too long":   {strings.NewReader("body and more"), handoff.Corrupt},
		"endless":    {endless{}, handoff.Corrupt},
		"not stored": {nil, handoff.NotFound},
		"broken":     {io.MultiReader(strings.NewReader("bo"), broken{}), io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			local := filelog.Open(t.TempDir()+"/x", rand.Reader).Bodies()
			b := remote.NewBodies(local, &store{content: tt.content})
			d := logtest.DigestOf("body")
			if err := b.Fetch(t.Context(), d, 4); !errors.Is(err, tt.want) {
				t.Errorf("Fetch = %v, want %v", err, tt.want)
			}
			if here, err := b.Fetched(t.Context(), d); err != nil || here != (tt.want == nil) {
				t.Errorf("Fetched = %t, %v", here, err)
			}
			for stored := range local.List(t.Context()) {
				if stored.Digest != d || tt.want != nil {
					t.Errorf("%s was stored", stored.Digest.Value)
				}
			}
		})
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// TestProgress reports how much of a body was copied, if its size is known.
func TestProgress(t *testing.T) {
	text := strings.Repeat("x", 3<<20)
	for _, size := range []int64{3 << 20, remote.UnknownSize} {
		b := remote.NewBodies(filelog.Open(t.TempDir()+"/x", rand.Reader).Bodies(), &store{content: strings.NewReader(text)})
		var last, calls int64
		ctx := remote.WithProgress(t.Context(), func(done, total int64) {
			if done < last || total != size {
				t.Errorf("%d of %d after %d", done, total, last)
			}
			last = done
			calls++
		})
		if err := b.Fetch(ctx, logtest.DigestOf(text), size); err != nil {
			t.Fatal(err)
		}
		if known := size != remote.UnknownSize; known && (last != size || calls < 2) || !known && calls > 0 {
			t.Errorf("size %d: %d calls, the last with %d", size, calls, last)
		}
	}
}

// TestPut sends what was stored on this machine.
func TestPut(t *testing.T) {
	s := &store{}
	b := remote.NewBodies(filelog.Open(t.TempDir()+"/x", rand.Reader).Bodies(), s)
	for _, text := range []string{"", "one", strings.Repeat("x", 3<<20)} {
		d, err := b.Put(t.Context(), strings.NewReader(text))
		if err != nil || d != logtest.DigestOf(text) || len(s.put) == 0 || s.put[len(s.put)-1] != text {
			t.Errorf("Put of %d bytes = %v, %v", len(text), d, err)
		}
	}
}

// TestWriter appends in many goroutines. Each record is written once, and a caller
// whose context ends gives up only its own record.
func TestWriter(t *testing.T) { synctest.Test(t, testWriter) }

func testWriter(t *testing.T) {
	log := memory.NewLog()
	entered, leave := make(chan struct{}, 1), make(chan struct{})
	var batches int
	w := remote.NewWriter(func(ctx context.Context, batch []remote.Entry) (first handoff.Seq, err error) {
		if batches++; batches == 1 {
			entered <- struct{}{}
			<-leave
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		for i, e := range batch {
			seq, err := log.Append(ctx, e.Record)
			if err != nil {
				return 0, err
			}
			if i == 0 {
				first = seq
			}
		}
		return first, nil
	})
	var wg sync.WaitGroup
	cancelled, cancel := context.WithCancel(t.Context())
	wg.Go(func() {
		if _, err := w.Append(cancelled, logtest.NewRecord("first.md")); !errors.Is(err, context.Canceled) {
			t.Errorf("Append of a cancelled caller = %v", err)
		}
	})
	<-entered
	const n = 300 // more than a batch
	var mu sync.Mutex
	seen := map[handoff.Seq]string{}
	for range n {
		wg.Go(func() {
			r := logtest.NewRecord("a.md")
			seq, err := w.Append(t.Context(), r)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			seen[seq] = r.ID
		})
	}
	synctest.Wait() // all of them wait for the first batch
	cancel()
	close(leave)
	wg.Wait()
	records := logtest.Collect(t, log, 0)
	if len(records) != n || len(seen) != n {
		t.Fatalf("%d records, %d numbers, want %d", len(records), len(seen), n)
	}
	for _, r := range records {
		if seen[r.Seq] != r.ID {
			t.Errorf("record %d is %s, want %s", r.Seq, r.ID, seen[r.Seq])
		}
	}
	if batches > 4 {
		t.Errorf("%d batches, want the first one, and a few for those that waited", batches)
	}
}
