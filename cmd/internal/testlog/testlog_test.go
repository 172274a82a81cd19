package testlog

import (
	"crypto/rand"
	"os"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
)

func logs(t *testing.T) func() handoff.Log {
	dir := t.TempDir() + "/log"
	return func() handoff.Log { return Open(dir, rand.Reader) }
}

func bodies(t *testing.T) func() handoff.Bodies {
	dir := t.TempDir() + "/log"
	return func() handoff.Bodies { return Open(dir, rand.Reader).Bodies() }
}

func TestLog(t *testing.T) { logtest.Run(t, logs) }

func TestLogAbilities(t *testing.T) { logtest.RunLogAbilities(t, logs) }

func TestBodies(t *testing.T) { logtest.RunBodies(t, bodies) }

func TestBodyAbilities(t *testing.T) { logtest.RunBodyAbilities(t, bodies) }

// TestTornRecord cuts the file at every length: what is complete is read, and the
// next record follows it.
func TestTornRecord(t *testing.T) {
	log := Open(t.TempDir()+"/log", rand.Reader)
	logtest.Append(t, log, "a.md")
	c, err := log.load()
	if err != nil {
		t.Fatal(err)
	}
	logtest.Append(t, log, "b.md")
	b, err := os.ReadFile(log.path("records"))
	if err != nil {
		t.Fatal(err)
	}
	for n := int(c.size); n < len(b); n++ {
		if err := os.WriteFile(log.path("records"), b[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if got := logtest.Collect(t, log, 0); len(got) != 1 {
			t.Fatalf("cut at %d: %d records, want 1", n, len(got))
		}
		if err := log.Repair(t.Context(), c.records[0].CreatedAt); err != nil {
			t.Errorf("cut at %d: Repair = %v", n, err)
		}
		if r := logtest.Append(t, log, "c.md"); r.Seq != 2 {
			t.Errorf("cut at %d: the next record is %d, want 2", n, r.Seq)
		}
	}
}
