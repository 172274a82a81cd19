//go:build linux

package natstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/engines/natslog"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// TestLostReplies loses every third acknowledgement: each record is stored once.
func TestLostReplies(t *testing.T) {
	at := address(t, start(t, nil))
	p := newProxy(t, at)
	l := machine(t, p.address(), "team", t.TempDir(), nil)
	var want []string
	for i := range 30 {
		if i > 0 && i%3 == 0 {
			p.lose.Store(1 + int64(i%2))
		}
		r := logtest.Append(t, l, "a.md")
		if r.Seq != handoff.Seq(i+1) {
			t.Errorf("append %d has number %d", i, r.Seq)
		}
		want = append(want, r.ID)
	}
	p.lose.Store(1)
	batch := []handoff.Record{logtest.NewRecord("b.md"), logtest.NewRecord("c.md")}
	if first, err := l.AppendAll(t.Context(), batch); first != 31 || err != nil {
		t.Errorf("AppendAll with a lost reply = %d, %v, want 31", first, err)
	}
	if p.lose.Load() >= 0 {
		t.Error("no reply was lost")
	}
	compare(t, machine(t, at, "team", t.TempDir(), nil), append(want, batch[0].ID, batch[1].ID))
}

// compare checks that a log has the records with these IDs.
func compare(t *testing.T, l handoff.Log, want []string) {
	t.Helper()
	got := logtest.Collect(t, l, 0)
	if len(got) != len(want) {
		t.Errorf("%d records, want %d", len(got), len(want))
	}
	for i, r := range got {
		if i >= len(want) || r.ID != want[i] {
			t.Fatalf("record %d is %s", i+1, r.ID)
		}
	}
}

