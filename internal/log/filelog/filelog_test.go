package filelog

import (
	"crypto/rand"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
)

func TestLog(t *testing.T) {
	t.Parallel()
	logtest.Run(t, func(t *testing.T) func() handoff.Log {
		dir := t.TempDir() + "/.handoff"
		return func() handoff.Log { return Open(dir, rand.Reader) }
	})
}

// TestSmallShards is TestLog with a shard's end every few records.
func TestSmallShards(t *testing.T) {
	t.Parallel()
	logtest.Run(t, func(t *testing.T) func() handoff.Log {
		dir := t.TempDir() + "/.handoff"
		return func() handoff.Log { return newLog(dir, newSystem(dir), 5, rand.Reader) }
	})
}

func TestLogAbilities(t *testing.T) {
	t.Parallel()
	logtest.RunLogAbilities(t, func(t *testing.T) func() handoff.Log {
		dir := t.TempDir() + "/.handoff"
		return func() handoff.Log { return Open(dir, rand.Reader) }
	})
}

func TestBodyAbilities(t *testing.T) {
	t.Parallel()
	logtest.RunBodyAbilities(t, func(t *testing.T) func() handoff.Bodies {
		dir := t.TempDir() + "/.handoff"
		return func() handoff.Bodies { return Open(dir, rand.Reader).Bodies() }
	})
}
