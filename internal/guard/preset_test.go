package guard

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ofPreset are the names of agents and stages of the built-in pipeline, as string literals.
var ofPreset = regexp.MustCompile(`"(jg-[a-z]*|plan|implement|test|debug|review|git)"`)

// notStages are the lines where such a word is something else: a kind of check, or a label.
var notStages = []string{`Check = "`, `Check: "git"`, `{"review", s.Findings}`}

// TestPresetNames checks that no code of pipelines names a stage or an agent of the built-in
// pipeline, which is data.
func TestPresetNames(t *testing.T) {
	checked := 0
	for _, dir := range []string{"internal/pipeline", "pipeline", "workspace/pipelines"} {
		err := filepath.WalkDir(filepath.Join("../..", dir), func(name string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			b, err := os.ReadFile(name)
			for i, line := range strings.Split(string(b), "\n") {
				named := ofPreset.FindString(line)
				for _, other := range notStages {
					if strings.Contains(line, other) {
						named = ""
					}
				}
				if checked++; named != "" {
					t.Errorf("%s:%d: %s is a name of the built-in pipeline; write it in its definition", name, i+1, named)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if checked < 1000 {
		t.Errorf("checked %d lines", checked)
	}
}
