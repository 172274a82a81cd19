package program

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/agent-handoff/handoff/session"

	"github.com/agent-handoff/handoff/internal/session/manifest"
)

// TestFiftyAdd lets fifty processes add an output to one session at the same
// time: there are fifty records, and one valid manifest that lists all fifty.
func TestFiftyAdd(t *testing.T) {
	t.Parallel()
	const processes = 50
	dir := t.TempDir()
	handoff := func(env []string, args ...string) ([]byte, error) {
		cmd := exec.Command("handoff", args...) // TestMain puts this very program there
		cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
		return cmd.Output()
	}
	out, err := handoff([]string{"HANDOFF_WORKSPACE=" + dir}, "session", "open", "--agent", "alex", "--workflow",
		"intake-app", "--user", "u")
	if err != nil {
		t.Fatal(err)
	}
	var opened session.Opened
	if err := json.Unmarshal(out, &opened); err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range processes {
		name := fmt.Sprintf("part-%02d.md", i)
		want = append(want, name)
		if err := os.WriteFile(filepath.Join(opened.Folder, name), []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for _, name := range want {
		all.Go(func() {
			if _, err := handoff([]string{"HANDOFF_WORKSPACE=" + dir, "HANDOFF_SESSION=" + opened.ID}, "session", "add", name,
				"--type", "document"); err != nil {
				t.Errorf("add %s: %v", name, err)
			}
		})
	}
	all.Wait()
	b, err := os.ReadFile(opened.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	m, problems, err := manifest.Parse(b)
	if err != nil || len(problems) > 0 {
		t.Errorf("the manifest is not valid: %v %v", problems, err)
	}
	var got []string
	for _, o := range m.Outputs {
		got = append(got, o.File)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the manifest lists %d outputs %v, want %d", len(got), got, len(want))
	}
	records, err := filepath.Glob(filepath.Join(dir, ".handoff/log/*/*.json"))
	if err != nil || len(records) != processes+1 {
		t.Errorf("%d records, %v, want %d", len(records), err, processes+1)
	}
	left, err := filepath.Glob(filepath.Join(opened.Folder, ".handoff-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("temporaries stay: %v %v", left, err)
	}
}
