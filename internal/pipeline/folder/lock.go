package folder

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/tool/durable"
)

// lockWait is how long a command waits for the lock. Others hold it while they
// submit an artifact or move a run.
const lockWait = 10 * time.Second

// Lock runs do while this process holds the lock of the folder of all runs,
// exclusively or (LOCK_SH) shared. The lock ends with the process. Its error is
// that of ctx if ctx ends first, and of kind Unavailable if the lock can't be
// taken.
func Lock(ctx context.Context, workspace *os.Root, how int, do func(dir *os.Root) error) error {
	lockError := func(err error) error {
		return handoff.E("lock", contract.Folder, handoff.Unavailable, durable.Reason(err), handoff.Advice(WritableHint))
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
	switch err := durable.Lock(ctx, lock, how, lockWait); {
	case errors.Is(err, durable.ErrLocked):
		return handoff.E("lock", contract.Folder, handoff.Unavailable, err,
			handoff.Advice("retry once the process that holds the lock has ended; it may be stopped"))
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return lockError(err)
	}
	return do(dir)
}
