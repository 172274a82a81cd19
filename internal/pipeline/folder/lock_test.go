package folder

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
)

// TestLockInterrupted checks that the wait for a lock ends with its context.
func TestLockInterrupted(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	held := Lock(t.Context(), root, syscall.LOCK_EX, func(*os.Root) error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := Lock(ctx, root, syscall.LOCK_SH, func(*os.Root) error { t.Error("the lock was taken"); return nil })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Lock of %s = %v, want context.Canceled", contract.Folder, err)
		}
		return nil
	})
	if held != nil {
		t.Error(held)
	}
}
