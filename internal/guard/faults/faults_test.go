// Package faults runs the program where the machine fails: where system calls
// return errors, and where the power is cut. It also counts what the program asks of the
// system in workspaces of different sizes.
package faults

import (
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/filelog"
)

const session = "a3f2c9d1-4b5e-4789-81ab-cdef12345678"

// built is the program, which all tests share, and its directory.
var built struct {
	sync.Once
	dir string
	out []byte
	err error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// build builds the program once, for the first test that needs it.
func build(t *testing.T) string {
	t.Helper()
	built.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "handoff-test-"); built.err == nil {
			built.out, built.err = exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", built.dir,
				"../../../cmd/handoff").CombinedOutput()
		}
	})
	if built.err != nil {
		t.Fatalf("go build: %v: %s", built.err, built.out)
	}
	return filepath.Join(built.dir, "handoff")
}

// records returns the records of a type in the log of a workspace.
func records(t *testing.T, ws, fact string) (list []handoff.Record) {
	t.Helper()
	log := filelog.Open(filepath.Join(ws, ".handoff"), rand.Reader)
	for r, err := range log.Read(context.Background(), 0) {
		must(t, err)
		if r.Type == fact {
			list = append(list, r)
		}
	}
	return list
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
