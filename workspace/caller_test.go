package workspace

import (
	"testing"

	"github.com/agent-handoff/handoff"
)

// TestCallerOfOpen checks that a program that opens a workspace with its
// environment publishes as what the environment identifies.
func TestCallerOfOpen(t *testing.T) {
	dir := testWorkspace(t)
	w, err := Open(dir, optionsFor(dir, "HANDOFF_AGENT", "ada", "HANDOFF_SESSION", "s", "HANDOFF_RUN", "r"))
	must(t, err)
	defer w.Close()
	p, err := w.Publish(t.Context(), handoff.Draft{Path: "a.md", Channel: "design"})
	must(t, err)
	if got := p.Producer; got.Agent != "ada" || got.Session != "s" || got.RunID != "r" ||
		got.Source != handoff.FromEnvironment {
		t.Errorf("the producer is %+v", got)
	}
}
