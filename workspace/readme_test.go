package workspace_test

import (
	"context"
	"fmt"
	"os"

	"github.com/agent-handoff/handoff/workspace"
)

// review is the example in README.md; a test of cmd/handoff compares them.
func review(ctx context.Context) error {
	w, err := workspace.Open(".", workspace.Options{Getenv: os.Getenv})
	if err != nil {
		return err
	}
	defer w.Close()
	patch, err := w.Wait(ctx, workspace.WatchOptions{Filter: workspace.Filter{Channel: "patch"}})
	if err != nil {
		return err
	}
	p, err := w.Publish(ctx, workspace.Publication{
		Channel: "verification", Path: "reports/review.md", Title: "Security review", From: []string{patch.ID},
	})
	if err != nil {
		return err
	}
	fmt.Println(p.ID, p.Status)
	return nil
}

var _ = review // it would wait for a patch
