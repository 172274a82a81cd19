package bucketlog_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/handoff-s3/internal/bucketlog"
	"github.com/agent-handoff/handoff/internal/log/remote"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// agedStore returns a store whose objects were created a day ago, until its clock is
// advanced to the time of the machine.
func agedStore(t *testing.T) (s *store, advance func(time.Duration)) {
	clock := gofakes3.FixedTimeSource(time.Now().Add(-25 * time.Hour))
	s = newStoreOf(t, s3mem.New(s3mem.WithTimeSource(clock)), gofakes3.WithTimeSource(clock),
		gofakes3.WithTimeSkewLimit(0))
	return s, clock.Advance
}

// bodiesOf returns the bodies of the log as a new machine opens it, and those of the bucket.
func (s *store) bodiesOf(t *testing.T) (handoff.Bodies, remote.Collector) {
	l, err := bucketlog.Open(bucketlog.Options{Endpoint: s.Listener.Addr().String(), Insecure: true, Region: "us-east-1",
		Bucket: "bucket", Prefix: "team/log", AccessKey: "k", SecretKey: "s", Runtime: t.TempDir(),
		Timeout: time.Second, Rand: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	c, err := l.Bodies().(*remote.Bodies).Collector()
	if err != nil {
		t.Fatal(err)
	}
	return l.Bodies(), c
}

func put(t *testing.T, b handoff.Bodies, text string) handoff.Digest {
	t.Helper()
	d, err := b.Put(t.Context(), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func has(t *testing.T, s *store, d handoff.Digest) bool {
	t.Helper()
	b, _ := s.bodiesOf(t)
	there, err := b.Has(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	return there
}

// TestCollect removes a body that is older than a day, and keeps one that is younger or was
// stored again.
func TestCollect(t *testing.T) {
	s, advance := agedStore(t)
	machine, _ := s.bodiesOf(t)
	old, again := put(t, machine, "old"), put(t, machine, "stored again")
	advance(25 * time.Hour)
	young := put(t, machine, "young")
	put(t, machine, "stored again")
	_, c := s.bodiesOf(t)
	claimed, now, release, err := c.Claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	listed := map[handoff.Digest]bool{}
	for b, err := range c.List(claimed) {
		if err != nil {
			t.Fatal(err)
		}
		removed, err := c.Remove(claimed, b.Digest, now.Add(-24*time.Hour))
		if listed[b.Digest] = true; err != nil || removed != (b.Digest == old) {
			t.Errorf("Remove(%.8s) = %t, %v", b.Digest.Value, removed, err)
		}
	}
	if len(listed) != 3 || has(t, s, old) || !has(t, s, young) || !has(t, s, again) {
		t.Errorf("%d bodies were listed; stored: old %t, young %t, again %t", len(listed), has(t, s, old), has(t, s, young),
			has(t, s, again))
	}
}

// TestClaim gives one machine the claim until it releases it or it expires.
func TestClaim(t *testing.T) {
	s, advance := agedStore(t)
	machine, one := s.bodiesOf(t)
	put(t, machine, "body")
	_, two := s.bodiesOf(t)
	claim := func(c remote.Collector) (func(), error) {
		_, _, release, err := c.Claim(t.Context())
		return release, err
	}
	release, err := claim(one)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := claim(two); !errors.Is(err, handoff.Conflict) {
		t.Errorf("a second claim: %v, want kind Conflict", err)
	}
	release()
	if release, err = claim(two); err != nil {
		t.Fatal(err)
	}
	advance(11 * time.Minute) // its process was killed
	later, err := claim(one)
	if err != nil {
		t.Errorf("after a claim that expired: %v", err)
	}
	later()
	release()
}

// TestPutWhileCollected stores a body that another machine removes at the same time.
func TestPutWhileCollected(t *testing.T) {
	s, advance := agedStore(t)
	machine, c := s.bodiesOf(t)
	d := put(t, machine, "old")
	advance(25 * time.Hour)
	_, _, release, err := c.Claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	before := s.puts.Load()
	done := make(chan error, 1)
	go func() {
		_, err := machine.Put(context.Background(), strings.NewReader("old"))
		done <- err
	}()
	for s.puts.Load() == before { // until the body is sent
		select {
		case err := <-done:
			t.Fatalf("the body was not sent again: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	s.one.Lock() // the request is complete
	s.one.Unlock()
	if _, err := s.backend.DeleteObject("bucket", "team/log/bodies/sha256/"+d.Value[:2]+"/"+d.Value[2:]); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || !has(t, s, d) {
		t.Errorf("Put = %v, stored: %t", err, has(t, s, d))
	}
}

// TestCollectCommand drops the superseded bodies of a bucket on one machine. Another one
// knows what dropped them.
func TestCollectCommand(t *testing.T) {
	s, advance := agedStore(t)
	u := s.user(t, "")
	var ids []string
	for i := range 3 {
		u.write(t, "one", "plan.md", strings.Repeat("x", i+1))
		args := []string{"publish", "plan.md", "--channel", "design"}
		if i > 0 {
			args = append(args, "--replaces", ids[i-1])
		}
		id, _, code := u.run(t, "one", args...)
		if code != 0 {
			t.Fatalf("publish = %d", code)
		}
		ids = append(ids, id)
	}
	gc := func(machine string, want string, args ...string) {
		t.Helper()
		_, stderr, code := u.run(t, machine, append([]string{"gc", "--remote", "--keep-last", "1"}, args...)...)
		if code != 0 || !strings.Contains(stderr, want) {
			t.Errorf("gc %q = %d, %q, want %q", args, code, stderr, want)
		}
	}
	gc("two", "to drop by keep-last 1: 2 bodies")
	gc("two", "dropped by keep-last 1: 0 bodies", "--collect") // by the clock of the store, they are young
	advance(25 * time.Hour)
	gc("two", "dropped by keep-last 1: 2 bodies", "--collect")
	gc("two", "dropped by keep-last 1: 0 bodies", "--collect")
	for i, want := range []int{5, 5, 0} {
		if _, stderr, code := u.run(t, "three", "read", ids[i]); code != want ||
			want == 5 && !strings.Contains(stderr, "dropped on ") {
			t.Errorf("read of revision %d = %d, %q, want %d", i+1, code, stderr, want)
		}
	}
	if out, _, code := u.run(t, "three", "check"); code != 0 || strings.Contains(out, "problem") {
		t.Errorf("check = %d, %q", code, out)
	}
}