// TestCutConnections closes connections while four writers append and a reader
// waits. It closes them again when a record was acknowledged since, so that a slow machine
// makes progress.
func TestCutConnections(t *testing.T) {
	p := newProxy(t, address(t, start(t, nil)))
	p.delay.Store(int64(2 * time.Millisecond))
	const writers, each = 4, 40
	stop := make(chan struct{})
	var cutter, wg sync.WaitGroup
	var acknowledged atomic.Int64
	cutter.Go(func() {
		for last := int64(0); ; {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
				if n := acknowledged.Load(); n > last {
					last = n
					p.cut()
				}
			}
		}
	})
	seen := make([]string, writers*each+1)
	var mu sync.Mutex
	for range writers {
		l := machine(t, p.address(), "team", t.TempDir(), nil)
		wg.Go(func() {
			for range each {
				r := logtest.Append(t, l, "a.md")
				mu.Lock()
				if seen[r.Seq] != "" {
					t.Errorf("record %d was acknowledged twice", r.Seq)
				}
				seen[r.Seq] = r.ID
				mu.Unlock()
				acknowledged.Add(1)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		if wg.Wait(); t.Failed() {
			cancel() // what the reader waits for does not come
		}
	}()
	defer cancel()
	reader := machine(t, p.address(), "team", t.TempDir(), nil)
	for n := handoff.Seq(0); n < writers*each; {
		if err := reader.Wait(ctx, n); err != nil {
			t.Fatal(err)
		}
		for r, err := range reader.Read(t.Context(), n) {
			if err != nil {
				t.Fatal(err)
			}
			n = r.Seq
		}
	}
	wg.Wait()
	close(stop)
	cutter.Wait()
	compare(t, reader, seen[1:])
}

// TestPushed checks that a waiting reader does not depend on asking.
func TestPushed(t *testing.T) {
	at := address(t, start(t, nil))
	l := machine(t, at, "team", t.TempDir(), func(o *natslog.Options) { o.Poll = time.Hour })
	writer := machine(t, at, "team", t.TempDir(), nil)
	for i := range 20 {
		done := make(chan error)
		go func() { done <- l.Wait(t.Context(), handoff.Seq(i)) }()
		time.Sleep(time.Duration(i) * time.Millisecond)
		logtest.Append(t, writer, "a.md")
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

// TestUnavailable retries with bounds.
func TestUnavailable(t *testing.T) {
	s := start(t, nil)
	p := newProxy(t, address(t, s))
	short := func(o *natslog.Options) { o.Timeout = 2 * time.Second }
	l := machine(t, p.address(), "team", t.TempDir(), short)
	logtest.Append(t, l, "a.md")
	p.refuse.Store(true)
	p.cut()
	for name, at := range map[string]*natslog.Log{"open": l, "new": machine(t, p.address(), "team", t.TempDir(), short)} {
		if _, err := at.Append(t.Context(), logtest.NewRecord("c.md")); !errors.Is(err, handoff.Unavailable) {
			t.Errorf("%s: Append without a server = %v, want kind Unavailable", name, err)
		}
		if _, err := at.Newest(t.Context()); !errors.Is(err, handoff.Unavailable) {
			t.Errorf("%s: Newest without a server = %v, want kind Unavailable", name, err)
		}
	}
	p.refuse.Store(false)
	if r := logtest.Append(t, l, "b.md"); r.Seq != 2 {
		t.Errorf("the next record is %d, want 2", r.Seq)
	}
	p.delay.Store(int64(3 * time.Second))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := l.Append(ctx, logtest.NewRecord("c.md")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Append to a slow server = %v, want the error of the context", err)
	}
}

// TestSlowConnection gives up at once when the context ends while a connection is
// opened.
func TestSlowConnection(t *testing.T) {
	p := newProxy(t, address(t, start(t, nil)))
	p.delay.Store(int64(time.Minute))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := machine(t, p.address(), "team", t.TempDir(), nil).Newest(ctx)
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Newest = %v, want the error of the context", err)
		}
	case <-time.After(4 * time.Second): // the library waits for 5 seconds
		t.Error("Newest did not end with its context")
	}
}

// TestCredentials uses wrong ones, and ones that may only read.
func TestCredentials(t *testing.T) {
	s := start(t, func(o *server.Options) {
		reading := &server.Permissions{Publish: &server.SubjectPermission{
			Allow: []string{"$JS.API.STREAM.INFO.*", "$JS.API.DIRECT.GET.>", "$JS.API.STREAM.MSG.GET.*"}}}
		o.Users = []*server.User{{Username: "agent", Password: "right"},
			{Username: "reader", Password: "right", Permissions: reading}}
	})
	as := func(user, password string) *natslog.Log {
		return machine(t, address(t, s), "team", t.TempDir(), func(o *natslog.Options) {
			o.Connect, o.Timeout = []nats.Option{nats.UserInfo(user, password)}, 7*time.Second
		})
	}
	logtest.Append(t, as("agent", "right"), "a.md")
	_, err := as("agent", "wrong").Append(t.Context(), logtest.NewRecord("b.md"))
	if !errors.Is(err, handoff.Unavailable) || !strings.Contains(strings.ToLower(err.Error()), "authorization") ||
		strings.Contains(err.Error(), "wrong") {
		t.Errorf("Append with a wrong password = %v, want kind Unavailable", err)
	}
	reader := as("reader", "right")
	if got := logtest.Collect(t, reader, 0); len(got) != 1 {
		t.Errorf("a reader sees %d records, want 1", len(got))
	}
	if _, err := reader.Append(t.Context(), logtest.NewRecord("b.md")); !errors.Is(err, handoff.Unavailable) ||
		!strings.Contains(strings.ToLower(err.Error()), "permissions violation") {
		t.Errorf("Append of a reader = %v, want kind Unavailable", err)
	}
	if got := logtest.Collect(t, reader, 0); len(got) != 1 {
		t.Errorf("%d records, want 1", len(got))
	}
}

// TestFull fills a stream.
func TestFull(t *testing.T) {
	at := address(t, start(t, nil))
	l := machine(t, at, "team", t.TempDir(), func(o *natslog.Options) { o.MaxBytes, o.MaxBodyBytes = 64<<10, 64<<10 })
	n := 0
	for ; ; n++ {
		if _, err := l.Append(t.Context(), logtest.NewRecord("a.md")); err != nil {
			if !errors.Is(err, handoff.Unavailable) || !strings.Contains(err.Error(), "maximum bytes exceeded") {
				t.Errorf("Append to a full stream = %v, want kind Unavailable", err)
			}
			break
		}
	}
	if got := logtest.Collect(t, machine(t, at, "team", t.TempDir(), nil), 0); len(got) != n || n < 50 {
		t.Errorf("a full stream has %d records, want %d", len(got), n)
	}
	_, err := l.Bodies().Put(t.Context(), strings.NewReader(strings.Repeat("x", 100<<10)))
	if !errors.Is(err, handoff.Unavailable) || !strings.Contains(err.Error(), "maximum bytes exceeded") {
		t.Errorf("Put to a full store = %v, want kind Unavailable", err)
	}
}

// TestTooLarge appends a record that is larger than a message may be.
func TestTooLarge(t *testing.T) {
	at := address(t, start(t, func(o *server.Options) { o.MaxPayload = 600 << 10 }))
	l := machine(t, at, "team", t.TempDir(), nil)
	r := logtest.NewRecord("a.md")
	r.Fact = &handoff.ArtifactPublished{Channel: "design", Summary: strings.Repeat("x", 700<<10)}
	if _, err := l.Append(t.Context(), r); !errors.Is(err, handoff.Invalid) {
		t.Errorf("Append = %v, want kind Invalid", err)
	}
}

// TestOldServer refuses a server without batches, and one without JetStream.
func TestOldServer(t *testing.T) {
	p := newProxy(t, address(t, start(t, nil)))
	p.rewrite = func(b []byte) []byte {
		return bytes.Replace(b, []byte(`"version":"2.1`), []byte(`"version":"2.9.1`), 1)
	}
	if _, err := machine(t, p.address(), "team", t.TempDir(), nil).Newest(t.Context()); !errors.Is(err,
		handoff.Unsupported) || !strings.Contains(err.Error(), "2.9.1") {
		t.Errorf("Newest of an old server = %v, want kind Unsupported", err)
	}
	without := start(t, func(o *server.Options) { o.JetStream = false })
	if _, err := machine(t, address(t, without), "team", t.TempDir(),
		func(o *natslog.Options) { o.Timeout = 2 * time.Second }).Newest(t.Context()); !errors.Is(err, handoff.Unsupported) &&
		!errors.Is(err, handoff.Unavailable) {
		t.Errorf("Newest without JetStream = %v", err)
	}
}

// TestTLS sends nothing to another machine without TLS, unless that was allowed.
func TestTLS(t *testing.T) {
	s := start(t, func(o *server.Options) { o.Host = "0.0.0.0" })
	at := fmt.Sprintf("0.0.0.0:%d", s.Addr().(*net.TCPAddr).Port)
	if _, err := machine(t, at, "team", t.TempDir(), nil).Newest(t.Context()); !errors.Is(err, handoff.Unavailable) ||
		!strings.Contains(err.Error(), "secure connection") {
		t.Errorf("Newest without TLS = %v, want kind Unavailable", err)
	}
	logtest.Append(t, machine(t, at, "team", t.TempDir(), func(o *natslog.Options) { o.Insecure = true }), "a.md")
}

// TestTwoWorkspaces has two on one server, one's name being the start of the other's.
func TestTwoWorkspaces(t *testing.T) {
	at := address(t, start(t, nil))
	one, two := machine(t, at, "team", t.TempDir(), nil), machine(t, at, "team-2", t.TempDir(), nil)
	a, b, c := logtest.Append(t, one, "a.md"), logtest.Append(t, two, "b.md"), logtest.Append(t, one, "c.md")
	compare(t, one, []string{a.ID, c.ID})
	compare(t, two, []string{b.ID})
	d, err := one.Bodies().Put(t.Context(), strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	if there, err := two.Bodies().Has(t.Context(), d); there || err != nil {
		t.Errorf("the other workspace has the body: %t, %v", there, err)
	}
	id1, err1 := one.ID(t.Context())
	id2, err2 := two.ID(t.Context())
	if id1 == id2 || err1 != nil || err2 != nil {
		t.Errorf("IDs %q, %q, %v, %v", id1, id2, err1, err2)
	}
}

func client(t *testing.T, at string) jetstream.JetStream {
	nc, err := nats.Connect("nats://" + at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// TestSentAgain appends a record again after the de-duplication window of the stream.
func TestSentAgain(t *testing.T) {
	at := address(t, start(t, nil))
	l, js := machine(t, at, "team", t.TempDir(), nil), client(t, at)
	r := logtest.Append(t, l, "a.md")
	s, err := js.Stream(t.Context(), "HANDOFF_team")
	if err != nil {
		t.Fatal(err)
	}
	c := s.CachedInfo().Config
	c.Duplicates = 100 * time.Millisecond
	if _, err := js.UpdateStream(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	time.Sleep(250 * time.Millisecond)
	for _, again := range []handoff.Log{l, machine(t, at, "team", t.TempDir(), nil)} {
		if seq, err := again.Append(t.Context(), r); seq != r.Seq || err != nil {
			t.Errorf("Append of a stored record = %d, %v, want %d", seq, err, r.Seq)
		}
	}
	other := logtest.NewRecord("b.md")
	other.ID = r.ID
	if _, err := l.Append(t.Context(), other); !errors.Is(err, handoff.Conflict) {
		t.Errorf("Append of another record with the ID = %v, want kind Conflict", err)
	}
	if _, err := l.AppendAll(t.Context(), []handoff.Record{logtest.NewRecord("c.md"), r}); !errors.Is(err,
		handoff.Conflict) {
		t.Errorf("AppendAll of a new and a stored record = %v, want kind Conflict", err)
	}
	compare(t, l, []string{r.ID})
}

// TestAppendOnly tries to change what is stored.
func TestAppendOnly(t *testing.T) {
	at := address(t, start(t, nil))
	l, js := machine(t, at, "team", t.TempDir(), nil), client(t, at)
	r := logtest.Append(t, l, "a.md")
	s, err := js.Stream(t.Context(), "HANDOFF_team")
	if err != nil {
		t.Fatal(err)
	}
	if s.Purge(t.Context()) == nil || s.DeleteMsg(t.Context(), 1) == nil || s.SecureDeleteMsg(t.Context(), 1) == nil {
		t.Error("the stream lets messages be deleted")
	}
	compare(t, l, []string{r.ID})
}

// TestOtherStreams refuses streams that can lose records.
func TestOtherStreams(t *testing.T) {
	at := address(t, start(t, nil))
	logtest.Append(t, machine(t, at, "good", t.TempDir(), nil), "a.md")
	js := client(t, at)
	s, err := js.Stream(t.Context(), "HANDOFF_good")
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*jetstream.StreamConfig){
		"same":     func(*jetstream.StreamConfig) {},
		"age":      func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour },
		"expires":  func(c *jetstream.StreamConfig) { c.AllowMsgTTL = true },
		"discards": func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld },
		"deletes":  func(c *jetstream.StreamConfig) { c.DenyDelete = false },
		"queue":    func(c *jetstream.StreamConfig) { c.Retention = jetstream.WorkQueuePolicy },
		"subjects": func(c *jetstream.StreamConfig) { c.Subjects = append(c.Subjects, "more") },
	} {
		c := s.CachedInfo().Config
		c.Name, c.Subjects, c.RePublish, c.Metadata = "HANDOFF_"+name, []string{"handoff." + name + ".>"}, nil, nil
		change(&c)
		if _, err := js.CreateStream(t.Context(), c); err != nil {
			t.Fatal(name, err)
		}
		l := machine(t, at, name, t.TempDir(), nil)
		_, err := l.Append(t.Context(), logtest.NewRecord("a.md"))
		if name == "same" {
			if id, idErr := l.ID(t.Context()); err != nil || id == "" || idErr != nil {
				t.Errorf("a stream of an administrator: %v, ID %q, %v", err, id, idErr)
			}
		} else if !errors.Is(err, handoff.Unsupported) {
			t.Errorf("%s: Append = %v, want kind Unsupported", name, err)
		}
	}
}

// TestDeletedStream deletes the stream while a machine uses it.
func TestDeletedStream(t *testing.T) {
	at := address(t, start(t, nil))
	l, js := machine(t, at, "team", t.TempDir(), func(o *natslog.Options) { o.Timeout = 3 * time.Second }), client(t, at)
	logtest.Append(t, l, "a.md")
	if err := js.DeleteStream(t.Context(), "HANDOFF_team"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Newest(t.Context()); !errors.Is(err, handoff.Corrupt) {
		t.Errorf("Newest = %v, want kind Corrupt", err)
	}
	if seq, err := l.Append(t.Context(), logtest.NewRecord("a.md")); err == nil {
		t.Errorf("Append = %d, want an error", seq)
	}
}

// TestWarning warns once when a log is created with few replicas, and describes it.
func TestWarning(t *testing.T) {
	s := start(t, func(o *server.Options) {
		o.SyncAlways = true
		system := server.NewAccount("SYS")
		team := server.NewAccount("TEAM")
		o.Accounts, o.SystemAccount = []*server.Account{system, team}, "SYS"
		o.Users = []*server.User{{Username: "agent", Password: "p", Account: team},
			{Username: "admin", Password: "p", Account: system}}
	})
	if acc, err := s.LookupAccount("TEAM"); err != nil || acc.EnableJetStream(nil, nil) != nil {
		t.Fatal(err)
	}
	var warnings []string
	var list []*natslog.Log
	for i := range 3 {
		l := machine(t, address(t, s), "team", t.TempDir(), func(o *natslog.Options) {
			o.Connect = []nats.Option{nats.UserInfo("agent", "p")}
			if i == 2 {
				o.System = []nats.Option{nats.UserInfo("admin", "p")}
			}
			o.Warn = func(text string) { warnings = append(warnings, text) }
		})
		logtest.Append(t, l, "a.md")
		list = append(list, l)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "1 replica") {
		t.Errorf("warnings %q, want one about the replicas", warnings)
	}
	for i, want := range []string{"unknown", "unknown", "always"} {
		details, err := list[i].Describe(t.Context())
		if err != nil || len(details) < 6 || details[5].Value != want {
			t.Errorf("%d: Describe = %+v, %v, want sync_interval %s", i, details, err, want)
		}
	}
}
