package bucketlog_test

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/handoff-s3/internal/bucketlog"
	"github.com/agent-handoff/handoff/conformance/logtest"
)

func newIndex() handoff.Index { return logtest.NewReference() }

// TestKilledWriters kills processes that append, over a connection that delays, cuts
// and loses replies, to a store that fails at times. The log has each record that was
// acknowledged, once and in order, and every reader has the same answers.
func TestKilledWriters(t *testing.T) {
	if logtest.Write(t, func(runtime string) handoff.Log { return openAt(t, os.Getenv("S3TEST_ENDPOINT"), runtime) }) {
		return
	}
	s := newStore(t)
	p := logtest.NewProxy(t, s.Listener.Addr().String())
	p.Delay.Store(int64(time.Millisecond))
	p.Cut.Store(40)
	p.Lose.Store(40)
	w := logtest.Writers{Test: "TestKilledWriters", Env: []string{"S3TEST_ENDPOINT=" + p.Addr()}, Records: 200, Threads: 2}
	if os.Getenv("HANDOFF_LONG") != "" {
		w.Records, w.Threads = 5000, 4
	}
	s.fail.Store(3)
	h, failed := w.Kill(t)
	puts := s.puts.Load()
	s.Close() // waits for requests of killed processes
	s.Server = httptest.NewServer(s.Config.Handler)
	n := h.Check(t, newIndex, s.machine(t, t.TempDir()), s.machine(t, t.TempDir()), s.machine(t, t.TempDir()))
	t.Logf("%d acknowledged, %d failed, %d stored with %d PUTs; %d requests and %d replies were lost", h.Len(), failed, n,
		puts, p.Cuts.Load(), p.Losses.Load())
	if report, err := s.machine(t, t.TempDir()).Check(t.Context(), nil); err != nil || !report.OK() {
		t.Errorf("Check = %+v, %v", report, err)
	}
}

// TestCutConnections has connections that are all cut: an append ends, with an error.
func TestCutConnections(t *testing.T) {
	s := newStore(t)
	p := logtest.NewProxy(t, s.Listener.Addr().String())
	l := openAt(t, p.Addr(), t.TempDir())
	logtest.Append(t, l, "a.md")
	p.Lose.Store(1)
	r := logtest.NewRecord("b.md")
	if _, err := l.Append(t.Context(), r); !errors.Is(err, handoff.Unavailable) {
		t.Errorf("Append = %v, want kind Unavailable", err)
	}
	p.Lose.Store(0)
	logtest.Append(t, l, "c.md")
	seen := 0
	for _, stored := range logtest.Collect(t, s.machine(t, t.TempDir()), 0) {
		if stored.ID == r.ID {
			seen++
		}
	}
	if seen > 1 {
		t.Errorf("the record whose replies were lost is stored %d times", seen)
	}
}

// TestSecondWorkspace has several logs in one bucket.
func TestSecondWorkspace(t *testing.T) {
	s := newStore(t)
	open := func(prefix string) *bucketlog.Log {
		l, err := bucketlog.Open(bucketlog.Options{Endpoint: s.Listener.Addr().String(), Insecure: true, Region: "us-east-1",
			Bucket: "bucket", Prefix: prefix,
			AccessKey: "k", SecretKey: "s", Runtime: t.TempDir(), Timeout: 5 * time.Second, Rand: rand.Reader})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	prefixes := []string{"", "team", "team/other", "team2"}
	for i, prefix := range prefixes {
		for range i + 1 {
			logtest.Append(t, open(prefix), prefix+".md")
		}
	}
	seen := map[string]bool{}
	for i, prefix := range prefixes {
		l := open(prefix)
		if got := logtest.Collect(t, l, 0); len(got) != i+1 {
			t.Errorf("%q has %d records, want %d", prefix, len(got), i+1)
		}
		id, err := l.ID(t.Context())
		if err != nil || seen[id] {
			t.Errorf("%q has the ID %s, %v", prefix, id, err)
		}
		seen[id] = true
	}
}

// TestLargeBody stores and fetches a body of 64 MiB, in HANDOFF_LONG of 1 GiB.
func TestLargeBody(t *testing.T) {
	size := int64(64 << 20)
	if os.Getenv("HANDOFF_LONG") != "" {
		size = 1 << 30
	}
	s := newDiskStore(t)
	logtest.CheckLargeBody(t, size, openAt(t, s, t.TempDir()).Bodies(), openAt(t, s, t.TempDir()).Bodies(),
		func(handoff.Digest) {})
}

// newDiskStore returns the address of a store that has objects and their parts in
// files.
func newDiskStore(t *testing.T) string {
	dir := t.TempDir()
	h := http.NewServeMux()
	name := func(r *http.Request) string {
		return filepath.Join(dir, hex.EncodeToString([]byte(r.URL.Path)))
	}
	h.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		switch {
		case r.Method == http.MethodPost && query.Has("uploads"):
			io.WriteString(w, `<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>`)
		case r.Method == http.MethodGet && query.Has("list-type"): // of bodies only
			io.WriteString(w, `<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>`)
		case r.Method == http.MethodPut:
			f, err := os.Create(name(r) + query.Get("partNumber"))
			if err == nil {
				_, err = io.Copy(f, r.Body)
				f.Close()
			}
			if err != nil {
				w.WriteHeader(http.StatusInternalServerError)
			}
			w.Header().Set("ETag", `"x"`)
		case r.Method == http.MethodPost:
			out, err := os.Create(name(r))
			for i := 1; err == nil; i++ {
				part, missing := os.Open(name(r) + strconv.Itoa(i))
				if missing != nil {
					break
				}
				_, err = io.Copy(out, part)
				part.Close()
			}
			out.Close()
			io.WriteString(w,
				`<CompleteMultipartUploadResult><Bucket>bucket</Bucket><Key>key</Key><ETag>"x"</ETag></CompleteMultipartUploadResult>`)
		default:
			if _, err := os.Stat(name(r)); err != nil {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			w.Header().Set("ETag", `"x"`)
			http.ServeFile(w, r, name(r))
		}
	})
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}
