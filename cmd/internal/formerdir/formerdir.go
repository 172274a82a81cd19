// Package formerdir moves the user's directories of versions that called them
// handoff to their present name, agent-handoff. Another program may have a directory
// of the former name: one that has anything but files of handoff is left alone.
//
// The former name becomes a link to the present one, so that an earlier version
// works. Both names change in one step, by an exchange: at each moment, an earlier
// version that runs finds its files under the former name, and a process that dies
// leaves nothing that the next one can't continue. Where the directory can't be
// exchanged (it is a mount point or a link, or the file system can't exchange names),
// the present name becomes a link to the former one instead.
package formerdir

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/userdir"
)

const formerName = "handoff"

// lockWait is how long a process waits for another one that moves a directory.
const lockWait = 2 * time.Second

// Move moves the directories that the environment names. If one has its present
// name, that is one look at the file system. A directory that can't be moved stays:
// nothing depends on it but what an earlier version remembered.
func Move(getenv func(string) string) {
	for _, dir := range []string{userdir.Config(getenv), userdir.Cache(getenv), userdir.State(getenv)} {
		if dir != "" {
			_ = move(filepath.Join(filepath.Dir(dir), formerName), dir, exchange)
		}
	}
}

// move moves one directory, with swap to exchange two names.
func move(former, present string, swap func(a, b string) error) error {
	info, err := os.Lstat(present)
	interrupted := err == nil && info.Mode()&fs.ModeSymlink != 0 && linksTo(present, filepath.Base(present))
	if !interrupted && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	info, err = os.Lstat(former)
	switch {
	case errors.Is(err, fs.ErrNotExist) && interrupted:
		return removeLoop(present)
	case err != nil:
		return ignoreAbsent(err)
	case info.Mode()&fs.ModeSymlink != 0 && linksTo(former, filepath.Base(present)):
		return nil // another process has moved it since
	case !isOurs(former):
		if interrupted {
			return removeLoop(present)
		}
		return nil
	case info.Mode()&fs.ModeSymlink != 0:
		return os.Symlink(formerName, present)
	}
	return moveDirectory(former, present, swap)
}

// moveDirectory moves a directory of handoff. A lock on the directory itself, which
// ends with the process, keeps a second one from exchanging the names again.
func moveDirectory(former, present string, swap func(a, b string) error) error {
	f, err := os.OpenFile(former, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, syscall.ENOTDIR) {
		return nil // it is a link by now
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := durable.Lock(context.Background(), f, syscall.LOCK_EX, lockWait); err != nil {
		return err
	}
	locked, err1 := f.Stat()
	now, err2 := os.Lstat(former)
	if err1 != nil || err2 != nil || !os.SameFile(locked, now) {
		return nil // another process has moved it
	}
	// The link gets the content that it must have under the former name. Under the
	// present one it leads to itself, for the moment until the exchange.
	if err := os.Symlink(filepath.Base(present), present); err != nil && !linksTo(present, filepath.Base(present)) {
		return err
	}
	err = swap(present, former)
	if err == nil {
		return syncParent(present)
	}
	if err := removeLoop(present); err != nil {
		return err
	}
	return os.Symlink(formerName, present)
}

// linksTo reports whether a file is a link with the given content.
func linksTo(file, content string) bool {
	got, err := os.Readlink(file)
	return err == nil && got == content
}

// removeLoop removes a link that leads to itself, which a process left that died.
func removeLoop(file string) error {
	if !linksTo(file, filepath.Base(file)) {
		return nil
	}
	return ignoreAbsent(os.Remove(file))
}

func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func syncParent(file string) error {
	dir, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return err
	}
	defer dir.Close()
	return durable.SyncDir(dir, ".")
}
