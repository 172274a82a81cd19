package progress_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/progress"
)

// TestLargeFiles checks that the files of a pattern are not read without a limit: neither
// those in the folder of a run, which a clone may bring, nor those that are submitted.
func TestLargeFiles(t *testing.T) {
	s := newFixture(t)
	folder := filepath.Join(s.dir, contract.Folder, "42")
	must(t, os.MkdirAll(filepath.Join(folder, "web"), 0o777))
	definition := []byte("stages:\n- {id: web, by: searcher, writes: web/*.md}\n")
	must(t, os.WriteFile(filepath.Join(folder, contract.RunDefinition), definition, 0o666))
	for i := range 5 {
		name := filepath.Join(folder, "web", fmt.Sprintf("%d.md", i))
		must(t, os.WriteFile(name, nil, 0o666))
		must(t, os.Truncate(name, contract.MaxArtifact))
	}
	const want = "the files that match web/*.md have more than 64 MiB together"
	own, err := s.Of(t.Context(), "42")
	must(t, err)
	if _, err := own.Next(t.Context(), "42", false); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("next: got %v, want %q", err, want)
	}
	stage, err := own.Pipeline.Stage("web")
	must(t, err)
	if _, err := progress.FilesAt(stage, folder, folder); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("files of a submission: got %v, want %q", err, want)
	}
}
