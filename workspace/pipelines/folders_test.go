package pipelines_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/pipelines"
)

// A documented has the files of a feature that the documentation of a tool names, in the order
// in which its commands write them.
type documented struct {
	dir, run string   // the argument of adopt, and the pattern of a feature's folder
	files    []string // files that are written together, after the stage that is next before
}

var documentedFolders = map[string]documented{
	"spec-kit": {"specs", "specs/%03d-feature", []string{"spec: spec.md", "plan: checklists/requirements.md checklists/ux.md",
		"plan: plan.md", "tasks: research.md", "tasks: data-model.md quickstart.md",
		"tasks: contracts/api.yaml contracts/events/created.json", "tasks: tasks.md"}},
	"Kiro feature": {".kiro/", ".kiro/specs/feature-%d",
		[]string{"design: requirements.md", "design: design.md", "tasks: tasks.md"}},
	"Kiro bugfix": {".kiro/", ".kiro/specs/fix-%d", []string{"design: bugfix.md", "design: design.md", "tasks: tasks.md"}},
}

// TestDocumentedFolders writes the documented folders of other tools file by file, for three
// features at a time, and adopts them after each: every file is recorded once, a second adopt
// adds nothing, and next is the stage that the tool's commands write next.
func TestDocumentedFolders(t *testing.T) {
	t.Parallel()
	for name, d := range documentedFolders {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, ".git"), 0o777); err != nil { // a workspace of its own
				t.Fatal(err)
			}
			w, err := workspace.Open(dir, workspace.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { w.Close() })
			p := w.Pipelines()
			adopt := func() (paths []string) {
				list, err := pipelines.AdoptAt(t.Context(), p, filepath.Join(dir, d.dir), pipelines.AdoptOptions{})
				if err != nil {
					t.Fatal(err)
				}
				for _, run := range list.Runs {
					for _, a := range run.Adopted {
						paths = append(paths, a.Path)
					}
				}
				return paths
			}
			for _, line := range d.files {
				want, files, _ := strings.Cut(line, ": ")
				var written []string
				for n := range 3 {
					run := fmt.Sprintf(d.run, n+1)
					step, err := p.Next(t.Context(), filepath.Base(run), false)
					if line != d.files[0] && (err != nil || step.Stage != want) {
						t.Errorf("%s before %s: next is %s, %v, want %s", run, files, step.Stage, err, want)
					}
					for file := range strings.FieldsSeq(files) {
						path := filepath.Join(dir, run, file)
						if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
							t.Fatal(err)
						}
						if err := os.WriteFile(path, []byte("# "+file+" of "+run+"\n"), 0o666); err != nil {
							t.Fatal(err)
						}
						written = append(written, run+"/"+file)
					}
				}
				got := adopt()
				slices.Sort(got)
				slices.Sort(written)
				if !slices.Equal(got, written) {
					t.Errorf("adopted %v, want %v", got, written)
				}
				if again := adopt(); again != nil {
					t.Errorf("a second adopt adds %v", again)
				}
			}
			for n := range 3 {
				step, err := p.Next(t.Context(), filepath.Base(fmt.Sprintf(d.run, n+1)), false)
				if err != nil || !step.Done {
					t.Errorf("run %d: next is %s, %v, want done", n+1, step.Stage, err)
				}
			}
		})
	}
}
