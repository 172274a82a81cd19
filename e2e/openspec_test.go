package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOpenSpec makes twelve changes with OpenSpec, adds their artifacts one by one in several
// orders, and adopts the folder after each. The stages that are next are those that OpenSpec
// calls ready, and a second adopt adds nothing.
func TestOpenSpec(t *testing.T) {
	h := newHome(t)
	env := []string{"OPENSPEC_TELEMETRY=0", "CI=1"}
	h.must(env, "openspec", "init", "--tools", "none", ".")
	orders := []string{"proposal specs design tasks", "proposal design specs tasks", "proposal specs specs design tasks",
		"proposal specs design specs tasks", "proposal design specs specs tasks", "proposal specs specs specs design tasks"}
	steps := 0
	for i := range 12 {
		id := fmt.Sprintf("change-%d", i+1)
		h.must(env, "openspec", "new", "change", id)
		for at, stage := range append(strings.Fields(orders[i%len(orders)]), "") {
			h.must(nil, "handoff", "pipeline", "adopt", "openspec/")
			if again := h.must(nil, "handoff", "pipeline", "adopt", "openspec/"); again != "" {
				t.Errorf("%s: a second adopt recorded %s", id, again)
			}
			ready, next := readyStages(t, h.must(env, "openspec", "status", "--change", id, "--json")),
				nextStages(t, h.must(nil, "handoff", "pipeline", "next", id, "--json"))
			if !slices.Equal(ready, next) {
				t.Errorf("%s before step %d: next is %v, and OpenSpec calls %v ready", id, at+1, next, ready)
			}
			steps++
			file := stage + ".md"
			if stage == "specs" {
				file = fmt.Sprintf("specs/part-%d/spec.md", at)
			}
			if stage != "" {
				h.write(filepath.Join(h.work, "openspec/changes", id, file), "# "+stage+" of "+id+"\n")
			}
		}
	}
	t.Logf("%d steps of 12 changes", steps)
}

// readyStages returns the artifacts that OpenSpec calls ready, sorted.
func readyStages(t *testing.T, status string) []string {
	t.Helper()
	var answer struct {
		Artifacts []struct{ ID, Status string }
	}
	if err := json.Unmarshal([]byte(status), &answer); err != nil || len(answer.Artifacts) == 0 {
		t.Fatalf("%v: %s", err, status)
	}
	ready := []string{}
	for _, a := range answer.Artifacts {
		if a.Status == "ready" {
			ready = append(ready, a.ID)
		}
	}
	slices.Sort(ready)
	return ready
}

// nextStages returns the stages that are next in a run, sorted.
func nextStages(t *testing.T, step string) []string {
	t.Helper()
	var answer struct {
		Stage    *string
		Parallel []struct{ Stage string }
	}
	if err := json.Unmarshal([]byte(step), &answer); err != nil {
		t.Fatalf("%v: %s", err, step)
	}
	next := []string{}
	if answer.Stage != nil {
		next = append(next, *answer.Stage)
	}
	for _, p := range answer.Parallel {
		next = append(next, p.Stage)
	}
	slices.Sort(next)
	return next
}
