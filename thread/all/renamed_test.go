package all_test

import (
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread/all"
)

// TestRenamed renames types, members with usage and tables of threads that the programs
// wrote. threadtest.Run does it with invented ones.
func TestRenamed(t *testing.T) {
	for _, d := range all.Drivers() {
		t.Run(d.Name, func(t *testing.T) { threadtest.CheckRenamed(t, d) })
	}
}
