package folder

import (
	"os"
	"syscall"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/durable"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
)

// Lock runs do while this process holds the lock of the folder of all runs,
// exclusively or (LOCK_SH) shared. The lock ends with the process.
func Lock(workspace *os.Root, how int, do func(dir *os.Root) error) error {
	lockError := func(err error) error {
		return &handoff.Error{Op: "lock", Name: contract.Folder, Kind: handoff.Unavailable, Err: durable.Reason(err), Hint: handoff.Advice(WritableHint)}
	}
	if err := workspace.MkdirAll(contract.Folder, 0o777); err != nil {
		return lockError(err)
	}
	dir, err := workspace.OpenRoot(contract.Folder)
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
