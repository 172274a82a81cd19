package queue_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"iter"
	mrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/internal/log/queue"
	"github.com/agent-handoff/handoff/internal/log/remote"
	"github.com/agent-handoff/handoff/internal/tool/durable"
)

// An engine is a log that can't be reached while a file exists, and that may lose
// replies or refuse records.
type engine struct {
	*filelog.Log
	down    string
	lose    atomic.Bool // the reply to the next append
	late    func()      // called before that append fails
	refuse  atomic.Pointer[string]
	missing handoff.Kind // while it is down, it does not exist
}

var errDown = handoff.E("append", "engine", handoff.Unavailable, errors.New("is down"))

func newEngine(dir string) *engine {
	return &engine{Log: filelog.Open(filepath.Join(dir, "log"), rand.Reader), down: filepath.Join(dir, "down")}
}

func (e *engine) set(t testing.TB, down bool) {
	t.Helper()
	err := os.Remove(e.down)
	if down {
		err = os.WriteFile(e.down, nil, 0o666)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}

func (e *engine) isDown() bool { _, err := os.Lstat(e.down); return err == nil }

// failure is the error of an engine that is down, or that does not exist.
func (e *engine) failure() error {
	if e.missing != "" {
		return handoff.E("open log", "engine", e.missing, &remote.MissingError{Reason: "is not there"})
	}
	return errDown
}

func (e *engine) ID(ctx context.Context) (string, error) {
	if e.isDown() {
		return "", e.failure()
	}
	return e.Log.ID(ctx)
}

func (e *engine) Newest(ctx context.Context) (handoff.Seq, error) {
	if e.isDown() {
		return 0, e.failure()
	}
	return e.Log.Newest(ctx)
}

func (e *engine) Read(ctx context.Context, after handoff.Seq) iter.Seq2[handoff.Record, error] {
	if e.isDown() {
		return func(yield func(handoff.Record, error) bool) { yield(handoff.Record{}, e.failure()) }
	}
	return e.Log.Read(ctx, after)
}

func (e *engine) Append(ctx context.Context, r handoff.Record) (handoff.Seq, error) {
	if e.isDown() {
		return 0, e.failure()
	}
	if id := e.refuse.Load(); id != nil && r.ID == *id {
		return 0, handoff.E("append", r.ID, handoff.Invalid, errors.New("is too large for this log"))
	}
	seq, err := e.Log.Append(ctx, r)
	if err == nil && e.lose.Swap(false) {
		if e.late != nil {
			e.late()
		}
		return 0, errDown
	}
	return seq, err
}

func open(t testing.TB, e *engine, runtime string) *queue.Log {
	t.Helper()
	return queue.New(e, queue.Options{Runtime: runtime, Location: "test:", Rand: rand.Reader, Warn: func(string) {}})
}

func add(t testing.TB, l *queue.Log, name string, queued bool) handoff.Record {
	t.Helper()
	r := logtest.NewRecord(name)
	seq, err := l.Append(t.Context(), r)
	if err != nil || (seq == 0) != queued {
		t.Fatalf("Append(%s) = %d, %v, want queued %t", name, seq, err, queued)
	}
	return r
}

// stored checks that the engine has exactly these records, in this order.
func stored(t testing.TB, e *engine, want ...handoff.Record) {
	t.Helper()
	var got, ids []string
	for _, r := range logtest.Collect(t, e.Log, 0) {
		got = append(got, r.ID)
	}
	for _, r := range want {
		ids = append(ids, r.ID)
	}
	if !slices.Equal(got, ids) {
		t.Errorf("the engine has %q\nwant           %q", got, ids)
	}
}

// TestLog runs the suite of logs over an engine that can be reached.
func TestLog(t *testing.T) {
	logtest.Run(t, func(t *testing.T) func() handoff.Log {
		e, runtime := newEngine(t.TempDir()), t.TempDir()
		return func() handoff.Log { return open(t, e, runtime) }
	})
}

// TestQueue queues records while the engine is down. Each process that opens the
// queue sees them, and they are sent in order, before anything else.
func TestQueue(t *testing.T) {
	e, runtime := newEngine(t.TempDir()), t.TempDir()
	a := add(t, open(t, e, runtime), "a.md", false)
	logtest.Collect(t, open(t, e, runtime), 0)
	e.set(t, true)
	b, c := add(t, open(t, e, runtime), "b.md", true), add(t, open(t, e, runtime), "c.md", true)
	l := open(t, e, runtime)
	queued, err := l.Queued(t.Context())
	if err != nil || len(queued) != 2 || queued[0].ID != b.ID || queued[1].ID != c.ID {
		t.Fatalf("Queued = %v, %v", queued, err)
	}
	if id, err := l.ID(t.Context()); err != nil || id == "" {
		t.Errorf("ID offline = %q, %v", id, err)
	}
	if n, err := l.Newest(t.Context()); err != nil || n != 1 {
		t.Errorf("Newest offline = %d, %v, want 1", n, err)
	}
	if got := logtest.Collect(t, l, 1); len(got) != 0 || !l.Offline() {
		t.Errorf("Read offline yields %d records", len(got))
	}
	for _, err := range l.Read(t.Context(), 0) { // only the engine has record 1
		if !errors.Is(err, handoff.Unavailable) {
			t.Errorf("Read of what only the engine has = %v, want kind Unavailable", err)
		}
	}
	if _, err := l.Send(t.Context()); !errors.Is(err, handoff.Unavailable) {
		t.Errorf("Send offline = %v, want kind Unavailable", err)
	}
	e.set(t, false)
	d := add(t, open(t, e, runtime), "d.md", false)
	stored(t, e, a, b, c, d)
	status, err := open(t, e, runtime).Status(t.Context())
	if err != nil || len(status.Queued)+len(status.Refused) != 0 {
		t.Errorf("Status = %+v, %v, want nothing queued", status, err)
	}
	if dirs, err := filepath.Glob(filepath.Join(runtime, "queue", "*", "records-*")); err != nil || len(dirs) > 0 {
		t.Errorf("left %q, %v", dirs, err)
	}
}

// TestUnknownEngine records before the engine was ever reached.
func TestUnknownEngine(t *testing.T) {
	e, runtime := newEngine(t.TempDir()), t.TempDir()
	e.set(t, true)
	if _, err := open(t, e, runtime).ID(t.Context()); !errors.Is(err, handoff.Unavailable) {
		t.Errorf("ID of an engine that nobody has reached = %v, want kind Unavailable", err)
	}
	a := add(t, open(t, e, runtime), "a.md", true)
	if id, err := open(t, e, runtime).ID(t.Context()); err != nil || id != "" {
		t.Errorf("ID = %q, %v, want none", id, err)
	}
	e.set(t, false)
	b := add(t, open(t, e, runtime), "b.md", false)
	stored(t, e, a, b)
}

// TestLostReply loses the acknowledgement of a record that the engine has stored: of a
// new one, and of one that is sent. It is not stored again.
func TestLostReply(t *testing.T) {
	e, runtime := newEngine(t.TempDir()), t.TempDir()
	a := add(t, open(t, e, runtime), "a.md", false)
	e.lose.Store(true)
	b := add(t, open(t, e, runtime), "b.md", true)
	other := logtest.Append(t, e.Log, "other.md") // of another machine
	logtest.Collect(t, open(t, e, runtime), 0)    // which a reader has seen
	c := add(t, open(t, e, runtime), "c.md", false)
	stored(t, e, a, b, other, c)
	e.set(t, true)
	d := add(t, open(t, e, runtime), "d.md", true)
	e.set(t, false)
	e.lose.Store(true)
	l := open(t, e, runtime)
	if _, err := l.Send(t.Context()); !errors.Is(err, handoff.Unavailable) {
		t.Errorf("Send = %v, want kind Unavailable", err)
	}
	sent, err := open(t, e, runtime).Send(t.Context())
	if err != nil || sent.Sent != 1 {
		t.Errorf("Send = %+v, %v", sent, err)
	}
	stored(t, e, a, b, other, c, d)
}

// TestLostReplyBesideAnother loses an acknowledgement while another process, which has
// seen the record, queues one of its own.
func TestLostReplyBesideAnother(t *testing.T) {
	e, runtime := newEngine(t.TempDir()), t.TempDir()
	a := add(t, open(t, e, runtime), "a.md", false)
	var c handoff.Record
	e.late = func() {
		logtest.Collect(t, open(t, e, runtime), 0)
		e.set(t, true)
		c = add(t, open(t, e, runtime), "c.md", true)
	}
	e.lose.Store(true)
	b := add(t, open(t, e, runtime), "b.md", true)
	e.set(t, false)
	d := add(t, open(t, e, runtime), "d.md", false)
	stored(t, e, a, b, c, d)
}

// TestRefused has a record that the engine refuses. It is kept and listed, the others
// are sent, and Send tries it again.
func TestRefused(t *testing.T) {
	e, runtime := newEngine(t.TempDir()), t.TempDir()
	e.set(t, true)
	a, b, c := add(t, open(t, e, runtime), "a.md", true), add(t, open(t, e, runtime), "b.md", true),
		add(t, open(t, e, runtime), "c.md", true)
	e.set(t, false)
	e.refuse.Store(&b.ID)
	d := add(t, open(t, e, runtime), "d.md", false)
	stored(t, e, a, c, d)
	for range 2 {
		sent, err := open(t, e, runtime).Send(t.Context())
		if refused := queue.Error(sent.Refused); err != nil || len(sent.Refused) != 1 || sent.Refused[0].ID != b.ID ||
			!errors.Is(refused, handoff.Conflict) {
			t.Fatalf("Send = %+v, %v", sent, err)
		}
	}
	status, err := open(t, e, runtime).Status(t.Context())
	if err != nil || len(status.Refused) != 1 || len(status.Queued) != 0 {
		t.Errorf("Status = %+v, %v", status, err)
	}
	e.refuse.Store(nil)
	if sent, err := open(t, e, runtime).Send(t.Context()); err != nil || sent.Sent != 1 || len(sent.Refused) != 0 {
		t.Errorf("Send = %+v, %v", sent, err)
	}
	stored(t, e, a, c, d, b)
}

// TestRedacted queues records with a secret and their redaction. The engine gets no
// secret, also if the reply to the first one is lost. What it has already is redacted
// by the fact.
func TestRedacted(t *testing.T) {
	const title = "uses hunter2hunter2 and more"
	secret := func(r handoff.Record) (handoff.Record, handoff.Record) {
		r.Fact.(*handoff.ArtifactPublished).Title = title
		redaction := logtest.NewRecord("x")
		redaction.Type = "record.redacted"
		redaction.Fact = &handoff.RecordRedacted{ArtifactID: r.ID, RecordID: r.ID,
			Replaced: []handoff.Replacement{{Field: "/title", Start: 5, End: 19, Kind: "password"}}}
		return r, redaction
	}
	put := func(l *queue.Log, list ...handoff.Record) {
		t.Helper()
		for _, r := range list {
			if _, err := l.Append(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, test := range []string{"queued", "lost reply", "sent before"} {
		t.Run(test, func(t *testing.T) {
			e, runtime := newEngine(t.TempDir()), t.TempDir()
			r, redaction := secret(logtest.NewRecord("a.md"))
			put(open(t, e, runtime), logtest.NewRecord("first.md"))
			if test == "sent before" {
				e.lose.Store(true)
			} else {
				e.set(t, true)
			}
			put(open(t, e, runtime), r)
			e.set(t, true)
			put(open(t, e, runtime), redaction)
			e.set(t, false)
			if test == "lost reply" {
				e.lose.Store(true)
				if _, err := open(t, e, runtime).Send(t.Context()); err == nil {
					t.Fatal("Send succeeded, want an error")
				}
			}
			if _, err := open(t, e, runtime).Send(t.Context()); err != nil {
				t.Fatal(err)
			}
			var texts []string
			for _, got := range logtest.Collect(t, e.Log, 0)[1:] {
				b, err := got.JSON()
				if err != nil {
					t.Fatal(err)
				}
				texts = append(texts, string(b))
			}
			if len(texts) != 2 {
				t.Fatalf("the engine has %q", texts)
			}
			unsent := test != "sent before"
			if strings.Contains(texts[0], "uses [redacted password] and more") != unsent ||
				strings.Contains(texts[0], "hunter2") == unsent || strings.Contains(texts[1], `"end":-1`) != unsent {
				t.Errorf("the engine has %q", texts)
			}
		})
	}
}

// TestDrop removes records that the engine refused, and no others.
func TestDrop(t *testing.T) {
	e, runtime := newEngine(t.TempDir()), t.TempDir()
	e.set(t, true)
	a, b := add(t, open(t, e, runtime), "a.md", true), add(t, open(t, e, runtime), "b.md", true)
	if _, err := open(t, e, runtime).Drop(t.Context(), []string{a.ID}); !errors.Is(err, handoff.NotFound) {
		t.Errorf("Drop of a record that was not refused = %v, want kind NotFound", err)
	}
	e.set(t, false)
	e.refuse.Store(&a.ID)
	if _, err := open(t, e, runtime).Send(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list, err := open(t, e, runtime).Refused(t.Context()); err != nil || len(list) != 1 || list[0].Record.ID != a.ID ||
		!strings.Contains(list[0].Reason, "too large") {
		t.Errorf("Refused = %+v, %v, want the record and the reason", list, err)
	}
	e.set(t, true)
	c := add(t, open(t, e, runtime), "c.md", true)
	if _, err := open(t, e, runtime).Drop(t.Context(), []string{a.ID, b.ID}); !errors.Is(err, handoff.NotFound) {
		t.Errorf("Drop of a refused and another record = %v, want kind NotFound", err)
	}
	if status, err := open(t, e, runtime).Status(t.Context()); err != nil || len(status.Refused) != 1 {
		t.Errorf("Status = %+v, %v, want that nothing was dropped", status, err)
	}
	dropped, err := open(t, e, runtime).Drop(t.Context(), []string{a.ID})
	if err != nil || len(dropped) != 1 || dropped[0].Record.ID != a.ID {
		t.Errorf("Drop = %+v, %v", dropped, err)
	}
	e.set(t, false)
	e.refuse.Store(nil)
	if sent, err := open(t, e, runtime).Send(t.Context()); err != nil || sent.Sent != 1 || len(sent.Refused) != 0 {
		t.Errorf("Send = %+v, %v", sent, err)
	}
	stored(t, e, b, c)

	// The last record of a queue: nothing is left.
	e.set(t, true)
	d := add(t, open(t, e, runtime), "d.md", true)
	e.set(t, false)
	e.refuse.Store(&d.ID)
	if _, err := open(t, e, runtime).Send(t.Context()); err != nil {
		t.Fatal(err)
	}
	if dropped, err := open(t, e, runtime).Drop(t.Context(), []string{d.ID}); err != nil || len(dropped) != 1 {
		t.Errorf("Drop = %+v, %v", dropped, err)
	}
	if dirs, err := filepath.Glob(filepath.Join(runtime, "queue", "*", "records-*")); err != nil || len(dirs) > 0 {
		t.Errorf("left %q, %v", dirs, err)
	}
}

// TestCopiedDirectory has a queue that was copied, as a cloned repository can bring
// one. It is sent only on request.
func TestCopiedDirectory(t *testing.T) {
	e, runtime, copied := newEngine(t.TempDir()), t.TempDir(), t.TempDir()
	e.set(t, true)
	a := add(t, open(t, e, runtime), "a.md", true)
	if err := os.CopyFS(copied, os.DirFS(runtime)); err != nil {
		t.Fatal(err)
	}
	e.set(t, false)
	l := open(t, e, copied)
	if queued, err := l.Queued(t.Context()); err != nil || len(queued) > 0 {
		t.Errorf("Queued = %v, %v, want nothing", queued, err)
	}
	b := add(t, l, "b.md", false)
	stored(t, e, b)
	e.set(t, true)
	if _, err := open(t, e, copied).Append(t.Context(), logtest.NewRecord("c.md")); !errors.Is(err, handoff.Unavailable) {
		t.Errorf("Append = %v, want kind Unavailable: nothing is added to that queue", err)
	}
	e.set(t, false)
	if status, err := open(t, e, copied).Status(t.Context()); err != nil || !status.Foreign || len(status.Queued) != 1 {
		t.Errorf("Status = %+v, %v", status, err)
	}
	if sent, err := open(t, e, copied).Send(t.Context()); err != nil || sent.Sent != 1 {
		t.Errorf("Send = %+v, %v", sent, err)
	}
	stored(t, e, b, a)
}

// TestLinks has links in place of the files of a queue: nothing is written where they
// lead.
func TestLinks(t *testing.T) {
	for _, name := range []string{"queue", "queue/*", "queue/*/records-1"} {
		e, runtime, elsewhere := newEngine(t.TempDir()), t.TempDir(), t.TempDir()
		e.set(t, true)
		add(t, open(t, e, runtime), "a.md", true)
		found, err := filepath.Glob(filepath.Join(runtime, name))
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		if err := os.Rename(found[0], filepath.Join(elsewhere, "moved")); err != nil {
			t.Fatal(err)
		}
		target := t.TempDir()
		if err := os.Symlink(target, found[0]); err != nil {
			t.Fatal(err)
		}
		if _, err := open(t, e, runtime).Append(t.Context(), logtest.NewRecord("b.md")); err == nil {
			t.Errorf("%s: Append through a link succeeds", name)
		}
		if left, err := os.ReadDir(target); err != nil || len(left) > 0 {
			t.Errorf("%s: wrote %v, %v", name, left, err)
		}
	}
}

// A store is a remote body store that can be down.
type store struct {
	e    *engine
	have map[string]string
}

func (s *store) Put(_ context.Context, d handoff.Digest, _ int64, r io.ReadSeeker) error {
	if s.e.isDown() {
		return errDown
	}
	b, err := io.ReadAll(r)
	s.have[d.Value] = string(b)
	return err
}

func (s *store) Open(_ context.Context, d handoff.Digest) (io.ReadCloser, error) {
	if b, ok := s.have[d.Value]; ok {
		return io.NopCloser(strings.NewReader(b)), nil
	}
	return nil, handoff.NotFound
}

func (s *store) Has(_ context.Context, d handoff.Digest) (bool, error) {
	if s.e.isDown() {
		return false, errDown
	}
	_, ok := s.have[d.Value]
	return ok, nil
}

// TestBodies puts a body while the store is down. Its record is queued even if the
// engine is back by then, and the body is sent first.
func TestBodies(t *testing.T) {
	e, runtime := newEngine(t.TempDir()), t.TempDir()
	s := &store{e, map[string]string{}}
	openBodies := func() (*queue.Log, handoff.Bodies) {
		l := open(t, e, runtime)
		return l, l.Bodies(remote.NewBodies(filelog.Open(runtime, rand.Reader).Bodies(), s))
	}
	l, bodies := openBodies()
	e.set(t, true)
	d, err := bodies.Put(t.Context(), strings.NewReader("content"))
	if err != nil || len(s.have) != 0 {
		t.Fatalf("Put = %v, %v", d, err)
	}
	if there, err := bodies.Has(t.Context(), logtest.DigestOf("another")); err != nil || there {
		t.Errorf("Has offline = %t, %v", there, err)
	}
	e.set(t, false)
	r := logtest.NewRecord("a.md")
	f := r.Fact.(*handoff.ArtifactPublished)
	f.Digest, f.Kept = d, true
	if seq, err := l.Append(t.Context(), r); err != nil || seq != 0 {
		t.Fatalf("Append = %d, %v, want it queued: its body is on this machine only", seq, err)
	}
	stored(t, e)
	l, _ = openBodies()
	if sent, err := l.Send(t.Context()); err != nil || sent.Sent != 1 || s.have[d.Value] != "content" {
		t.Errorf("Send = %+v, %v, bodies %v", sent, err, s.have)
	}
	stored(t, e, r)
}

// TestKilledSenders kills processes that append, queue and send, while the engine goes
// down and comes back and loses replies. Whatever was acknowledged, as stored or as
// queued, is stored once, in the order of its process.
func TestKilledSenders(t *testing.T) {
	if dir := os.Getenv("QUEUE_WRITE_TO"); dir != "" {
		write(t, newEngine(dir), os.Getenv("QUEUE_RUNTIME"))
		return
	}
	rounds := 8
	if os.Getenv("HANDOFF_LONG") != "" {
		rounds = 150
	}
	dir, runtime := t.TempDir(), t.TempDir()
	e := newEngine(dir)
	var acknowledged [][]string // of each process, in its order
	queued := 0
	for round := range rounds {
		outputs := make([]bytes.Buffer, 2)
		var running []*exec.Cmd
		for i := range outputs {
			c := exec.Command(os.Args[0], "-test.run=^TestKilledSenders$", "-test.count=1")
			c.Env = append(os.Environ(), "QUEUE_WRITE_TO="+dir, "QUEUE_RUNTIME="+runtime)
			c.Stdout = &outputs[i]
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			running = append(running, c)
		}
		for i := range 6 {
			time.Sleep(time.Duration(60+17*(round%5)) * time.Millisecond)
			e.set(t, i%2 == 0)
		}
		for i, c := range running {
			c.Process.Kill()
			_ = c.Wait() // it was killed
			var ids []string
			for s := bufio.NewScanner(&outputs[i]); s.Scan(); {
				if f := strings.Fields(s.Text()); len(f) == 3 && f[0] == "acknowledged" {
					ids = append(ids, f[2])
					if f[1] == "0" {
						queued++
					}
				}
			}
			acknowledged = append(acknowledged, ids)
		}
	}
	e.set(t, false)
	if _, err := open(t, e, runtime).Send(t.Context()); err != nil {
		t.Fatal(err)
	}
	seqs := map[string]handoff.Seq{}
	for _, r := range logtest.Collect(t, e.Log, 0) {
		if seqs[r.ID] != 0 {
			t.Errorf("record %s is stored as %d and %d", r.ID, seqs[r.ID], r.Seq)
		}
		seqs[r.ID] = r.Seq
	}
	total := 0
	for _, ids := range acknowledged {
		last := handoff.Seq(0)
		for _, id := range ids {
			total++
			if seqs[id] == 0 {
				t.Errorf("record %s was acknowledged and is lost", id)
			} else if seqs[id] < last {
				t.Errorf("record %s is stored before its predecessor", id)
			}
			last = max(last, seqs[id])
		}
	}
	if queued == 0 || total == queued {
		t.Errorf("%d acknowledged, %d of them queued: the test shows nothing", total, queued)
	}
	t.Logf("%d acknowledged, %d of them queued, %d stored", total, queued, len(seqs))
}

// write appends until it is killed. It loses some replies of the engine.
func write(t *testing.T, e *engine, runtime string) {
	for i := 0; ; i++ {
		l := open(t, e, runtime)
		for range 5 {
			r, err := handoff.NewRecord(time.Now(), rand.Reader, handoff.Producer{},
				&handoff.ArtifactPublished{Channel: "design", Path: "a.md", TargetType: "file"})
			if err != nil {
				t.Fatal(err)
			}
			e.lose.Store(mrand.IntN(8) == 0)
			seq, err := l.Append(t.Context(), r)
			if err != nil {
				fmt.Println("failed", err)
				continue
			}
			fmt.Println("acknowledged", seq, r.ID)
		}
	}
}

// A caching is an engine that answers from what it has read until it is refreshed.
type caching struct {
	*engine
	seen handoff.Seq
}

func (c *caching) Refresh() { c.seen = 1 << 40 }

func (c *caching) Read(ctx context.Context, after handoff.Seq) iter.Seq2[handoff.Record, error] {
	return func(yield func(handoff.Record, error) bool) {
		for r, err := range c.engine.Read(ctx, after) {
			if err == nil && r.Seq > c.seen || !yield(r, err) {
				return
			}
		}
	}
}

// TestLostReplyOfCachingEngine holds that what is queued is compared with what the engine
// has now, not with what it has read before the reply was lost.
func TestLostReplyOfCachingEngine(t *testing.T) {
	e, runtime := newEngine(t.TempDir()), t.TempDir()
	a := add(t, open(t, e, runtime), "a.md", false)
	e.lose.Store(true)
	b := add(t, open(t, e, runtime), "b.md", true)
	l := queue.New(&caching{e, a.Seq + 1}, queue.Options{Runtime: runtime, Location: "test:", Rand: rand.Reader})
	if _, err := l.Send(t.Context()); err != nil {
		t.Fatal(err)
	}
	stored(t, e, a, b)
}

// TestOfflineRead holds that a reader without the engine is told when there are records
// that only the engine has, and that there is nothing new otherwise.
func TestOfflineRead(t *testing.T) {
	e, runtime := newEngine(t.TempDir()), t.TempDir()
	for range 3 {
		logtest.Append(t, e.Log, "a.md")
	}
	logtest.Collect(t, open(t, e, runtime), 0)
	e.set(t, true)
	for after, unavailable := range map[handoff.Seq]bool{0: true, 1: true, 2: true, 3: false, 4: false} {
		var got error
		for r, err := range open(t, e, runtime).Read(t.Context(), after) {
			if got = err; err == nil {
				t.Errorf("after %d: offline Read yields record %d", after, r.Seq)
			}
		}
		if errors.Is(got, handoff.Unavailable) != unavailable {
			t.Errorf("after %d: offline Read = %v, want kind Unavailable: %t", after, got, unavailable)
		}
	}
}

// TestKnownElsewhere has a machine without a queue that knows the log from elsewhere.
func TestKnownElsewhere(t *testing.T) {
	e := newEngine(t.TempDir())
	e.set(t, true)
	known := func() (string, handoff.Seq) { return "log", 7 }
	l := queue.New(e, queue.Options{Runtime: t.TempDir(), Location: "test:", Rand: rand.Reader, Known: known})
	id, err := l.ID(t.Context())
	newest, err2 := l.Newest(t.Context())
	if id != "log" || newest != 7 || err != nil || err2 != nil {
		t.Errorf("offline: ID = %q, %v, Newest = %d, %v", id, err, newest, err2)
	}
}

// TestMissing queues for a log that does not exist only if it was reached before.
func TestMissing(t *testing.T) {
	for _, kind := range []handoff.Kind{handoff.NotFound, handoff.Invalid} {
		dir := t.TempDir()
		runtime := filepath.Join(dir, "runtime")
		if err := os.Mkdir(runtime, 0o700); err != nil {
			t.Fatal(err)
		}
		e := newEngine(dir)
		e.missing = kind
		e.set(t, true)
		l := open(t, e, runtime)
		if seq, err := l.Append(t.Context(), logtest.NewRecord("never")); !errors.Is(err, kind) {
			t.Errorf("Append to a log that was never there = %d, %v, want kind %s", seq, err, kind)
		}
		if _, err := l.Newest(t.Context()); !errors.Is(err, kind) {
			t.Errorf("Newest of a log that was never there = %v, want kind %s", err, kind)
		}
		if left, err := os.ReadDir(runtime); err != nil || len(left) > 0 {
			t.Errorf("%v is left, %v, want nothing", left, err)
		}
		e.set(t, false)
		first := add(t, l, "first", false)
		e.set(t, true)
		second := add(t, l, "second", true)
		third := add(t, open(t, e, runtime), "third", true)
		e.set(t, false)
		if sent, err := open(t, e, runtime).Send(t.Context()); err != nil || sent.Sent != 2 || len(sent.Refused) > 0 {
			t.Errorf("Send = %+v, %v, want two records", sent, err)
		}
		stored(t, e, first, second, third)
	}
}

// TestWaitsForState lets another process have the lock of the state while a reader notes
// what it has read: other uses of the log do not wait for it.
func TestWaitsForState(t *testing.T) {
	dir := t.TempDir()
	e := newEngine(dir)
	e.set(t, true)
	add(t, open(t, e, dir), "a.md", true)
	e.set(t, false)
	logtest.Append(t, e, "b.md")
	locks, err := filepath.Glob(filepath.Join(dir, "queue", "*", "state.lock"))
	if err != nil || len(locks) != 1 {
		t.Fatalf("%v, %v, want one lock", locks, err)
	}
	f, err := os.Open(locks[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := durable.Lock(t.Context(), f, syscall.LOCK_EX, 0); err != nil {
		t.Fatal(err)
	}
	l := open(t, e, dir)
	read := make(chan struct{})
	go func() {
		defer close(read)
		for range l.Read(t.Context(), 0) {
		}
	}()
	time.Sleep(200 * time.Millisecond) // until it waits for the lock
	e.set(t, true)
	if _, err := l.Newest(t.Context()); err != nil {
		t.Error(err)
	}
	time.Sleep(50 * time.Millisecond)
	select {
	case <-read:
		t.Error("the log was not usable before the reader gave up")
	default:
	}
	f.Close()
	<-read
}
