// Package faults runs the program where the machine fails: where system calls
// return errors, and where the power is cut.
package faults

import (
	"context"
	"crypto/rand"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/filelog"
)

const session = "a3f2c9d1-4b5e-4789-81ab-cdef12345678"

func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "handoff")
	if out, err := exec.Command("go", "build", "-o", program, "../../../cmd/handoff").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	return program
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
