package transfer

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

// An endless yields a tar file of empty directories after its first entries, without
// ever having all of it, and notes how much of it was read and how much memory there was.
type endless struct {
	entries int
	buf     bytes.Buffer
	tw      *tar.Writer
	n       int
	read    int64
	heap    uint64
}

func (e *endless) Read(p []byte) (int, error) {
	for e.buf.Len() == 0 {
		if e.n == e.entries {
			return 0, io.EOF
		}
		e.n++
		if err := e.tw.WriteHeader(&tar.Header{Name: fmt.Sprintf("files/%07d/", e.n), Mode: 0o755,
			Typeflag: tar.TypeDir}); err != nil {
			return 0, err
		}
		if e.n%10_000 == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			e.heap = max(e.heap, m.HeapAlloc)
		}
	}
	n, err := e.buf.Read(p)
	e.read += int64(n)
	return n, err
}

// TestMillionEntries checks that a file with 10^6 entries, or with too many checksums, is
// refused with an error that names the limit, and that reading ends there.
func TestMillionEntries(t *testing.T) {
	const entries, mostHeap = 1_000_000, 128 << 20
	var sums strings.Builder
	for i := range 2 * maxEntries {
		fmt.Fprintf(&sums, "%064x  files/%07d\n", i, i)
	}
	manifest := []byte(`{"format":"handoff-session","version":1,"sessionId":"s"}`)
	for _, tt := range []struct {
		name, sums string
		most       int64
	}{
		{"entries", "", 2 * 512 * maxEntries},
		{"checksums", sums.String(), int64(2 * sums.Len())},
		{"large checksums", strings.Repeat("x", maxChecksums+1), 2 << 20},
	} {
		e := &endless{entries: entries}
		e.tw = tar.NewWriter(&e.buf)
		for _, entry := range []struct{ name, text string }{{manifestName, string(manifest)}, {checksumsName, tt.sums}} {
			if err := add(e.tw, entry.name, []byte(entry.text)); err != nil {
				t.Fatal(err)
			}
		}
		runtime.GC()
		var before runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := verify(t.Context(), e, entries*512)
		want := fmt.Sprintf("more than %d entries", maxEntries)
		if tt.name == "large checksums" {
			want = "checksums.txt is too large"
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, want)
		}
		if e.read > tt.most || e.heap > mostHeap+before.HeapAlloc {
			t.Errorf("%s: read %d MiB with %d MiB of memory, want at most %d and %d", tt.name, e.read>>20, e.heap>>20,
				tt.most>>20, mostHeap>>20)
		}
	}
}
