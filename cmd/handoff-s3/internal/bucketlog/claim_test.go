package bucketlog_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/settings"
	disk "github.com/agent-handoff/handoff/workspace/store"
)

// TestClaimRace has eight machines that claim at the same time: at most one has the claim.
func TestClaimRace(t *testing.T) {
	s, _ := agedStore(t)
	machine, _ := s.bodiesOf(t)
	put(t, machine, "body")
	var all sync.WaitGroup
	var holders, most, claims atomic.Int64
	for range 8 {
		_, c := s.bodiesOf(t)
		all.Go(func() {
			for range 5 {
				_, _, release, err := c.Claim(t.Context())
				if errors.Is(err, handoff.Conflict) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				claims.Add(1)
				most.Store(max(most.Load(), holders.Add(1)))
				time.Sleep(time.Millisecond)
				holders.Add(-1)
				release()
			}
		})
	}
	all.Wait()
	t.Logf("%d claims", claims.Load())
	if most.Load() > 1 {
		t.Errorf("%d machines had the claim at the same time", most.Load())
	}
	_, c := s.bodiesOf(t)
	_, _, release, err := c.Claim(t.Context())
	if err != nil {
		t.Fatalf("after all were released: %v", err)
	}
	release()
}

// TestCollectPages lists and removes more bodies than the store lists in one answer.
func TestCollectPages(t *testing.T) {
	const bodies = 2500
	s, advance := agedStore(t)
	machine, c := s.bodiesOf(t)
	put(t, machine, "body")
	meta := map[string]string{"Last-Modified": time.Now().Add(-25 * time.Hour).UTC().Format(http.TimeFormat)}
	for i := range bodies - 1 {
		v := logtest.DigestOf(fmt.Sprint(i)).Value
		if _, err := s.backend.PutObject("bucket", "team/log/bodies/sha256/"+v[:2]+"/"+v[2:], meta, strings.NewReader("x"), 1,
			nil); err != nil {
			t.Fatal(err)
		}
	}
	advance(25 * time.Hour)
	count := func() (n int) {
		listed := map[handoff.Digest]bool{}
		for b, err := range c.List(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			listed[b.Digest] = true
			n++
		}
		if len(listed) != n {
			t.Errorf("%d bodies are listed, %d different ones", n, len(listed))
		}
		return n
	}
	if n := count(); n != bodies {
		t.Fatalf("%d bodies are listed, want %d", n, bodies)
	}
	claimed, now, release, err := c.Claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for b, err := range c.List(claimed) {
		if err != nil {
			t.Fatal(err)
		}
		if removed, err := c.Remove(claimed, b.Digest, now.Add(-24*time.Hour)); err != nil || !removed {
			t.Fatalf("Remove = %t, %v", removed, err)
		}
	}
	if n := count(); n != 0 {
		t.Errorf("%d bodies remain", n)
	}
}

// TestPutAfterRemoval stores a body that another machine removes, as its last one, before the reply
// to the PUT is there. No claim exists when the first machine looks for one.
func TestPutAfterRemoval(t *testing.T) {
	s, advance := agedStore(t)
	machine, c := s.bodiesOf(t)
	d := put(t, machine, "old")
	advance(25 * time.Hour)
	_, _, release, err := c.Claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	remove := func() {
		if _, err := s.backend.DeleteObject("bucket", "team/log/bodies/sha256/"+d.Value[:2]+"/"+d.Value[2:]); err != nil {
			t.Error(err)
		}
		release()
	}
	s.served.Store(&remove)
	if _, err := machine.Put(t.Context(), strings.NewReader("old")); err != nil || !has(t, s, d) {
		t.Errorf("Put = %v, stored: %t", err, has(t, s, d))
	}
	if s.served.Load() != nil {
		t.Error("the body was not sent")
	}
}

// TestExpiredClaim removes nothing once the claim has expired by the time of the store,
// as after a machine was asleep.
func TestExpiredClaim(t *testing.T) {
	s, advance := agedStore(t)
	machine, c := s.bodiesOf(t)
	d := put(t, machine, "old")
	advance(25 * time.Hour)
	claimed, now, release, err := c.Claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	s.later.Store(int64(10 * time.Minute))
	if removed, err := c.Remove(claimed, d, now.Add(-24*time.Hour)); removed || !errors.Is(err, handoff.Unavailable) ||
		!has(t, s, d) {
		t.Errorf("Remove = %t, %v, stored: %t", removed, err, has(t, s, d))
	}
}

// TestRemovalWithoutReply keeps the claim if a removal may still be carried out.
func TestRemovalWithoutReply(t *testing.T) {
	s, advance := agedStore(t)
	machine, c := s.bodiesOf(t)
	d := put(t, machine, "old")
	advance(25 * time.Hour)
	claimed, now, release, err := c.Claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.keeps.Store(true)
	if removed, err := c.Remove(claimed, d, now.Add(-24*time.Hour)); removed || err == nil {
		t.Errorf("Remove without a reply = %t, %v", removed, err)
	}
	s.keeps.Store(false)
	release()
	_, other := s.bodiesOf(t)
	if _, _, _, err := other.Claim(t.Context()); !errors.Is(err, handoff.Conflict) {
		t.Errorf("another claim: %v, want kind Conflict", err)
	}
}

// TestCollectClocks collects on machines whose clocks are two hours ahead and behind: the age
// of a body is by the clock of the store.
func TestCollectClocks(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "k")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s")
	for _, tt := range []struct {
		clock, age time.Duration
		want       int
	}{{2 * time.Hour, 23 * time.Hour, 0}, {-2 * time.Hour, 25 * time.Hour, 1}} {
		s, advance := agedStore(t)
		w := s.workspaceAt(t, &tt.clock)
		before := ""
		for i := range 2 {
			d := handoff.Draft{Body: strings.NewReader(fmt.Sprint("text ", i)), Filename: "a.md", Channel: "design",
				Keep: handoff.KeepAlways}
			if before != "" {
				d.Replaces = []string{before}
			}
			a, err := w.Publish(t.Context(), d)
			if err != nil {
				t.Fatal(err)
			}
			before = a.ID
		}
		advance(tt.age)
		g, err := w.Store().Garbage(t.Context(), disk.GarbageOptions{Remote: true, Collect: true,
			Policy: settings.Policy{KeepLast: 1}})
		if err != nil || g.Retention.Drops() != tt.want {
			t.Errorf("a clock off by %v, bodies of %v: %+v, %v, want %d dropped", tt.clock, tt.age, g.Retention, err, tt.want)
		}
	}
}
