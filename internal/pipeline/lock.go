package pipeline

import (
	"os"
	"syscall"

	"github.com/agent-handoff/handoff"
)

// locked runs do while this process holds the folder of all runs, alone or
// (LOCK_SH) with others that share it. The end of the process ends it too.
func locked(workspace *os.Root, how int, do func(dir *os.Root, lock *os.File) error) error {
	unlocked := func(err error) error {
		return &handoff.Error{Op: "lock", Name: Folder, Kind: handoff.Unavailable, Err: err, Hint: handoff.Advice("whoever hands in needs to write to " + Folder)}
	}
	if err := workspace.MkdirAll(Folder, 0o777); err != nil {
		return unlocked(err)
	}
	dir, err := workspace.OpenRoot(Folder)
	if err != nil {
		return unlocked(err)
	}
	defer dir.Close()
	lock, err := dir.Open(".")
	if err != nil {
		return unlocked(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), how); err != nil {
		return unlocked(err)
	}
	return do(dir, lock)
}
