package durable

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestLock holds a lock in another open file and checks that a waiter gives up,
// can be interrupted, and gets the lock once it is free.
func TestLock(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	holder, f := open(), open()
	if err := Lock(t.Context(), holder, syscall.LOCK_EX, 0); err != nil {
		t.Fatal(err)
	}
	if err := Lock(t.Context(), f, syscall.LOCK_SH, 30*time.Millisecond); !errors.Is(err, ErrLocked) {
		t.Errorf("Lock = %v, want ErrLocked", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- Lock(ctx, f, syscall.LOCK_SH, time.Hour) }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Lock = %v, want context.Canceled", err)
	}
	go func() { done <- Lock(t.Context(), f, syscall.LOCK_SH, time.Hour) }()
	holder.Close()
	if err := <-done; err != nil {
		t.Errorf("Lock of a free file = %v", err)
	}
}
