package pipeline

import (
	"os"
	"syscall"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/durable"
)

// withLock runs do while this process holds the lock of the folder of all runs,
// exclusively or (LOCK_SH) shared. The lock ends with the process.
func withLock(workspace *os.Root, how int, do func(dir *os.Root) error) error {
	lockError := func(err error) error {
		return &handoff.Error{Op: "lock", Name: Folder, Kind: handoff.Unavailable, Err: durable.Reason(err), Hint: handoff.Advice(writableHint)}
	}
	if err := workspace.MkdirAll(Folder, 0o777); err != nil {
		return lockError(err)
	}
	dir, err := workspace.OpenRoot(Folder)
	if err != nil {
		return lockError(err)
	}
	defer dir.Close()
	lock, err := dir.Open(".")
	if err != nil {
		return lockError(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), how); err != nil {
		return lockError(err)
	}
	return do(dir)
}
