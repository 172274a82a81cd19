package localstate

import (
	"github.com/agent-handoff/handoff/engines/memory"
	"github.com/agent-handoff/handoff/storage"

	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
)

// TestOrigin holds that all processes of a runtime directory have one origin, and
// that a damaged one is refused.
func TestOrigin(t *testing.T) {
	dir := t.TempDir()
	open := func() *Dir { return NewDir(dir, rand.Reader) }
	if id, err := open().Origin(); id != "" || err != nil {
		t.Errorf("Origin of a new directory = %q, %v, want none", id, err)
	}
	var wg sync.WaitGroup
	ids := make([]string, 8)
	for i := range ids {
		wg.Go(func() {
			var err error
			if ids[i], err = open().NewOrigin(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	want, err := open().Origin()
	if err != nil || len(want) != 2*originSize {
		t.Fatalf("Origin = %q, %v", want, err)
	}
	for _, id := range ids {
		if id != want {
			t.Errorf("an origin is %q, want %q", id, want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, originName), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open().NewOrigin(); !errors.Is(err, handoff.Corrupt) {
		t.Errorf("NewOrigin with a damaged file = %v, want kind Corrupt", err)
	}
}

// TestRemoteRecords holds that the records of a remote log carry the origin, and
// those of another do not.
func TestRemoteRecords(t *testing.T) {
	for _, remote := range []bool{true, false} {
		log := memory.NewLog()
		d := NewDir(filepath.Join(t.TempDir(), "runtime"), rand.Reader)
		g := d.GuardLog(NewIndex(NewMemory(log, storage.Backend{Remote: remote}, "", d.path, noEnv), d.path, noEnv, nil,
			nil))
		logtest.Append(t, g, "a.md")
		want, err := d.Origin()
		if err != nil || (want != "") != remote {
			t.Errorf("Origin = %q, %v", want, err)
		}
		if got := logtest.Collect(t, log, 0)[0].Origin; got != want {
			t.Errorf("remote %t: the record has origin %q, want %q", remote, got, want)
		}
	}
}

func noEnv(string) string { return "" }
