//go:build linux

package natstest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/engines/natslog"
	"github.com/nats-io/nats.go/jetstream"
)

// TestBodyFromAnotherMachine publishes files on one machine and reads them on
// another: the bytes are the same, and no process has a large part in memory.
func TestBodyFromAnotherMachine(t *testing.T) {
	u := user{dir: t.TempDir(), log: "nats://" + address(t, start(t, nil)) + "/team"}
	sizes := []int64{0, 1 << 10, 64 << 20}
	if os.Getenv("HANDOFF_LONG") != "" {
		sizes = append(sizes, 1<<30)
	}
	_, _, least := u.run(t, "two", "list")
	for _, size := range sizes {
		name := fmt.Sprint(size)
		u.write(t, "one", name, nil)
		want := writeRandom(t, filepath.Join(u.dir, "one", "work", name), size)
		out, code, published := u.run(t, "one", "publish", name, "--channel", "build", "--keep")
		id, _, _ := strings.Cut(out, "\n")
		id = id[:min(len(id), 30)]
		if code != 0 || !strings.HasPrefix(id, "art_") {
			t.Fatalf("publish of %d bytes failed: %s", size, out)
		}
		_, code, read := u.run(t, "two", "read", id, "--to", "copy"+name)
		if got := digestOf(t, filepath.Join(u.dir, "two", "work", "copy"+name)); code != 0 || got != want {
			t.Errorf("%d bytes: read ends with %d, and the digest is %s, want %s", size, code, got, want)
		}
		t.Logf("%d bytes: publish used %d MB and read %d MB of memory, list %d MB", size, published>>20, read>>20, least>>20)
		if limit := least + 48<<20; published > limit || read > limit {
			t.Errorf("%d bytes: publish used %d bytes of memory and read %d, want at most %d", size, published, read, limit)
		}
	}
}

// writeRandom writes a file and returns its digest.
func writeRandom(t *testing.T, file string, size int64) string {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(f, sum), rand.NewChaCha8([32]byte{byte(size >> 10)}), size); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

func digestOf(t *testing.T, file string) string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// TestDamagedBodies changes what the object store has. It also reads and writes the
// bodies with the library for object stores, whose format they have.
func TestDamagedBodies(t *testing.T) {
	at := address(t, start(t, nil))
	js := client(t, at)
	l := machine(t, at, "team", t.TempDir(), nil)
	texts := []string{"other content", "other size", "no chunks", "no description", "intact"}
	var large string
	for _, text := range texts {
		large = strings.Repeat(text, 200_000)
		if _, err := l.Bodies().Put(t.Context(), strings.NewReader(large)); err != nil {
			t.Fatal(err)
		}
	}
	store, err := js.ObjectStore(t.Context(), "handoff-team")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := store.GetBytes(t.Context(), logtest.DigestOf(large).Value); err != nil || string(b) != large {
		t.Errorf("the library reads %d bytes, %v, want %d", len(b), err, len(large))
	}
	stream, err := js.Stream(t.Context(), "OBJ_handoff-team")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		large := strings.Repeat(text, 200_000)
		d := logtest.DigestOf(large)
		info, err := store.GetInfo(t.Context(), d.Value)
		if err != nil {
			t.Fatal(err)
		}
		switch text {
		case "other content":
			_, err = store.PutString(t.Context(), d.Value, strings.ToUpper(large))
		case "other size":
			_, err = store.PutString(t.Context(), d.Value, large+"x")
		case "no chunks":
			err = stream.Purge(t.Context(), jetstream.WithPurgeSubject("$O.handoff-team.C."+info.NUID))
		case "no description":
			err = store.Delete(t.Context(), d.Value)
		}
		if err != nil {
			t.Fatal(err)
		}
		b := machine(t, at, "team", t.TempDir(), nil).Bodies()
		err = b.(handoff.BodyFetcher).Fetch(t.Context(), d, int64(len(large)))
		switch text {
		case "intact":
			if err != nil {
				t.Errorf("Fetch of an intact body = %v", err)
			}
		case "no description":
			if !errors.Is(err, handoff.NotFound) {
				t.Errorf("Fetch of a deleted body = %v, want kind NotFound", err)
			}
		default:
			if !errors.Is(err, handoff.Corrupt) || !strings.Contains(err.Error(), d.Value) {
				t.Errorf("%s: Fetch = %v, want kind Corrupt with its name", text, err)
			}
		}
	}
}

// TestBodyWithFaults loses connections while a body is sent and fetched.
func TestBodyWithFaults(t *testing.T) {
	p := newProxy(t, address(t, start(t, nil)))
	p.delay.Store(int64(time.Millisecond))
	text := strings.Repeat("0123456789abcdef", 1<<20)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(300 * time.Millisecond):
				p.lose.Store(1)
				p.cut()
			}
		}
	}()
	d, err := machine(t, p.address(), "team", t.TempDir(), nil).Bodies().Put(t.Context(), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	b := machine(t, p.address(), "team", t.TempDir(), nil).Bodies()
	if err := b.(handoff.BodyFetcher).Fetch(t.Context(), d, int64(len(text))); err != nil {
		t.Fatal(err)
	}
}

// TestClocks appends with clocks that are hours apart: the stream orders.
func TestClocks(t *testing.T) {
	at := address(t, start(t, nil))
	one, two := machine(t, at, "team", t.TempDir(), nil), machine(t, at, "team", t.TempDir(), nil)
	now := time.Now()
	var want []string
	for i := range 6 {
		l, clock := one, now.Add(-5*time.Hour)
		if i%2 == 1 {
			l, clock = two, now.Add(7*time.Hour)
		}
		r, err := handoff.NewRecord(clock.Add(time.Duration(i)), rand.NewChaCha8([32]byte{byte(i)}), handoff.Producer{},
			&handoff.ArtifactPublished{Channel: "design", Path: "a.md", TargetType: "file"})
		if err != nil {
			t.Fatal(err)
		}
		if seq, err := l.Append(t.Context(), r); seq != handoff.Seq(i+1) || err != nil {
			t.Errorf("append %d = %d, %v", i, seq, err)
		}
		want = append(want, r.ID)
	}
	for _, l := range []*natslog.Log{one, two} {
		compare(t, l, want)
	}
}
