package bucketlog_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/handoff-s3/internal/bucketlog"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// A store is an object store with faults. Its conditional writes are atomic.
type store struct {
	*httptest.Server
	backend *s3mem.Backend

	puts   atomic.Int64
	fail   atomic.Int64 // how many requests are answered with an error
	status atomic.Int64 // which one; 0 is 503
	hang   atomic.Bool  // requests are not answered

	hangLater atomic.Bool  // requests after the next object of the log are not answered, and neither is that one
	hangPuts  atomic.Bool  // what PUT sends is not read
	puts500   atomic.Bool  // a PUT of an object of the log is done, and answered with 500
	lose      atomic.Int64 // how many replies to PUT are lost
	slow      atomic.Int64 // nanoseconds before each answer
	ignores   atomic.Bool  // the condition is ignored
	// the condition is ignored for objects whose name ends in -2, as by a store that does not see two requests at once
	twice  atomic.Bool
	denied atomic.Bool
	later  atomic.Int64           // by how much the Date of the replies is later, in nanoseconds
	keeps  atomic.Bool            // DELETE is not answered
	served atomic.Pointer[func()] // is called before the reply to the next PUT
	one    sync.Mutex
}

func newStore(t testing.TB, o ...gofakes3.Option) *store { return newStoreOf(t, s3mem.New(), o...) }

func newStoreOf(t testing.TB, backend *s3mem.Backend, o ...gofakes3.Option) *store {
	s := &store{backend: backend}
	if err := s.backend.CreateBucket("bucket"); err != nil {
		t.Fatal(err)
	}
	handler := gofakes3.New(s.backend, o...).Server()
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Duration(s.slow.Load()))
		w.Header().Set("Date", time.Now().Add(time.Duration(s.later.Load())).UTC().Format(http.TimeFormat))
		if s.keeps.Load() && r.Method == http.MethodDelete {
			s.wait(t, r)
			return
		}
		if s.denied.Load() {
			w.WriteHeader(http.StatusForbidden)
			io.WriteString(w,
				`<?xml version="1.0"?><Error><Code>InvalidAccessKeyId</Code><Message>unknown key</Message></Error>`)
			return
		}
		if s.fail.Add(-1) >= 0 {
			w.WriteHeader(cmp.Or(int(s.status.Load()), http.StatusServiceUnavailable))
			return
		}
		if s.hangPuts.Load() && r.Method == http.MethodPut {
			s.wait(t, r)
			return
		}
		if s.hangLater.Load() && r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/log/") {
			handler.ServeHTTP(httptest.NewRecorder(), r)
			s.hangLater.Store(false)
			s.hang.Store(true)
		}
		if s.hang.Load() {
			s.wait(t, r)
			return
		}
		if r.Method != http.MethodPut {
			handler.ServeHTTP(w, r)
			return
		}
		s.puts.Add(1)
		s.one.Lock()
		defer s.one.Unlock()
		if s.ignores.Load() || s.twice.Load() && strings.HasSuffix(r.URL.Path, "-2") {
			r.Header.Del("If-None-Match")
		}
		if s.lose.Add(-1) >= 0 {
			handler.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		if s.puts500.Load() && strings.Contains(r.URL.Path, "/log/") {
			handler.ServeHTTP(httptest.NewRecorder(), r)
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		handler.ServeHTTP(w, r)
		if do := s.served.Swap(nil); do != nil {
			(*do)()
		}
	}))
	s.Config.ErrorLog = nil
	t.Cleanup(s.Close)
	return s
}

// wait waits until the client or the test ends.
func (s *store) wait(t testing.TB, r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-t.Context().Done():
	}
}

// machine opens the log in a store with a runtime directory.
func (s *store) machine(t testing.TB, runtime string) *bucketlog.Log {
	return openAt(t, s.Listener.Addr().String(), runtime)
}

func openAt(t testing.TB, endpoint, runtime string) *bucketlog.Log {
	return openPrefix(t, endpoint, runtime, "team/log")
}

