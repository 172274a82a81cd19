package workspace_test

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"

	"github.com/agent-handoff/handoff/workspace"
)

// review is the example in README.md; a test of cmd/internal/program compares them.
func review(ctx context.Context) error {
	w, err := workspace.Open(".", workspace.Options{Getenv: os.Getenv})
	if err != nil {
		return err
	}
	defer w.Close()
	_, err = w.Publish(ctx, handoff.Draft{
		Channel: "verification", Path: "reports/review.md", Title: "Security review", Parents: []string{"patch:latest"},
	})
	return err
}

// TestReadmeExample runs the example beside a patch that is already published.
func TestReadmeExample(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("HANDOFF_WORKSPACE", dir)
	writeFile(t, "fix.diff", "-old\n+new\n")
	writeFile(t, "reports/review.md", "Approved.\n")
	w, err := workspace.Open(dir, workspace.Options{Getenv: os.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	patch, err := w.Publish(t.Context(), handoff.Draft{Channel: "patch", Path: "fix.diff"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := review(ctx); err != nil {
		t.Fatal(err)
	}
	page, err := w.List(t.Context(), workspace.ListOptions{Filter: workspace.Filter{Channel: "verification"}})
	if err != nil || len(page.Artifacts) != 1 || !slices.Equal(page.Artifacts[0].Parents, []string{patch.ID}) {
		t.Errorf("%d artifacts, %v, want the review of %s", len(page.Artifacts), err, patch.ID)
	}
}
