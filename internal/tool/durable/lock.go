package durable

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// ErrLocked means that another process held a lock for as long as Lock waits. It
// may be stopped.
var ErrLocked = errors.New("locked by another process")

// How often Lock tries again.
const tryEvery = 10 * time.Millisecond

// Lock takes the advisory lock of an open file, LOCK_SH or LOCK_EX, which ends
// when the file is closed. Its error is ErrLocked after the given wait, that of
// ctx once ctx ends, or the system's. The kernel's own wait can't be interrupted.
func Lock(ctx context.Context, f *os.File, how int, wait time.Duration) error {
	for ; ; wait -= tryEvery {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EINTR):
			continue
		case !errors.Is(err, syscall.EWOULDBLOCK):
			return err
		case wait <= 0:
			return ErrLocked
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(tryEvery):
		}
	}
}