func openPrefix(t testing.TB, endpoint, runtime, prefix string) *bucketlog.Log {
	l, err := bucketlog.Open(bucketlog.Options{Endpoint: endpoint, Insecure: true, Region: "us-east-1", Bucket: "bucket",
		Prefix:    prefix,
		AccessKey: "k", SecretKey: "s", Runtime: runtime, Timeout: 5 * time.Second, Rand: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func machines(t *testing.T) func() handoff.Log {
	s := newStore(t)
	return func() handoff.Log { return s.machine(t, t.TempDir()) }
}

func sameMachine(t *testing.T) func() handoff.Log {
	s, dir := newStore(t), t.TempDir()
	return func() handoff.Log { return s.machine(t, dir) }
}

func TestLog(t *testing.T) {
	t.Run("OneMachine", func(t *testing.T) { logtest.Run(t, sameMachine) })
	t.Run("Machines", func(t *testing.T) { logtest.Run(t, machines) })
}

func TestLogAbilities(t *testing.T) {
	logtest.RunLogAbilities(t, sameMachine)
	logtest.RunLogAbilities(t, machines)
}

func bodiesOpener(t *testing.T) func() handoff.Bodies {
	s, dir := newStore(t), t.TempDir()
	return func() handoff.Bodies { return s.machine(t, dir).Bodies() }
}

func TestBodies(t *testing.T) { logtest.RunBodies(t, bodiesOpener) }

func TestBodyAbilities(t *testing.T) { logtest.RunBodyAbilities(t, bodiesOpener) }

// TestBodyFromAnotherMachine reads bodies that another machine has stored.
func TestBodyFromAnotherMachine(t *testing.T) {
	s := newStore(t)
	for _, size := range []int{0, 1 << 10, 40 << 20} {
		text := strings.Repeat("0123456789abcdef", size/16)
		d, err := s.machine(t, t.TempDir()).Bodies().Put(t.Context(), strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		b := s.machine(t, t.TempDir()).Bodies()
		f := b.(handoff.BodyFetcher)
		if err := f.Fetch(t.Context(), d, int64(size)-1); size > 0 && !errors.Is(err, handoff.Corrupt) {
			t.Errorf("%d bytes: Fetch of one less = %v, want kind Corrupt", size, err)
		}
		if err := f.Fetch(t.Context(), d, int64(size)); err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		r, err := b.Open(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != text {
			t.Errorf("%d bytes: got %d, %v", size, len(got), err)
		}
		r.Close()
	}
	d := logtest.DigestOf("damaged")
	if _, err := s.backend.PutObject("bucket", "team/log/bodies/sha256/"+d.Value[:2]+"/"+d.Value[2:],
		map[string]string{"Last-Modified": "Mon, 02 Jan 2006 15:04:05 GMT"}, strings.NewReader("DAMAGED"), 7,
		nil); err != nil {
		t.Fatal(err)
	}
	err := s.machine(t, t.TempDir()).Bodies().(handoff.BodyFetcher).Fetch(t.Context(), d, 7)
	if !errors.Is(err, handoff.Corrupt) || !strings.Contains(err.Error(), d.Value) {
		t.Errorf("Fetch of a damaged body = %v, want kind Corrupt with its name", err)
	}
}

// TestIgnoredCondition refuses a store that accepts the condition and ignores it.
func TestIgnoredCondition(t *testing.T) {
	for _, twice := range []bool{false, true} { // of two requests at once only
		s := newStore(t)
		s.ignores.Store(!twice)
		s.twice.Store(twice)
		l := s.machine(t, t.TempDir())
		if _, err := l.Append(t.Context(), logtest.NewRecord("a.md")); !errors.Is(err, handoff.Unsupported) ||
			!strings.Contains(err.Error(), "s3://bucket/team/log") {
			t.Errorf("of two requests at once %t: Append = %v, want kind Unsupported", twice, err)
		}
		if n, err := s.machine(t, t.TempDir()).Newest(t.Context()); n != 0 || err != nil {
			t.Errorf("Newest = %d, %v, want an empty log", n, err)
		}
	}
}

// TestLostReplies loses every third reply: each record is stored once.
func TestLostReplies(t *testing.T) {
	s := newStore(t)
	l := s.machine(t, t.TempDir())
	var want []string
	for i := range 30 {
		if i%3 == 0 {
			s.lose.Store(1 + int64(i%2))
		}
		r := logtest.Append(t, l, "a.md")
		if r.Seq != handoff.Seq(i+1) {
			t.Errorf("append %d has number %d", i, r.Seq)
		}
		want = append(want, r.ID)
	}
	for i, r := range logtest.Collect(t, s.machine(t, t.TempDir()), 0) {
		if i >= len(want) || r.ID != want[i] {
			t.Fatalf("record %d is %s", i+1, r.ID)
		}
	}
}

// TestUnavailable retries with bounds.
func TestUnavailable(t *testing.T) {
	s := newStore(t)
	dir := t.TempDir()
	logtest.Append(t, s.machine(t, dir), "a.md")
	s.fail.Store(3)
	logtest.Append(t, s.machine(t, dir), "b.md")
	s.fail.Store(1 << 40)
	if _, err := s.machine(t, dir).Append(t.Context(), logtest.NewRecord("c.md")); !errors.Is(err, handoff.Unavailable) {
		t.Errorf("Append to a store that fails = %v, want kind Unavailable", err)
	}
	s.fail.Store(0)
	s.denied.Store(true)
	if _, err := s.machine(t, dir).Append(t.Context(), logtest.NewRecord("c.md")); !errors.Is(err, handoff.Unavailable) ||
		!strings.Contains(err.Error(), "unknown key") {
		t.Errorf("Append with wrong credentials = %v, want kind Unavailable", err)
	}
	s.denied.Store(false)
	s.slow.Store(int64(2 * time.Second))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := s.machine(t, dir).Append(ctx, logtest.NewRecord("c.md")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Append to a slow store = %v, want the error of the context", err)
	}
	s.slow.Store(0)
	if got := logtest.Collect(t, s.machine(t, t.TempDir()), 0); len(got) < 2 {
		t.Errorf("%d records, want at least 2", len(got))
	}
}

// TestDamagedLog reports objects that are missing, replaced, or not objects of
// the log.
func TestDamagedLog(t *testing.T) {
	key := func(n int) string { return fmt.Sprintf("team/log/log/%012d", n) }
	put := func(t *testing.T, s *store, n int, content string) {
		if _, err := s.backend.PutObject("bucket", key(n),
			map[string]string{"Last-Modified": "Mon, 02 Jan 2006 15:04:05 GMT"}, strings.NewReader(content), int64(len(content)),
			nil); err != nil {
			t.Fatal(err)
		}
	}
	for name, change := range map[string]func(t *testing.T, s *store){
		"the newest is missing": func(t *testing.T, s *store) {
			if _, err := s.backend.DeleteObject("bucket", key(3)); err != nil {
				t.Fatal(err)
			}
		},
		"the newest was replaced": func(t *testing.T, s *store) { put(t, s, 3, "{}\n") },
		"the newest was replaced by another record": func(t *testing.T, s *store) {
			o, err := s.backend.GetObject("bucket", key(3), nil)
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(o.Contents)
			if err != nil {
				t.Fatal(err)
			}
			put(t, s, 3, strings.Replace(string(content), "a.md", "b.md", 1))
		},
		"one in between is missing": func(t *testing.T, s *store) {
			logtest.Append(t, s.machine(t, t.TempDir()), "d.md")
			logtest.Append(t, s.machine(t, t.TempDir()), "e.md")
			if _, err := s.backend.DeleteObject("bucket", key(4)); err != nil {
				t.Fatal(err)
			}
		},
		"no header": func(t *testing.T, s *store) { put(t, s, 4, "hello") },
		"too large": func(t *testing.T, s *store) { put(t, s, 4, strings.Repeat("x", 6<<20)) },
		"another log": func(t *testing.T, s *store) {
			put(t, s, 4, `{"log":"00000000000000000000000000000000","number":4,"first":4,"sizes":[2]}`+"\n{}")
		},
		"a size too large": func(t *testing.T, s *store) {
			put(t, s, 4, `{"log":"00000000000000000000000000000000","number":4,"first":4,"sizes":[3]}`+"\n{}")
		},
		"a foreign key": func(t *testing.T, s *store) {
			if _, err := s.backend.PutObject("bucket", "team/log/log/x",
				map[string]string{"Last-Modified": "Mon, 02 Jan 2006 15:04:05 GMT"}, strings.NewReader(""), 0, nil); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := newStore(t), t.TempDir()
			for range 3 {
				logtest.Append(t, s.machine(t, dir), "a.md")
			}
			change(t, s)
			if _, err := s.machine(t, dir).Append(t.Context(), logtest.NewRecord("x.md")); !errors.Is(err, handoff.Corrupt) {
				t.Errorf("Append = %v, want kind Corrupt", err)
			}
			if report, err := s.machine(t, dir).Check(t.Context(), nil); err != nil || report.OK() {
				t.Errorf("Check = %+v, %v, want a problem", report, err)
			}
		})
	}
}

// TestNestedPrefixes has logs under prefixes that contain each other, and what a
// console of a store creates for a folder. Each has its own records and bodies.
func TestNestedPrefixes(t *testing.T) {
	s := newStore(t)
	prefixes := []string{"team", "", "team/log", "team/log/log", "team/log/000000000002", "team/bodies", "team/trial"}
	if _, err := s.backend.PutObject("bucket", "team/log/",
		map[string]string{"Last-Modified": "Mon, 02 Jan 2006 15:04:05 GMT"}, strings.NewReader(""), 0, nil); err != nil {
		t.Fatal(err)
	}
	want, dir := map[string][]string{}, t.TempDir()
	for round := range 3 {
		for _, p := range prefixes {
			l := openPrefix(t, s.Listener.Addr().String(), dir, p)
			r := logtest.NewRecord("a.md")
			if seq, err := l.Append(t.Context(), r); err != nil || int(seq) != round+1 {
				t.Fatalf("prefix %q: Append = %d, %v, want %d", p, seq, err, round+1)
			}
			want[p] = append(want[p], r.ID)
			if _, err := l.Bodies().Put(t.Context(), strings.NewReader(p)); err != nil {
				t.Errorf("prefix %q: Put: %v", p, err)
			}
		}
	}
	for _, p := range prefixes {
		l := openPrefix(t, s.Listener.Addr().String(), t.TempDir(), p)
		var got []string
		for _, r := range logtest.Collect(t, l, 0) {
			got = append(got, r.ID)
		}
		if !slices.Equal(got, want[p]) {
			t.Errorf("prefix %q has %q, want %q", p, got, want[p])
		}
		if report, err := l.Check(t.Context(), nil); err != nil || !report.OK() {
			t.Errorf("prefix %q: Check = %+v, %v", p, report, err)
		}
		for _, other := range prefixes {
			if there, err := l.Bodies().Has(t.Context(), logtest.DigestOf(other)); err != nil || there != (other == p) {
				t.Errorf("prefix %q has the body of %q: %t, %v", p, other, there, err)
			}
		}
	}
}

// TestUntrustedState brings a file that states another position than the store.
func TestUntrustedState(t *testing.T) {
	s, dir := newStore(t), t.TempDir()
	logtest.Append(t, s.machine(t, dir), "a.md")
	files, err := filepath.Glob(filepath.Join(dir, "bucket", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(b), `"last":1`, `"last":9`, 1)
	if changed == string(b) {
		t.Fatalf("the file has %s", b)
	}
	if err := os.WriteFile(files[0], []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.machine(t, dir).Append(t.Context(), logtest.NewRecord("b.md")); !errors.Is(err, handoff.Corrupt) {
		t.Errorf("Append = %v, want kind Corrupt", err)
	}
	if err := os.WriteFile(files[0], []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := logtest.Append(t, s.machine(t, dir), "b.md"); r.Seq != 2 {
		t.Errorf("the next record is %d, want 2", r.Seq)
	}
}

// TestBatch appends many records at once: they share few objects.
func TestBatch(t *testing.T) {
	s := newStore(t)
	l := s.machine(t, t.TempDir())
	logtest.Append(t, l, "first.md")
	s.puts.Store(0)
	const n = 400
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if _, err := l.Append(t.Context(), logtest.NewRecord(fmt.Sprintf("%d.md", i))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	puts := s.puts.Load()
	if puts > 20 {
		t.Errorf("%d records took %d requests", n, puts)
	}
	t.Logf("%d records took %d requests", n, puts)
	other := s.machine(t, t.TempDir())
	for _, after := range []handoff.Seq{0, 1, 2, 57, 256, 399, 400} {
		if got := logtest.Collect(t, other, after); len(got) != n+1-int(after) || len(got) > 0 && got[0].Seq != after+1 {
			t.Errorf("Read(%d): %d records", after, len(got))
		}
	}
}

// TestForeignPrefix holds that nothing is written to a prefix with objects of another
// program, and that the log is found there if it was first.
func TestForeignPrefix(t *testing.T) {
	s := newStore(t)
	put := func(key string) {
		t.Helper()
		if _, err := s.backend.PutObject("bucket", key, map[string]string{"Last-Modified": "Mon, 02 Jan 2006 15:04:05 GMT"},
			strings.NewReader("x"), 1, nil); err != nil {
			t.Fatal(err)
		}
	}
	for i, key := range []string{"data.csv", "log.txt", "bodies/a", "log2/000000000001", "trial/run", "handoff/x/notes.md",
		"zebra"} {
		prefix := fmt.Sprint("p", i)
		put(prefix + "/" + key)
		l := openPrefix(t, s.Listener.Addr().String(), t.TempDir(), prefix)
		puts := s.puts.Load()
		if _, err := l.Bodies().Put(t.Context(), strings.NewReader("body")); !errors.Is(err, handoff.Invalid) {
			t.Errorf("%s: Put = %v, want kind Invalid", key, err)
		}
		if _, err := l.Append(t.Context(), logtest.NewRecord("a.md")); !errors.Is(err, handoff.Invalid) {
			t.Errorf("%s: Append = %v, want kind Invalid", key, err)
		}
		if got := s.puts.Load(); got != puts {
			t.Errorf("%s: %d requests that write", key, got-puts)
		}
	}
	l := openPrefix(t, s.Listener.Addr().String(), t.TempDir(), "first")
	logtest.Append(t, l, "a.md")
	put("first/data.csv")
	logtest.Append(t, openPrefix(t, s.Listener.Addr().String(), t.TempDir(), "first"), "b.md")
}
